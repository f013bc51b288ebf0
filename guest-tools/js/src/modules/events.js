// Node's `events`.
(function () {
  "use strict";

  class EventEmitter {
    #listeners = new Map();

    #add(name, entry, isFirst) {
      if (typeof entry.listener !== "function") {
        throw Object.assign(new TypeError('The "listener" argument must be of type function.'), { code: "ERR_INVALID_ARG_TYPE" });
      }
      if (this.#listeners.has("newListener")) this.emit("newListener", name, entry.listener);
      const known = this.#listeners.get(name) ?? [];
      this.#listeners.set(name, isFirst ? [entry, ...known] : [...known, entry]);
      return this;
    }
    on(name, listener) {
      return this.#add(name, { listener });
    }
    addListener(name, listener) {
      return this.on(name, listener);
    }
    prependListener(name, listener) {
      return this.#add(name, { listener }, true);
    }
    once(name, listener) {
      return this.#add(name, { listener, isOnce: true });
    }
    prependOnceListener(name, listener) {
      return this.#add(name, { listener, isOnce: true }, true);
    }
    #drop(name, is) {
      const known = this.#listeners.get(name) ?? [];
      const at = known.findLastIndex(is);
      if (at < 0) return;
      const left = known.toSpliced(at, 1);
      if (left.length > 0) this.#listeners.set(name, left);
      else this.#listeners.delete(name);
      if (this.#listeners.has("removeListener")) this.emit("removeListener", name, known[at].listener);
    }
    off(name, listener) {
      this.#drop(name, (entry) => entry.listener === listener);
      return this;
    }
    removeListener(name, listener) {
      return this.off(name, listener);
    }
    removeAllListeners(name) {
      if (name === undefined) this.#listeners.clear();
      else this.#listeners.delete(name);
      return this;
    }
    emit(name, ...given) {
      const known = this.#listeners.get(name);
      if (!known && name === "error") throw given[0] instanceof Error ? given[0] : new Error(`Unhandled error. (${String(given[0])})`);
      for (const entry of known ?? []) {
        if (entry.isOnce) this.#drop(name, (other) => other === entry);
        entry.listener.apply(this, given);
      }
      return known !== undefined;
    }
    listeners(name) {
      return (this.#listeners.get(name) ?? []).map(({ listener }) => listener);
    }
    rawListeners(name) {
      return this.listeners(name);
    }
    listenerCount(name) {
      return this.listeners(name).length;
    }
    eventNames() {
      return [...this.#listeners.keys()];
    }
    setMaxListeners() {
      return this;
    }
    getMaxListeners() {
      return 10;
    }
  }

  function once(emitter, name) {
    return new Promise((done, fail) => {
      const failed = (error) => {
        emitter.off(name, settled);
        fail(error);
      };
      const settled = (...given) => {
        emitter.off("error", failed);
        done(given);
      };
      emitter.once(name, settled);
      if (name !== "error") emitter.once("error", failed);
    });
  }

  return Object.assign(EventEmitter, { EventEmitter, once, defaultMaxListeners: 10 });
})
