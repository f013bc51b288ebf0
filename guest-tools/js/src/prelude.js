// What programs find beside the language. `native` has what only the host can do. What is used of the language later is
// taken now, before a program may have changed it.
(function (native) {
  "use strict";
  const { stringify, parse } = JSON;
  const { entries, fromEntries, freeze, defineProperty } = Object;
  const arrayFrom = Array.from;
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

  const run = {
    readFile: (path, options) => native.read(pathOf(path), encodingOf(options) === "text"),
    writeFile: (path, data) => native.write(pathOf(path), bytesOf(data)),
    appendFile: (path, data) => native.append(pathOf(path), bytesOf(data)),
    readdir: (path, options) => {
      const listed = native.list(pathOf(path));
      return options?.withFileTypes ? listed.map(entry) : listed.map(({ name }) => name);
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
  // Read when a program first asks for them.
  let paths, urls;
  const ofPath = () => (paths ??= native.load("path")(native.cwd));
  const ofUrl = () => (urls ??= native.load("url")());
  const fileOf = (url) => pathOf(typeof url === "string" ? new URL(url) : url);
  const known = {
    __proto__: null,
    fs: () => fs,
    "fs/promises": () => fs.promises,
    path: ofPath,
    "path/posix": ofPath,
    url: () => ({ URL, URLSearchParams: ofUrl().URLSearchParams, fileURLToPath: fileOf }),
  };
  function require(name) {
    const found = known[String(name).replace(/^node:/, "")];
    if (found) return found();
    throw new Error(`there is no module \`${name}\` here: packages and files cannot be loaded, and \`fs\`, \`path\` and \`url\` are the only modules`);
  }
  defineProperty(URL.prototype, "searchParams", {
    configurable: true,
    enumerable: true,
    get() {
      return ofUrl().searchParams(this);
    },
  });
  defineProperty(globalThis, "URLSearchParams", {
    configurable: true,
    get: () => ofUrl().URLSearchParams,
    set(value) {
      defineProperty(globalThis, "URLSearchParams", { value, writable: true, configurable: true });
    },
  });

  // The state is looked for when it is first used: programs without any ask for nothing.
  let state, before;
  defineProperty(globalThis, "state", {
    configurable: true,
    get() {
      if (state === undefined) {
        before = native.state();
        state = before === undefined ? {} : parse(before);
      }
      return state;
    },
    set(value) {
      defineProperty(globalThis, "state", { value, writable: true, configurable: true });
    },
  });
  function keep() {
    if (state === undefined) return;
    const now = json(state);
    if (now !== before) native.setState(now);
  }

  // What JSON cannot say, said in JSON.
  function plain(key, value) {
    const given = this[key];
    switch (typeof value) {
      case "bigint": return String(value);
      case "symbol": return String(value);
      case "number": return Number.isFinite(value) ? value : String(value);
      case "object": break;
      default: return value;
    }
    if (given instanceof Error) return { name: given.name, message: given.message };
    if (given instanceof Map) {
      const pairs = arrayFrom(given);
      return pairs.every(([key]) => typeof key === "string") ? fromEntries(pairs) : pairs;
    }
    if (given instanceof Set || (isView(given) && !(given instanceof DataView))) return arrayFrom(given);
    if (given instanceof RegExp) return String(given);
    return value;
  }

  // A value as people read it, on one line where it fits.
  const WIDTH = 76, ITEMS = 100, DEPTH = 5;
  const nameOf = (value) => {
    const made = Object.getPrototypeOf(value)?.constructor?.name;
    return made && made !== "Object" && made !== "Array" ? `${made} ` : "";
  };
  const quoted = (text) => (text.includes("'") ? stringify(text) : `'${stringify(text).slice(1, -1).replaceAll('\\"', '"')}'`);
  const keyed = (key) => (typeof key === "symbol" ? `[${String(key)}]` : /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? key : quoted(key));
  function inspect(value, depth = 0, above = []) {
    switch (typeof value) {
      case "string": return quoted(value);
      case "bigint": return `${value}n`;
      case "number": return Object.is(value, -0) ? "-0" : String(value);
      case "function": return `[Function: ${value.name || "(anonymous)"}]`;
      case "object": break;
      default: return String(value);
    }
    if (value === null) return "null";
    if (above.includes(value)) return "[Circular]";
    if (value instanceof Error) return String(value.stack ?? value);
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
    if (value instanceof RegExp) return String(value);
    if (value instanceof Promise) return "Promise {}";
    const within = [...above, value];
    const inner = (item) => inspect(item, depth + 1, within);
    const isList = Array.isArray(value) || (isView(value) && !(value instanceof DataView));
    let name = nameOf(value), parts, ends = "{}";
    if (isList) {
      ends = "[]";
      if (name) name = `${name.trim()}(${value.length}) `;
    } else if (value instanceof Map || value instanceof Set) {
      name = `${name.trim()}(${value.size}) `;
    }
    if (depth >= DEPTH) return name ? `[${name.trim()}]` : isList ? "[Array]" : "[Object]";
    const first = (items) => {
      const shown = [];
      let seen = 0;
      for (const item of items) if (seen++ < ITEMS) shown.push(item);
      return [shown, seen - shown.length];
    };
    let [shown, more] = isList ? [arrayFrom({ length: Math.min(value.length, ITEMS) }, (_, at) => (at in value ? inner(value[at]) : "<empty>")), Math.max(0, value.length - ITEMS)]
      : value instanceof Map || value instanceof Set ? first(value) : first(Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key)));
    if (isList) parts = shown;
    else if (value instanceof Map) parts = shown.map(([key, item]) => `${inner(key)} => ${inner(item)}`);
    else if (value instanceof Set) parts = shown.map(inner);
    else parts = shown.map((key) => {
      const property = Object.getOwnPropertyDescriptor(value, key);
      return `${keyed(key)}: ${property.get ? "[Getter]" : inner(property.value)}`;
    });
    if (more > 0) parts.push(`... ${more} more`);
    if (parts.length === 0) return `${name}${ends}`;
    const line = `${name}${ends[0]} ${parts.join(", ")} ${ends[1]}`;
    if (line.length <= WIDTH && !line.includes("\n")) return line;
    return `${name}${ends[0]}\n  ${parts.map((part) => part.replaceAll("\n", "\n  ")).join(",\n  ")}\n${ends[1]}`;
  }
  // The engine's console knows formats, groups and counters; what it is given to print is text already.
  for (const level of ["log", "info", "warn", "error", "debug", "trace"]) {
    const print = console[level];
    console[level] = (...values) => {
      const words = values.map((value) => (typeof value === "string" ? value : inspect(value)));
      if (typeof values[0] !== "string") return print("%s", words.join(" "));
      // A format takes its values as they are.
      return /%[sdifoOc%]/.test(values[0]) ? print(...values) : print("%s", words.join(" "));
    };
  }
  console.dir = (value) => console.log(value);

  // A half of a surrogate pair is no text, so no reader of JSON takes its escape either.
  const json = (value) => {
    const text = stringify(value, plain);
    return text?.includes("\\ud") ? text.replace(/(?<=(?:^|[^\\])(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g, "\\ufffd") : text;
  };

  // The engine would fail as a whole where there is no such address.
  const { repeat } = String.prototype;
  String.prototype.repeat = function (count) {
    if (this?.length * count > 2 ** 28) throw new RangeError("Invalid string length");
    return repeat.call(this, count);
  };

  const refuse = (what) => function () {
    throw new Error(`${what} is not available here: this tool has no network, no processes and no packages`);
  };
  const given = { fs, require, fetch: refuse("fetch"), XMLHttpRequest: refuse("XMLHttpRequest"), WebSocket: refuse("WebSocket") };
  for (const [name, value] of entries(given)) {
    defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  return freeze({ require, keep, json, inspect });
})
