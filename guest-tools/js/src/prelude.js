// What programs find beside the language. `native` has what only the host can do. What is used of the language later is
// taken now, before a program may have changed it.
(function (native) {
  "use strict";
  const { stringify, parse } = JSON;
  const { entries, fromEntries, freeze, defineProperty } = Object;
  const arrayFrom = Array.from;
  const isView = ArrayBuffer.isView;
  const arrayIsArray = Array.isArray;

  // Read when a program first asks for them.
  const parts = new Map();
  function part(name, ...given) {
    if (!parts.has(name)) parts.set(name, native.load(name)(...given));
    return parts.get(name);
  }
  const ofPath = () => part("path", native.cwd);
  const ofUrl = () => part("url");
  const ofEqual = () => part("equal");
  const ofUtil = () => part("util", ofInspect().inspectAs, format, ofEqual());
  const ofAssert = () => part("assert", inspect, ofEqual());
  const ofBuffer = () => part("buffer");
  const ofCrypto = () => part("crypto", native, ofBuffer());
  const ofProcess = () => part("process", native, print);
  const ofNumbers = () => part("numbers", localeOf);
  const ofDates = () => part("dates", localeOf);
  const ofLocal = () => part("local", native, ofPath(), requireOf);
  const ofFs = () => part("fs", native).fs;
  const fileOf = (url) => part("fs", native).pathOf(typeof url === "string" ? new URL(url) : url);
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
    fs: ofFs,
    "fs/promises": () => ofFs().promises,
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
    fs: ofFs,
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

  const ofInspect = () => part("inspect");
  const inspect = (value) => ofInspect().inspect(value);
  function format(...values) {
    return values.length === 1 && typeof values[0] === "string" ? values[0] : ofInspect().format(...values);
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
  const given = { require, global: globalThis, __filename: "code.js", setImmediate, clearImmediate, performance, fetch: refuse("fetch"), XMLHttpRequest: refuse("XMLHttpRequest"), WebSocket: refuse("WebSocket") };
  for (const [name, value] of entries(given)) {
    defineProperty(globalThis, name, { value, writable: true, configurable: true });
  }
  return freeze({ require, locate, ended, keep, json, inspect });
})
