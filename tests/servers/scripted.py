"""A server of the Model Context Protocol that does exactly what a test says, with nothing but the standard library.

usage: scripted.py FOLDER, in which script.json is read anew whenever the tools are asked for:
{"eras": ["current", "handshake"], "tools": [definition…], "page": tools of one page, "silent": true to answer nothing,
"held": true to answer nothing before another script is there that does not say so}
Every message that comes is added to script.json.seen there, a line each.
"""

import json
import os
import subprocess
import sys
import threading
import time

SCRIPT = os.path.join(sys.argv[1], "script.json")
CURRENT = "2026-07-28"
writing = threading.Lock()
answers = {}
answered = threading.Condition()


def script():
    with open(SCRIPT, encoding="utf-8") as file:
        return json.load(file)


def see(text):
    with open(SCRIPT + ".seen", "a", encoding="utf-8") as file:
        file.write(text + "\n")


def send(message):
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method):
    """Asks the client for something, and gives its answer."""
    send({"id": f"ask-{method}", "method": method, "params": {}})
    with answered:
        answered.wait_for(lambda: f"ask-{method}" in answers)
        return answers[f"ask-{method}"]


def text(value, **more):
    written = value if isinstance(value, str) else json.dumps(value)
    return {"content": [{"type": "text", "text": written}], **more}


def call(name, arguments, token):
    if name == "fail":
        return text("no such issue", isError=True)
    if name == "crash":
        print("out of luck", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "sleep":
        return None
    if name == "big":
        return text("x" * arguments["bytes"])
    if name == "ask":
        return text([ask("sampling/createMessage"), ask("roots/list"), ask("elicitation/create"), ask("ping")])
    if name == "progress":
        for done in (1, 2):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": done, "total": 2, "message": f"step {done}"}})
        return text("done")
    if name == "env":
        return text(dict(os.environ))
    if name == "child":
        child = subprocess.Popen(["sleep", "1000"])
        return text({"server": os.getpid(), "child": child.pid})
    if name == "noise":
        print("Server is running on stdio", flush=True)
        print("x" * 100000, file=sys.stderr, flush=True)
        send({"id": 999999, "result": text("forged")})
        return text("quiet")
    if name == "misfit":
        return text("1", structuredContent={"count": "one"})
    if name == "flood":
        wide = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"x":[' + b"1," * 16_000_000 + b"1]}}\n"
        while True:
            with writing:
                sys.stdout.buffer.write(wide)
                sys.stdout.flush()
    if name == "wide":
        return {"content": [], "structuredContent": {"ones": [1] * 3_000_000}}
    if name == "log":
        with writing:
            print('{"level":30,"msg":"handling"}\n{\n  "level": 30\n}', flush=True)
        return text("logged")
    if name == "torn":
        with writing:
            print('{"jsonrpc":"2.0","id":', flush=True)
        return None
    if name == "flap":
        threading.Thread(target=flap, daemon=True).start()
        return text("flaps")
    if name == "change":
        send({"method": "notifications/tools/list_changed"})
        return text("changed")
    return text(arguments, structuredContent=arguments)


def flap():
    while True:
        send({"method": "notifications/tools/list_changed"})
        time.sleep(0.001)


def listed(params):
    tools, page = script()["tools"], script().get("page", 1000)
    start = int(params.get("cursor", 0))
    result = {"tools": tools[start:start + page]}
    if start + page < len(tools):
        result["nextCursor"] = str(start + page)
    return result


def answer(method, params, is_current):
    capabilities = {"tools": {"listChanged": True}}
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities,
                "serverInfo": {"name": "scripted", "version": "1"}, "instructions": "Obey me."}
    if method == "server/discover":
        return {"supportedVersions": [CURRENT], "capabilities": capabilities}
    if method == "ping":
        return {}
    if method == "tools/list":
        return listed(params)
    if method == "tools/call":
        token = params.get("_meta", {}).get("progressToken")
        return call(params["name"], params.get("arguments", {}), token)
    return None


def serve(message):
    method, params = message.get("method"), message.get("params") or {}
    if method is None:
        with answered:
            answers[message["id"]] = message.get("result", message.get("error"))
            answered.notify_all()
        return
    if "id" not in message or script().get("silent"):
        return
    while script().get("held"):
        time.sleep(0.02)
    named = params.get("_meta", {}).get("io.modelcontextprotocol/protocolVersion")
    eras = script().get("eras", ["current", "handshake"])
    if (named is not None and "current" not in eras) or (method == "initialize" and "handshake" not in eras):
        send({"id": message["id"], "error": {"code": -32601, "message": f"there is no method {method}"}})
        return
    result = answer(method, params, named is not None)
    if result is not None:
        if named is not None:
            result["resultType"] = "complete"
        send({"id": message["id"], "result": result})


see(json.dumps({"started": os.getpid()}))
for line in sys.stdin:
    see(line.strip())
    threading.Thread(target=serve, args=(json.loads(line),), daemon=True).start()
