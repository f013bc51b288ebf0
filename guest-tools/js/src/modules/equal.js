// Whether two values are the same in all that they hold, as Node's `assert` and `util` ask it.
(function () {
  "use strict";
  const isObject = (value) => typeof value === "object" && value !== null;
  const enumerable = (value) => Reflect.ownKeys(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
  const tag = (value) => Object.prototype.toString.call(value);

  function same(one, other, strict) {
    if (strict) return Object.is(one, other);
    return one == other || (one !== one && other !== other);
  }

  function sameMembers(one, other, strict, above) {
    if (one.size !== other.size) return false;
    const left = [...other];
    return [...one].every((member) => {
      const at = left.findIndex((candidate) => equal(member, candidate, strict, above));
      if (at >= 0) left.splice(at, 1);
      return at >= 0;
    });
  }

  function sameWhole(one, other) {
    if (one instanceof Date) return one.getTime() === other.getTime() || (Number.isNaN(one.getTime()) && Number.isNaN(other.getTime()));
    if (one instanceof RegExp) return String(one) === String(other) && one.lastIndex === other.lastIndex;
    if (one instanceof Error) return one.name === other.name && one.message === other.message;
    if (one instanceof Number || one instanceof String || one instanceof Boolean) return Object.is(one.valueOf(), other.valueOf());
    return true;
  }

  function equal(one, other, strict, above = []) {
    if (!isObject(one) || !isObject(other)) return same(one, other, strict);
    if (one === other) return true;
    if (strict && Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return false;
    if (tag(one) !== tag(other) || Array.isArray(one) !== Array.isArray(other) || !sameWhole(one, other)) return false;
    if ([WeakMap, WeakSet, Promise].some((kind) => one instanceof kind)) return false;
    if (above.some(([left, right]) => left === one && right === other)) return true;
    const within = [...above, [one, other]];
    if (one instanceof Set && !sameMembers(one, other, strict, within)) return false;
    if (one instanceof Map && !sameMembers(one, other, strict, within)) return false;
    if (Array.isArray(one) && one.length !== other.length) return false;
    const [keys, others] = [enumerable(one), enumerable(other)];
    if (keys.length !== others.length) return false;
    return keys.every((key) => Object.prototype.propertyIsEnumerable.call(other, key) && equal(one[key], other[key], strict, within));
  }

  return equal;
})
