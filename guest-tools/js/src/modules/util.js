// What of Node's `util` needs no process.
(function (inspect, format, equal) {
  "use strict";
  const promised = Symbol.for("nodejs.util.promisify.custom");

  function promisify(original) {
    if (typeof original !== "function") throw new TypeError('The "original" argument must be of type function.');
    if (original[promised]) return original[promised];
    return function (...given) {
      return new Promise((done, fail) => {
        original.call(this, ...given, (error, value) => (error ? fail(error) : done(value)));
      });
    };
  }

  promisify.custom = promised;

  function callbackify(original) {
    return function (...given) {
      const callback = given.pop();
      original.apply(this, given).then((value) => callback(null, value), callback);
    };
  }

  function inherits(constructor, parent) {
    Object.setPrototypeOf(constructor.prototype, parent.prototype);
  }

  const is = (kind) => (value) => value instanceof kind;
  const types = {
    isDate: is(Date), isRegExp: is(RegExp), isMap: is(Map), isSet: is(Set), isPromise: is(Promise), isNativeError: is(Error),
    isTypedArray: (value) => ArrayBuffer.isView(value) && !(value instanceof DataView), isUint8Array: is(Uint8Array),
    isArrayBuffer: is(ArrayBuffer),
  };

  return {
    inspect, format, promisify, callbackify, inherits, types, TextEncoder, TextDecoder,
    isDeepStrictEqual: (one, other) => equal(one, other, true),
    isArray: Array.isArray,
    deprecate: (original) => original,
    stripVTControlCharacters: (text) => text.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, ""),
  };
})
