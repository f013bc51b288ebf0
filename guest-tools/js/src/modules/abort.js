// `AbortController`, whose signals programs hand around and ask.
(function () {
  "use strict";

  function named(name, message) {
    const error = new Error(message);
    Object.defineProperty(error, "name", { value: name, configurable: true });
    return error;
  }

  class AbortSignal {
    #listeners = new Set();
    aborted = false;
    reason = undefined;
    onabort = null;

    static abort(reason) {
      const controller = new AbortController();
      controller.abort(reason);
      return controller.signal;
    }
    static timeout(milliseconds) {
      const controller = new AbortController();
      setTimeout(() => controller.abort(named("TimeoutError", "The operation was aborted due to timeout")), milliseconds);
      return controller.signal;
    }
    static any(signals) {
      const controller = new AbortController();
      for (const signal of signals) {
        if (signal.aborted) controller.abort(signal.reason);
        else signal.addEventListener("abort", () => controller.abort(signal.reason));
      }
      return controller.signal;
    }
    // Only its controller can.
    static fire(signal, reason = named("AbortError", "This operation was aborted")) {
      if (signal.aborted) return;
      [signal.aborted, signal.reason] = [true, reason];
      const event = { type: "abort", target: signal };
      const listeners = [...signal.#listeners];
      signal.#listeners.clear();
      signal.onabort?.(event);
      for (const listener of listeners) typeof listener === "function" ? listener.call(signal, event) : listener.handleEvent(event);
    }

    addEventListener(type, listener) {
      if (type === "abort") this.#listeners.add(listener);
    }
    removeEventListener(type, listener) {
      if (type === "abort") this.#listeners.delete(listener);
    }
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
  }
  const { fire } = AbortSignal;
  delete AbortSignal.fire;

  class AbortController {
    signal = new AbortSignal();
    abort(reason) {
      fire(this.signal, reason);
    }
  }
  return { AbortController, AbortSignal };
})
