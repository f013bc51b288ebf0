// Node's `Buffer`: bytes that are read and written as texts.
(function () {
  "use strict";
  const encoder = new TextEncoder();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const PIECE = 8192;

  function latin(bytes, mask = 0xff) {
    let text = "";
    for (let at = 0; at < bytes.length; at += PIECE) {
      text += String.fromCharCode(...Array.from(bytes.subarray(at, at + PIECE), (byte) => byte & mask));
    }
    return text;
  }

  const codes = (text) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

  function ofHex(text) {
    const digits = /^(?:[0-9a-f]{2})*/i.exec(text)[0];
    return Uint8Array.from({ length: digits.length / 2 }, (_, at) => Number.parseInt(digits.slice(2 * at, 2 * at + 2), 16));
  }

  const base64 = (bytes) => btoa(latin(bytes));
  const urlSafe = (text) => text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

  // Whatever is of neither alphabet is left out, and what is behind `=` too.
  function ofBase64(text) {
    const letters = text.replace(/=[^]*$/, "").replaceAll("-", "+").replaceAll("_", "/").replace(/[^A-Za-z0-9+/]/g, "");
    return codes(atob(letters.length % 4 === 1 ? letters.slice(0, -1) : letters));
  }

  function ofUnits(text) {
    const bytes = new Uint8Array(2 * text.length);
    for (let at = 0; at < text.length; at += 1) bytes.set([text.charCodeAt(at) & 0xff, text.charCodeAt(at) >> 8], 2 * at);
    return bytes;
  }

  function units(bytes) {
    let text = "";
    for (let at = 0; at + 1 < bytes.length; at += 2) text += String.fromCharCode(bytes[at] | (bytes[at + 1] << 8));
    return text;
  }

  const utf8 = { read: (text) => encoder.encode(text), write: (bytes) => decoder.decode(bytes) };
  const utf16 = { read: ofUnits, write: units };
  const latin1 = { read: (text) => Uint8Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)), write: (bytes) => latin(bytes) };
  const ENCODINGS = {
    __proto__: null,
    utf8, "utf-8": utf8, utf16le: utf16, "utf-16le": utf16, ucs2: utf16, "ucs-2": utf16, latin1, binary: latin1,
    ascii: { read: latin1.read, write: (bytes) => latin(bytes, 0x7f) },
    hex: { read: ofHex, write: (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("") },
    base64: { read: ofBase64, write: base64 },
    base64url: { read: ofBase64, write: (bytes) => urlSafe(base64(bytes)) },
  };

  function encodingOf(name) {
    const known = ENCODINGS[String(name ?? "utf8").toLowerCase()];
    if (known) return known;
    throw Object.assign(new TypeError(`Unknown encoding: ${name}`), { code: "ERR_UNKNOWN_ENCODING" });
  }

  class Buffer extends Uint8Array {
    static from(value, encoding, length) {
      if (typeof value === "string") return Buffer.#of(encodingOf(encoding).read(value));
      if (value instanceof ArrayBuffer) return new Buffer(value, encoding, length);
      if (value?.type === "Buffer" && Array.isArray(value.data)) return Buffer.from(value.data);
      if (typeof value === "object" && value !== null && (typeof value.length === "number" || value[Symbol.iterator])) return Buffer.#of(Uint8Array.from(value));
      const words = "The first argument must be of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object.";
      throw Object.assign(new TypeError(words), { code: "ERR_INVALID_ARG_TYPE" });
    }
    static #of(bytes) {
      return new Buffer(bytes.buffer, bytes.byteOffset, bytes.length);
    }
    static alloc(size, fill = 0, encoding) {
      return new Buffer(size).fill(fill, encoding);
    }
    static allocUnsafe(size) {
      return new Buffer(size);
    }
    static concat(list, length = list.reduce((sum, { length }) => sum + length, 0)) {
      const whole = new Buffer(length);
      let at = 0;
      for (const bytes of list) {
        whole.set(bytes.subarray(0, Math.max(0, length - at)), at);
        at = Math.min(length, at + bytes.length);
      }
      return whole;
    }
    static byteLength(value, encoding) {
      return typeof value === "string" ? encodingOf(encoding).read(value).length : value.byteLength;
    }
    static isBuffer(value) {
      return value instanceof Buffer;
    }
    static isEncoding(name) {
      return String(name).toLowerCase() in ENCODINGS;
    }
    static compare(one, other) {
      const at = one.findIndex((byte, at) => byte !== other[at]);
      const order = at < 0 || at >= other.length ? one.length - other.length : one[at] - other[at];
      return Math.sign(order);
    }

    toString(encoding, start = 0, end = this.length) {
      return encodingOf(encoding).write(super.subarray(Math.max(start, 0), Math.max(end, 0)));
    }
    toJSON() {
      return { type: "Buffer", data: Array.from(this) };
    }
    // Of the same memory, unlike that of other arrays of bytes.
    slice(start, end) {
      return this.subarray(start, end);
    }
    equals(other) {
      return Buffer.compare(this, other) === 0;
    }
    compare(other) {
      return Buffer.compare(this, other);
    }
    copy(target, at = 0, start = 0, end = this.length) {
      const bytes = super.subarray(start, Math.min(end, start + Math.max(0, target.length - at)));
      target.set(bytes, at);
      return bytes.length;
    }
    write(text, at = 0, length, encoding) {
      if (typeof at === "string") [at, encoding] = [0, at];
      if (typeof length === "string") [length, encoding] = [undefined, length];
      const bytes = encodingOf(encoding).read(text).subarray(0, Math.min(length ?? Infinity, this.length - at));
      this.set(bytes, at);
      return bytes.length;
    }
    fill(value, start, end, encoding) {
      if (typeof value !== "string") return super.fill(value, typeof start === "number" ? start : 0, end);
      if (typeof start === "string") [start, encoding] = [0, start];
      const bytes = encodingOf(encoding).read(value);
      const [from, to] = [start ?? 0, end ?? this.length];
      for (let at = from; at < to; at += 1) this[at] = bytes.length > 0 ? bytes[(at - from) % bytes.length] : 0;
      return this;
    }
    #find(value, from, encoding, next) {
      if (typeof value === "number") value = [value & 0xff];
      const bytes = typeof value === "string" ? encodingOf(encoding).read(value) : value;
      for (let at = from; at >= 0 && at + bytes.length <= this.length; at += next) {
        if (Array.prototype.every.call(bytes, (byte, within) => this[at + within] === byte)) return at;
      }
      return -1;
    }
    indexOf(value, from = 0, encoding) {
      return this.#find(value, from < 0 ? Math.max(0, this.length + from) : from, encoding, 1);
    }
    lastIndexOf(value, from = this.length, encoding) {
      const length = typeof value === "number" ? 1 : value.length;
      return this.#find(value, Math.min(from < 0 ? this.length + from : from, this.length - length), encoding, -1);
    }
    includes(value, from, encoding) {
      return this.indexOf(value, from, encoding) >= 0;
    }
    get parent() {
      return this.buffer;
    }
    [Symbol.for("nodejs.util.inspect.custom")]() {
      const shown = Array.from(super.subarray(0, 50), (byte) => ` ${byte.toString(16).padStart(2, "0")}`).join("");
      return `<Buffer${shown}${this.length > 50 ? ` ... ${this.length - 50} more byte${this.length === 51 ? "" : "s"}` : ""}>`;
    }
  }

  const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const NUMBERS = { UInt8: "Uint8", Int8: "Int8", UInt16: "Uint16", Int16: "Int16", UInt32: "Uint32", Int32: "Int32", BigUInt64: "BigUint64", BigInt64: "BigInt64", Float: "Float32", Double: "Float64" };
  for (const [name, kind] of Object.entries(NUMBERS)) {
    const size = Number(/\d+/.exec(kind)[0]) / 8;
    for (const order of size === 1 ? [""] : ["LE", "BE"]) {
      const methods = {
        [`read${name}${order}`](at = 0) {
          return view(this)[`get${kind}`](at, order === "LE");
        },
        [`write${name}${order}`](value, at = 0) {
          view(this)[`set${kind}`](at, value, order === "LE");
          return at + size;
        },
      };
      for (const [method, act] of Object.entries(methods)) {
        for (const spelt of new Set([method, method.replace("UInt", "Uint")])) {
          Object.defineProperty(Buffer.prototype, spelt, { value: act, writable: true, configurable: true });
        }
      }
    }
  }
  return Buffer;
})
