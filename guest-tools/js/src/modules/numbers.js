// Numbers as they are written in the United States, which is how Node writes them where nothing else is asked for.
(function (localeOf) {
  "use strict";

  const SYMBOLS = {
    __proto__: null,
    USD: "$", EUR: "€", GBP: "£", JPY: "¥", CNY: "CN¥", INR: "₹", KRW: "₩", CAD: "CA$", AUD: "A$", NZD: "NZ$", MXN: "MX$", BRL: "R$",
    CHF: "CHF\u00a0", SEK: "SEK\u00a0", NOK: "NOK\u00a0", DKK: "DKK\u00a0", PLN: "PLN\u00a0", CZK: "CZK\u00a0", ZAR: "ZAR\u00a0", SGD: "SGD\u00a0",
  };
  const WHOLE = ["JPY", "KRW"];

  // Options whose other values would change the text. What is not known must not be taken for what is.
  const ONLY = {
    notation: ["standard"], currencySign: ["standard"], currencyDisplay: ["symbol", "narrowSymbol"], roundingMode: ["halfExpand"],
    roundingIncrement: [1], roundingPriority: ["auto"], trailingZeroDisplay: ["auto"], numberingSystem: ["latn"], unit: [],
    style: ["decimal", "percent", "currency"], useGrouping: [true, false, "true", "false", "auto", "always"],
    signDisplay: ["auto", "always", "never", "exceptZero", "negative"],
  };

  function between(options, name, least, most) {
    const value = options[name];
    if (value === undefined) return undefined;
    const number = Math.floor(Number(value));
    if (number >= least && number <= most) return number;
    throw new RangeError(`${name} value is out of range.`);
  }

  function fractions(options, least, most) {
    let minimum = between(options, "minimumFractionDigits", 0, 100);
    let maximum = between(options, "maximumFractionDigits", 0, 100);
    minimum ??= Math.min(least, maximum ?? least);
    maximum ??= Math.max(most, minimum);
    if (minimum > maximum) throw new RangeError("maximumFractionDigits value is out of range.");
    return [minimum, maximum];
  }

  function resolved(locales, options = {}) {
    const locale = localeOf(locales, ["en", "en-US"], "of numbers");
    for (const [name, values] of Object.entries(ONLY)) {
      if (options[name] === undefined || values.includes(options[name])) continue;
      const known = values.length > 0 ? `; ${values.map((value) => JSON.stringify(value)).join(", ")} are` : "";
      throw new RangeError(`${name}: ${JSON.stringify(options[name])} is not known here${known}`);
    }
    const style = options.style ?? "decimal";
    const currency = style === "currency" ? String(options.currency ?? "").toUpperCase() : undefined;
    if (currency === "") throw new TypeError("Currency code is required with currency style.");
    if (currency && !(currency in SYMBOLS)) {
      throw new RangeError(`the currency "${currency}" is not known here; ${Object.keys(SYMBOLS).join(", ")} are`);
    }
    const places = currency ? (WHOLE.includes(currency) ? 0 : 2) : 0;
    const [minimumFractionDigits, maximumFractionDigits] = fractions(options, places, style === "decimal" ? 3 : places);
    const least = between(options, "minimumSignificantDigits", 1, 21);
    const most = between(options, "maximumSignificantDigits", least ?? 1, 21);
    return {
      locale,
      numberingSystem: "latn",
      style,
      ...(currency && { currency }),
      minimumIntegerDigits: between(options, "minimumIntegerDigits", 1, 21) ?? 1,
      minimumFractionDigits,
      maximumFractionDigits,
      ...((least ?? most) && { minimumSignificantDigits: least ?? 1, maximumSignificantDigits: most ?? 21 }),
      useGrouping: options.useGrouping !== false,
      signDisplay: options.signDisplay ?? "auto",
    };
  }

  // The digits of a number that is not negative, and how many of them are behind the point. Those that are written are
  // rounded, as Node does it, not those that are stored: 1.005 is 1.01.
  function written(value) {
    const [, whole, part = "", exponent = "0"] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value));
    return [BigInt(whole + part), part.length - Number(exponent)];
  }

  function rounded(digits, scale, places) {
    if (scale <= places) return digits * 10n ** BigInt(places - scale);
    const unit = 10n ** BigInt(scale - places);
    return (digits + unit / 2n) / unit;
  }

  // The digits before the point and those behind it.
  function placed(value, given) {
    let [digits, scale] = written(value);
    if (given.style === "percent") scale -= 2;
    let [least, places] = [given.minimumFractionDigits, given.maximumFractionDigits];
    if (given.maximumSignificantDigits) {
      const behind = scale - String(digits).length;
      places = behind + given.maximumSignificantDigits;
      least = Math.max(0, behind + given.minimumSignificantDigits);
    }
    digits = rounded(digits, scale, places);
    if (places < 0) digits *= 10n ** BigInt(-places);
    places = Math.max(places, 0);
    const text = String(digits).padStart(places + 1, "0");
    let part = text.slice(text.length - places);
    while (part.length > least && part.endsWith("0")) part = part.slice(0, -1);
    return [text.slice(0, text.length - places).padStart(given.minimumIntegerDigits, "0"), part];
  }

  function magnitude(value, given) {
    if (Number.isNaN(value)) return "NaN";
    if (value === Infinity) return "∞";
    const [whole, part] = placed(value, given);
    const grouped = given.useGrouping ? whole.replace(/\B(?=(?:\d{3})+$)/g, ",") : whole;
    return part ? `${grouped}.${part}` : grouped;
  }

  function format(value, given) {
    const isNegative = value < 0 || Object.is(value, -0);
    const text = magnitude(isNegative ? -value : value, given);
    const isZero = !/[1-9∞]/.test(text);
    const sign = {
      auto: isNegative ? "-" : "",
      always: isNegative ? "-" : "+",
      never: "",
      exceptZero: isZero ? "" : isNegative ? "-" : "+",
      negative: isNegative && !isZero ? "-" : "",
    }[given.signDisplay];
    const symbol = given.currency ? SYMBOLS[given.currency] : "";
    // A space is between letters and digits alone.
    const currency = /^\d/.test(text) ? symbol : symbol.trimEnd();
    return `${sign}${currency}${text}${given.style === "percent" ? "%" : ""}`;
  }

  const numeric = (value) => (typeof value === "bigint" ? value : Number(value));

  function NumberFormat(locales, options) {
    if (new.target === undefined) return new NumberFormat(locales, options);
    const given = resolved(locales, options);
    this.format = (value) => format(numeric(value), given);
    this.resolvedOptions = () => ({ ...given });
  }
  NumberFormat.supportedLocalesOf = (locales) => [locales].flat().filter((locale) => ["en", "en-US"].includes(locale));

  return { NumberFormat, format: (value, locales, options) => format(value, resolved(locales, options)) };
})
