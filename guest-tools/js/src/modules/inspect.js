// Values as people read them, and formats with values in them.
(function () {
  "use strict";
  const { stringify } = JSON;
  const isView = ArrayBuffer.isView;
  const arrayFrom = Array.from;

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
  return { inspect, inspectAs, format };
})
