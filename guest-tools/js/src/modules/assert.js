// Node's `assert`.
(function (inspect, equal) {
  "use strict";

  class AssertionError extends Error {
    constructor({ message, actual, expected, operator }) {
      super(message);
      Object.assign(this, { code: "ERR_ASSERTION", actual, expected, operator, generatedMessage: false });
    }
    get name() {
      return "AssertionError";
    }
  }

  function fail(message, words, operator, actual, expected) {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message: message ?? words, actual, expected, operator });
  }

  function ok(...given) {
    const [value, message] = given;
    if (given.length === 0) fail(undefined, "No value argument passed to `assert.ok()`", "==");
    if (!value) fail(message, `The expression evaluated to a falsy value: ${inspect(value)}`, "==", value, true);
  }

  // A check of two values, and the words of its failure between them.
  const check = (operator, holds, words) => (actual, expected, message) => {
    if (holds(actual, expected)) return;
    fail(message, `${words}\n\n${inspect(actual)} ${operator} ${inspect(expected)}\n`, operator, actual, expected);
  };

  const loosely = (one, other) => one == other || (one !== one && other !== other);
  const strictly = Object.is;
  const deeply = (one, other) => equal(one, other, true);
  const deeplyLoosely = (one, other) => equal(one, other, false);
  const not = (holds) => (one, other) => !holds(one, other);

  // Whether an error is the one that was expected.
  function isExpected(error, expected) {
    if (expected === undefined) return true;
    if (expected instanceof RegExp) return expected.test(String(error));
    if (typeof expected === "object") {
      return Object.entries(expected).every(([key, value]) => {
        const has = error?.[key];
        return value instanceof RegExp && typeof has === "string" ? value.test(has) : equal(has, value, true);
      });
    }
    if (expected === Error || expected.prototype instanceof Error) return error instanceof expected;
    return expected.prototype !== undefined && error instanceof expected ? true : expected.call({}, error) === true;
  }

  function expecting(outcome, expected, message) {
    if (typeof expected === "string") [expected, message] = [undefined, expected];
    if (!outcome.failed) fail(message, "Missing expected exception.", "throws", undefined, expected);
    if (isExpected(outcome.error, expected)) return;
    fail(message, `The error is not the one that was expected:\n\n${inspect(outcome.error)}\n`, "throws", outcome.error, expected);
  }

  function attempt(act) {
    try {
      act();
      return { failed: false };
    } catch (error) {
      return { failed: true, error };
    }
  }

  async function attempted(act) {
    try {
      await (typeof act === "function" ? act() : act);
      return { failed: false };
    } catch (error) {
      return { failed: true, error };
    }
  }

  function unwanted({ failed, error }, message) {
    if (failed) fail(typeof message === "string" ? message : undefined, `Got unwanted exception.\nActual message: "${error?.message}"`, "doesNotThrow", error);
  }

  const assert = (...given) => ok(...given);
  Object.assign(assert, {
    AssertionError,
    ok,
    fail: (message) => fail(message, "Failed", "fail"),
    equal: check("==", loosely, "Expected values to be loosely equal:"),
    notEqual: check("!=", not(loosely), "Expected values to be loosely unequal:"),
    strictEqual: check("!==", strictly, "Expected values to be strictly equal:"),
    notStrictEqual: check("===", not(strictly), "Expected values to be strictly unequal:"),
    deepEqual: check("!=", deeplyLoosely, "Expected values to be loosely deep-equal:"),
    notDeepEqual: check("==", not(deeplyLoosely), "Expected values not to be loosely deep-equal:"),
    deepStrictEqual: check("!==", deeply, "Expected values to be strictly deep-equal:"),
    notDeepStrictEqual: check("===", not(deeply), "Expected values not to be strictly deep-equal:"),
    throws: (act, expected, message) => expecting(attempt(act), expected, message),
    doesNotThrow: (act, expected, message) => unwanted(attempt(act), message ?? expected),
    rejects: async (act, expected, message) => expecting(await attempted(act), expected, message),
    doesNotReject: async (act, expected, message) => unwanted(await attempted(act), message ?? expected),
    match: check("does not match", (text, pattern) => pattern.test(text), "The input did not match the regular expression:"),
    doesNotMatch: check("matches", (text, pattern) => !pattern.test(text), "The input was expected to not match the regular expression:"),
    ifError: (value) => {
      if (value !== null && value !== undefined) throw value instanceof Error ? value : new AssertionError({ message: `ifError got unwanted exception: ${inspect(value)}`, actual: value });
    },
  });
  const { strictEqual, notStrictEqual, deepStrictEqual, notDeepStrictEqual } = assert;
  const strict = { equal: strictEqual, notEqual: notStrictEqual, deepEqual: deepStrictEqual, notDeepEqual: notDeepStrictEqual };
  assert.strict = Object.assign((...given) => ok(...given), assert, strict);
  assert.strict.strict = assert.strict;
  return assert;
})
