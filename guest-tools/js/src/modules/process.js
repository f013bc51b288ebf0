// Node's `process`, for a program that is none: it has no signals, no input and no terminal.
(function (native, print) {
  "use strict";
  const listeners = [];

  function hrtime([seconds, rest] = [0, 0]) {
    const passed = native.now() - (seconds * 1e9 + rest);
    return [Math.floor(passed / 1e9), passed % 1e9];
  }
  hrtime.bigint = () => BigInt(native.now());

  const stream = (fd) => ({
    fd,
    writable: true,
    write(data, ...rest) {
      print(data);
      const done = rest.at(-1);
      if (typeof done === "function") queueMicrotask(done);
      return true;
    },
    end(data) {
      if (data !== undefined) print(data);
    },
  });

  // Of the events of a process there is its end alone.
  function on(event, listener) {
    if (event === "exit") listeners.push(listener);
    return process;
  }

  // The code with which the program ends, after those who wait for its end.
  function ended(code) {
    if (code !== undefined) process.exitCode = code;
    for (const listener of listeners.splice(0)) listener.call(process, Number(process.exitCode ?? 0));
    return Number(process.exitCode ?? 0);
  }

  const process = {
    argv: ["node", `${native.cwd().replace(/\/$/, "")}/code.js`],
    argv0: "node",
    execArgv: [],
    env: native.env(),
    exitCode: undefined,
    pid: 1,
    platform: "linux",
    arch: "wasm32",
    stdout: stream(1),
    stderr: stream(2),
    cwd: native.cwd,
    exit: (code) => native.exit(ended(code)),
    hrtime,
    uptime: () => native.now() / 1e9,
    nextTick: (act, ...given) => queueMicrotask(() => act(...given)),
    emitWarning: (warning) => console.warn(String(warning)),
    on,
    once: on,
    addListener: on,
  };
  return { process, ended };
})
