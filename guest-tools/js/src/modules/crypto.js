// Of Node's `crypto`, digests and chance.
(function (native, Buffer) {
  "use strict";
  const BLOCKS = { md5: 64, sha1: 64, sha256: 64, sha384: 128, sha512: 128 };

  function kindOf(name) {
    const kind = String(name).toLowerCase().replace(/^(?:rsa-)?sha-?(?=\d)/, "sha");
    if (Object.hasOwn(BLOCKS, kind)) return kind;
    throw new Error(`crypto: the digest \`${name}\` is not known here; ${Object.keys(BLOCKS).join(", ")} are`);
  }

  function bytesOf(data, encoding) {
    if (typeof data === "string") return Buffer.from(data, encoding);
    if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
    if (data instanceof ArrayBuffer) return new Uint8Array(data);
    throw new TypeError("crypto: data is a string or bytes");
  }

  class Hash {
    #finish;
    #parts = [];
    constructor(finish) {
      this.#finish = finish;
    }
    update(data, encoding) {
      if (!this.#parts) throw new Error("Digest already called");
      this.#parts.push(Uint8Array.from(bytesOf(data, encoding)));
      return this;
    }
    digest(encoding) {
      if (!this.#parts) throw new Error("Digest already called");
      const bytes = Buffer.from(this.#finish(Buffer.concat(this.#parts)));
      this.#parts = undefined;
      return encoding === undefined || encoding === "buffer" ? bytes : bytes.toString(encoding);
    }
  }

  function createHash(name) {
    const kind = kindOf(name);
    return new Hash((bytes) => native.digest(kind, bytes));
  }

  // RFC 2104.
  function createHmac(name, key) {
    const kind = kindOf(name);
    const given = bytesOf(key);
    const padded = Buffer.alloc(BLOCKS[kind]);
    padded.set(given.length > padded.length ? native.digest(kind, given) : given);
    const mixed = (byte) => padded.map((each) => each ^ byte);
    return new Hash((bytes) => {
      const inner = native.digest(kind, Buffer.concat([mixed(0x36), bytes]));
      return native.digest(kind, Buffer.concat([mixed(0x5c), inner]));
    });
  }

  function randomUUID() {
    const bytes = Buffer.from(native.random(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }

  function getRandomValues(array) {
    bytesOf(array).set(native.random(array.byteLength));
    return array;
  }

  function randomInt(least, most) {
    if (most === undefined) [least, most] = [0, least];
    const range = most - least;
    if (!(Number.isSafeInteger(least) && Number.isSafeInteger(most) && range > 0 && range < 2 ** 48)) throw new RangeError("crypto: randomInt(min, max) takes whole numbers, the first of which is the smaller");
    // Numbers above the last whole multiple would make some more likely than others.
    const end = 2 ** 48 - (2 ** 48 % range);
    for (;;) {
      const number = native.random(6).reduce((sum, byte) => sum * 256 + byte, 0);
      if (number < end) return least + (number % range);
    }
  }

  function timingSafeEqual(one, other) {
    if (one.byteLength !== other.byteLength) throw new RangeError("Input buffers must have the same byte length");
    return bytesOf(one).reduce((sum, byte, at) => sum | (byte ^ bytesOf(other)[at]), 0) === 0;
  }

  const hash = (name, data, encoding = "hex") => createHash(name).update(data).digest(encoding);
  const crypto = {
    createHash, createHmac, hash, randomUUID, getRandomValues, randomInt, timingSafeEqual,
    randomBytes: (size) => Buffer.from(native.random(size)),
    getHashes: () => Object.keys(BLOCKS),
  };
  crypto.webcrypto = { randomUUID, getRandomValues };
  return crypto;
})
