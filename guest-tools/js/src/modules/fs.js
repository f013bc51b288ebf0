// Files, as Node's `fs` has them.
(function (native) {
  "use strict";
  const { entries } = Object;
  const isView = ArrayBuffer.isView;

  function pathOf(path) {
    if (path instanceof URL && path.protocol === "file:") return decodeURIComponent(path.pathname);
    if (typeof path !== "string") throw new TypeError(`fs: a path is a string, and this is ${path === null ? "null" : typeof path}`);
    return path;
  }

  function encodingOf(options) {
    const encoding = (typeof options === "string" ? options : options?.encoding) ?? "utf8";
    const known = { utf8: "text", "utf-8": "text", bytes: "bytes", buffer: "bytes", binary: "bytes" }[String(encoding).toLowerCase()];
    if (known) return known;
    throw new TypeError(`fs: the encoding \`${encoding}\` is not known here; "utf8" gives text, "bytes" a Uint8Array`);
  }

  function bytesOf(data) {
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    if (isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (typeof data === "string" || typeof data === "number") return String(data);
    throw new TypeError("fs: data is a string or bytes; write JSON.stringify(value) for anything else");
  }

  const entry = ({ name, kind }) => ({
    name,
    isFile: () => kind === "file",
    isDirectory: () => kind === "folder",
    isSymbolicLink: () => kind === "link",
  });

  // What is in a folder and in the folders of it, which links are not.
  function beneath(top, prefix) {
    return native.list(prefix ? `${top.replace(/\/$/, "")}/${prefix}` : top).flatMap(({ name, kind }) => {
      const whole = `${prefix}${name}`;
      return kind === "folder" ? [{ name: whole, kind }, ...beneath(top, `${whole}/`)] : [{ name: whole, kind }];
    });
  }

  const run = {
    readFile: (path, options) => native.read(pathOf(path), encodingOf(options) === "text"),
    writeFile: (path, data) => native.write(pathOf(path), bytesOf(data)),
    appendFile: (path, data) => native.append(pathOf(path), bytesOf(data)),
    readdir: (path, options) => {
      const top = pathOf(path);
      const listed = options?.recursive ? beneath(top, "") : native.list(top);
      if (!options?.withFileTypes) return listed.map(({ name }) => name);
      return listed.map(({ name, kind }) => {
        const at = name.lastIndexOf("/");
        const parentPath = at < 0 ? top : `${top.replace(/\/$/, "")}/${name.slice(0, at)}`;
        return { ...entry({ name: name.slice(at + 1), kind }), parentPath, path: parentPath };
      });
    },
    exists: (path) => native.exists(pathOf(path)),
    stat: (path) => {
      const { size, kind, mtimeMs } = native.stat(pathOf(path));
      return { ...entry({ kind }), size, mtimeMs, mtime: new Date(mtimeMs) };
    },
    mkdir: (path, options) => native.mkdir(pathOf(path), Boolean(options?.recursive)),
    rm: (path, options) => native.remove(pathOf(path), Boolean(options?.recursive), Boolean(options?.force)),
    unlink: (path) => native.remove(pathOf(path), false, false),
    rename: (from, to) => native.rename(pathOf(from), pathOf(to)),
    copyFile: (from, to) => native.write(pathOf(to), native.read(pathOf(from), false)),
  };
  const fs = { promises: {} };
  for (const [name, act] of entries(run)) {
    fs[`${name}Sync`] = act;
    fs.promises[name] = async (...given) => act(...given);
    fs[name] = (...given) => {
      const callback = typeof given.at(-1) === "function" ? given.pop() : undefined;
      const done = fs.promises[name](...given);
      if (!callback) return done;
      done.then((value) => callback(null, value), callback);
    };
  }
  return { fs, pathOf };
})
