// The query of a URL, as the URL standard has it.
(function () {
  "use strict";

  const encoder = new TextEncoder();
  const decoder = new TextDecoder();

  function decoded(text) {
    const spaced = text.replaceAll("+", " ");
    if (!spaced.includes("%")) return spaced;
    const bytes = encoder.encode(spaced);
    const kept = [];
    for (let at = 0; at < bytes.length; at += 1) {
      const digits = bytes[at] === 0x25 ? String.fromCharCode(...bytes.slice(at + 1, at + 3)) : "";
      const isByte = /^[0-9a-fA-F]{2}$/.test(digits);
      kept.push(isByte ? Number.parseInt(digits, 16) : bytes[at]);
      if (isByte) at += 2;
    }
    return decoder.decode(new Uint8Array(kept));
  }

  const escaped = (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;
  const encoded = (text) => encodeURIComponent(text).replace(/[!'()~]/g, escaped).replaceAll("%20", "+");

  function pairsOf(query) {
    const parts = query.replace(/^\?/, "").split("&").filter((part) => part !== "");
    return parts.map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [decoded(part), ""] : [decoded(part.slice(0, at)), decoded(part.slice(at + 1))];
    });
  }

  // Text as the standard takes it: halves of surrogate pairs are no letters.
  const wellFormed = (value) => String(value).toWellFormed();

  function given(init) {
    if (init === undefined || init === null) return [];
    if (typeof init !== "object") return pairsOf(wellFormed(init));
    const pairs = typeof init[Symbol.iterator] === "function" ? Array.from(init, (pair) => Array.from(pair)) : Object.entries(init);
    if (pairs.some((pair) => pair.length !== 2)) throw new TypeError("URLSearchParams: each pair has a name and a value");
    return pairs.map(([name, value]) => [wellFormed(name), wellFormed(value)]);
  }

  class URLSearchParams {
    #pairs;
    // Told of each change.
    #changed = () => {};

    constructor(init) {
      this.#pairs = given(init);
    }

    // Those of a URL, which follow it and which it follows.
    static of(url) {
      const params = new URLSearchParams(url.search);
      params.#changed = () => {
        url.search = String(params);
      };
      return [params, () => {
        params.#pairs = pairsOf(url.search);
      }];
    }

    get size() {
      return this.#pairs.length;
    }
    get(name) {
      return this.#pairs.find(([known]) => known === String(name))?.[1] ?? null;
    }
    getAll(name) {
      return this.#pairs.filter(([known]) => known === String(name)).map(([, value]) => value);
    }
    has(name, value) {
      return this.#pairs.some((pair) => pair[0] === String(name) && (value === undefined || pair[1] === String(value)));
    }
    append(name, value) {
      this.#pairs.push([wellFormed(name), wellFormed(value)]);
      this.#changed();
    }
    set(name, value) {
      const first = this.#pairs.find(([known]) => known === String(name));
      if (!first) return this.append(name, value);
      first[1] = wellFormed(value);
      this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== first[0]);
      this.#changed();
    }
    delete(name, value) {
      this.#pairs = this.#pairs.filter((pair) => pair[0] !== String(name) || (value !== undefined && pair[1] !== String(value)));
      this.#changed();
    }
    sort() {
      this.#pairs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
      this.#changed();
    }
    forEach(visit, self) {
      for (const [name, value] of this) visit.call(self, value, name, this);
    }
    *entries() {
      for (let at = 0; at < this.#pairs.length; at += 1) yield [...this.#pairs[at]];
    }
    *keys() {
      for (const [name] of this) yield name;
    }
    *values() {
      for (const [, value] of this) yield value;
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    toString() {
      return this.#pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
    }
    get [Symbol.toStringTag]() {
      return "URLSearchParams";
    }
  }

  // For each URL its query, and what it was when that was read.
  const known = new WeakMap();
  const { of } = URLSearchParams;
  delete URLSearchParams.of;
  function searchParams(url) {
    if (!known.has(url)) known.set(url, of(url));
    const [params, renew] = known.get(url);
    if (String(params) !== url.search.slice(1)) renew();
    return params;
  }

  return { URLSearchParams, searchParams };
})
