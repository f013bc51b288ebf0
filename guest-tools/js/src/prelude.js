// What programs find beside the language. `native` has what only the host can do. What is used of the language later is
// taken now, before a program may have changed it.
(function (native) {
  "use strict";
  const { stringify, parse } = JSON;
  const { entries, fromEntries, freeze, defineProperty } = Object;
  const arrayFrom = Array.from;
  const isView = ArrayBuffer.isView;
  const arrayIsArray = Array.isArray;

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
  // Read when a program first asks for them.
  const parts = new Map();
  function part(name, ...given) {
    if (!parts.has(name)) parts.set(name, native.load(name)(...given));
    return parts.get(name);
  }
  const ofPath = () => part("path", native.cwd);
  const ofUrl = () => part("url");
  const ofEqual = () => part("equal");
  const ofUtil = () => part("util", inspectAs, format, ofEqual());
  const ofAssert = () => part("assert", inspect, ofEqual());
  const ofBuffer = () => part("buffer");
  const ofCrypto = () => part("crypto", native, ofBuffer());
  const ofProcess = () => part("process", native, print);
  const ofNumbers = () => part("numbers", localeOf);
  const ofDates = () => part("dates", localeOf);
  const ofLocal = () => part("local", native, ofPath(), requireOf);
  const fileOf = (url) => pathOf(typeof url === "string" ? new URL(url) : url);
  const os = { EOL: "\n", platform: () => "linux", type: () => "Linux", arch: () => "wasm32", endianness: () => "LE", tmpdir: () => "/tmp", homedir: native.cwd };
  const timers = () => ({ setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate });
  const later = (milliseconds, value) => new Promise((done) => setTimeout(done, milliseconds, value));
  const known = {
    __proto__: null,
    assert: ofAssert,
    "assert/strict": () => ofAssert().strict,
    buffer: () => ({ Buffer: ofBuffer(), atob, btoa }),
    crypto: ofCrypto,
    events: () => part("events"),
    fs: () => fs,
    "fs/promises": () => fs.promises,
    os: () => os,
    path: ofPath,
    "path/posix": ofPath,
    perf_hooks: () => ({ performance }),
    process: () => ofProcess().process,
    timers,
    "timers/promises": () => ({ setTimeout: later, setImmediate: (value) => later(0, value) }),
    url: () => ({ URL, URLSearchParams: ofUrl().URLSearchParams, fileURLToPath: fileOf }),
    util: ofUtil,
  };
  const isFile = (name) => /^(?:\/|\.\.?(?:\/|$))/.test(name);
  const requireOf = (folder) => function require(name) {
    if (isFile(String(name))) return ofLocal().load(name, folder());
    const found = known[String(name).replace(/^node:/, "")];
    if (found) return found();
    const names = Object.keys(known).filter((name) => !name.includes("/")).join(", ");
    throw new Error(`there is no module \`${name}\` here: there are no packages, only ${names}, and files of the granted directories (\`./name.js\`)`);
  };
  const require = requireOf(native.cwd);
  // The file that an import is of, if it is of any.
  const locate = (name, folder) => (isFile(name) ? ofLocal().located(name, folder ?? native.cwd()) : undefined);
  defineProperty(URL.prototype, "searchParams", {
    configurable: true,
    enumerable: true,
    get() {
      return ofUrl().searchParams(this);
    },
  });
  const setTimeoutOf = setTimeout;
  const setImmediate = (act, ...given) => setTimeoutOf(act, 0, ...given);
  const clearImmediate = clearTimeout;
  const performance = { now: () => native.now() / 1e6, timeOrigin: Date.now() };
  const lazy = {
    AbortController: () => part("abort").AbortController,
    AbortSignal: () => part("abort").AbortSignal,
    Buffer: ofBuffer,
    Intl: () => ({
      NumberFormat: ofNumbers().NumberFormat,
      DateTimeFormat: ofDates().DateTimeFormat,
      Collator: function Collator(locales, options) {
        if (new.target === undefined) return new Collator(locales, options);
        this.compare = (one, other) => collate(one, other, locales, options);
      },
    }),
    URLSearchParams: () => ofUrl().URLSearchParams,
    __dirname: native.cwd,
    crypto: () => ofCrypto().webcrypto,
    module: () => main,
    exports: () => main.exports,
    process: () => ofProcess().process,
  };
  const main = { exports: {}, id: ".", filename: "code.js" };
  require.main = main;
  for (const [name, make] of entries(lazy)) {
    let made;
    const set = (value) => {
      defineProperty(globalThis, name, { value, writable: true, configurable: true });
    };
    defineProperty(globalThis, name, { configurable: true, get: () => (made ??= make()), set });
  }

  // Text of numbers and dates. The engine has none of any locale, and would give some other in its place.
  function localeOf(locales, known, what) {
    const locale = arrayIsArray(locales) ? locales[0] : locales;
    if (locale === undefined) return "en-US";
    if (known.includes(String(locale))) return String(locale);
    throw new RangeError(`the locale "${locale}" ${what} is not known here; ${known.map((name) => `"${name}"`).join(", ")} are`);
  }
  function method(prototype, name, act) {
    defineProperty(prototype, name, { value: act, writable: true, configurable: true });
  }
  const { valueOf: numberOf } = Number.prototype, { valueOf: bigOf } = BigInt.prototype, { getTime } = Date.prototype;
  method(Number.prototype, "toLocaleString", function toLocaleString(locales, options) {
    return ofNumbers().format(numberOf.call(this), locales, options);
  });
  method(BigInt.prototype, "toLocaleString", function toLocaleString(locales, options) {
    return ofNumbers().format(bigOf.call(this), locales, options);
  });
  for (const [name, needed, fill] of [["toLocaleDateString", "date", "date"], ["toLocaleTimeString", "time", "time"], ["toLocaleString", "any", "both"]]) {
    method(Date.prototype, name, function (locales, options) {
      getTime.call(this);
      return ofDates().formatted(this, locales, options, needed, fill);
    });
  }
  const COLLATED = ["en", "de", "fr", "it", "nl", "pt"];
  function collate(one, other, locales, options) {
    // Orders are asked for many thousand times, mostly without anything said about them.
    if (locales === undefined && options === undefined) return native.collate(String(one), String(other), false, "variant");
    const locale = arrayIsArray(locales) ? locales[0] : locales;
    if (locale !== undefined) localeOf(String(locale).split("-")[0], COLLATED, "of orders");
    const numeric = options?.numeric ?? (String(locale).includes("-u-") && /-kn(?:-true)?(?:-|$)/.test(locale));
    return native.collate(String(one), String(other), Boolean(numeric), options?.sensitivity ?? "variant");
  }
  method(String.prototype, "localeCompare", function localeCompare(other, locales, options) {
    if (this === undefined || this === null) throw new TypeError("String.prototype.localeCompare called on null or undefined");
    return collate(this, other, locales, options);
  });

  // The engine reads dates of ISO 8601.
  const { construct } = Reflect, { parse: instantOf } = Date;
  function parsed(text) {
    const instant = instantOf(text);
    return instant === instant ? instant : part("parsed")(text);
  }
  method(Date, "parse", function parse(text) {
    return parsed(String(text));
  });
  globalThis.Date = new Proxy(Date, {
    construct(date, given, made) {
      return construct(date, given.length === 1 && typeof given[0] === "string" ? [parsed(given[0])] : given, made);
    },
  });
  method(Date.prototype, "constructor", Date);

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
  // The code with which the program ends. A program that never asked for `process` has set none.
  const ended = () => (parts.has("process") ? ofProcess().ended() : 0);
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
    if (typeof value[CUSTOM] === "function") {
      const shown = value[CUSTOM](DEPTH - depth, {}, inspectAs);
      return typeof shown === "string" ? shown : inspect(shown, depth, [...above, value]);
    }
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
  const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
  function inspectAs(value, options) {
    const depth = options?.depth === null ? Infinity : Number(options?.depth ?? 2);
    return inspect(value, DEPTH - 1 - depth);
  }
  inspectAs.custom = CUSTOM;

  function asJson(value) {
    try {
      return stringify(value) ?? "undefined";
    } catch (error) {
      if (error instanceof TypeError && /cyclic/.test(error.message)) return "[Circular]";
      throw error;
    }
  }
  // A value in a format: text of its own where it has any.
  function texted(value) {
    if (typeof value === "string") return value;
    if (typeof value !== "object" || value === null) return typeof value === "function" ? String(value) : inspect(value);
    const own = value.toString;
    const isOwn = typeof own === "function" && own !== Object.prototype.toString && own !== Array.prototype.toString;
    return isOwn && !(value instanceof Error || value instanceof Date) ? String(value) : inspect(value, DEPTH - 1);
  }
  const numbered = (value, read) => (typeof value === "symbol" ? "NaN" : typeof value === "bigint" ? `${value}n` : inspect(read(value)));
  const MARKS = {
    s: texted,
    d: (value) => numbered(value, typeof value === "object" && value !== null && !value[Symbol.toPrimitive] && value.valueOf === Object.prototype.valueOf && value.toString === Object.prototype.toString ? () => NaN : Number),
    i: (value) => numbered(value, Number.parseInt),
    f: (value) => (typeof value === "symbol" ? "NaN" : inspect(Number.parseFloat(value))),
    j: asJson,
    o: (value) => inspect(value),
    O: (value) => inspect(value),
    c: () => "",
  };
  function format(...values) {
    const [first, ...rest] = values;
    const spelt = (value) => (typeof value === "string" ? value : inspect(value));
    if (typeof first !== "string" || rest.length === 0) return values.map(spelt).join(" ");
    const text = first.replace(/%([sdifjoOc%])/g, (mark, kind) => {
      if (kind === "%") return "%";
      return rest.length > 0 ? MARKS[kind](rest.shift()) : mark;
    });
    return [text, ...rest.map(spelt)].join(" ");
  }
  // The engine's console knows groups and counters; what it is given to print is text already.
  for (const level of ["log", "info", "warn", "error", "debug", "trace"]) {
    const line = console[level];
    console[level] = (...values) => line("%s", format(...values));
  }
  const decoder = new TextDecoder();
  const print = (data) => native.print(isView(data) ? decoder.decode(data) : String(data));
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
  const given = { fs, require, global: globalThis, __filename: "code.js", setImmediate, clearImmediate, performance, fetch: refuse("fetch"), XMLHttpRequest: refuse("XMLHttpRequest"), WebSocket: refuse("WebSocket") };
  for (const [name, value] of entries(given)) {
    defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  return freeze({ require, locate, ended, keep, json, inspect });
})
