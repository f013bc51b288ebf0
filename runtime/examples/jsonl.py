"""Calls tools over JSON lines: python3 jsonl.py [flags of toolcell jsonl]. `toolcell` must be on the PATH."""

import json
import subprocess
import sys

flags = sys.argv[1:] or ["--component", "builtin:basics"]
server = subprocess.Popen(
    ["toolcell", "jsonl", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
)


def send(**request):
    server.stdin.write(json.dumps(request) + "\n")
    server.stdin.flush()


# All three run at the same time; each reply carries the id of its request.
waiting = {f"sum-{n}" for n in (1, 2, 3)}
for n in (1, 2, 3):
    send(type="call", id=f"sum-{n}", name="add", arguments={"a": n, "b": n})

while waiting:
    reply = json.loads(server.stdout.readline())
    if reply["type"] == "approval":  # Somebody has to say yes: here, whoever reads the question.
        print(reply["question"]["reasons"], reply["arguments"], "yes? ", end="", file=sys.stderr, flush=True)
        answer = "once" if sys.stdin.readline().strip() == "yes" else "deny"
        send(type="approve", id="answer", approval=reply["approval"], answer=answer)
    elif reply["id"] in waiting and reply["type"] in ("result", "error"):
        waiting.remove(reply["id"])
        n = reply["id"].removeprefix("sum-")
        print(f"{n} + {n} =", reply["outcome"]["content"][0]["text"] if "outcome" in reply else reply["message"])
server.stdin.close()
sys.exit(server.wait())
