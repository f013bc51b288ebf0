// Dates and times as people write them, in UTC. The forms are those that Node has for these locales; any other is refused, since a
// guess would be taken for it.
(function (localeOf) {
  "use strict";

  const LOCALES = ["en", "en-US", "en-CA", "en-GB", "sv-SE"];
  const ZONES = ["utc", "gmt", "etc/utc", "etc/gmt", "+00:00"];
  const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
  const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
  const DATE = ["weekday", "year", "month", "day"];
  const TIME = ["hour", "minute", "second", "fractionalSecondDigits"];

  const NUMBER = ["numeric", "2-digit"];
  const TEXT = ["long", "short", "narrow"];
  const VALUES = {
    weekday: TEXT, year: NUMBER, month: [...NUMBER, ...TEXT], day: NUMBER, hour: NUMBER, minute: NUMBER, second: NUMBER,
    fractionalSecondDigits: [1, 2, 3], hourCycle: ["h12", "h23"], timeZoneName: ["short"], calendar: ["gregory"],
    numberingSystem: ["latn"], dateStyle: ["full", "long", "medium", "short"], timeStyle: ["full", "long", "medium", "short"],
    era: [], dayPeriod: [],
  };

  const STYLES = {
    full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
    long: { year: "numeric", month: "long", day: "numeric" },
    medium: { year: "numeric", month: "short", day: "numeric" },
    short: { year: "2-digit", month: "numeric", day: "numeric" },
  };
  const NUMBERS = { year: "numeric", month: "numeric", day: "numeric" };
  const CLOCK = { hour: "numeric", minute: "2-digit", second: "2-digit" };

  const two = (number) => String(number).padStart(2, "0");

  function unknown(locale, given) {
    const asked = [...DATE, ...TIME].filter((name) => given[name] !== undefined).map((name) => `${name}: ${given[name]}`);
    return new RangeError(`how "${locale}" writes { ${asked.join(", ")} } is not known here; "en-US" has more forms, and so has toISOString()`);
  }

  // What is to be written. `fill` names what is written where nothing is asked for.
  function resolved(locales, options, needed, fill) {
    const locale = localeOf(locales, LOCALES, "of dates");
    const given = {};
    for (const [name, values] of Object.entries(VALUES)) {
      if (options?.[name] === undefined) continue;
      if (!values.includes(options[name])) throw new RangeError(`${name}: ${JSON.stringify(options[name])} is not known here`);
      given[name] = options[name];
    }
    if (options?.hour12 !== undefined) given.hour12 = Boolean(options.hour12);
    const zone = options?.timeZone;
    if (zone !== undefined && !ZONES.includes(String(zone).toLowerCase())) {
      throw new RangeError(`the time zone "${zone}" is not known here; "UTC" is the only one`);
    }
    const { dateStyle, timeStyle } = given;
    const strange = needed === DATE ? "timeStyle" : needed === TIME ? "dateStyle" : undefined;
    if (given[strange]) throw new TypeError(`Invalid option : ${strange}`);
    if (dateStyle || timeStyle) {
      if ([...DATE, ...TIME].some((name) => given[name] !== undefined)) {
        throw new TypeError("Can't set option of a part of the date or time when dateStyle or timeStyle is used");
      }
      if (timeStyle === "full") throw new RangeError('timeStyle: "full" is not known here; "long" is');
      Object.assign(given, STYLES[dateStyle], timeStyle && CLOCK);
      if (timeStyle === "short") delete given.second;
      if (timeStyle === "long") given.timeZoneName = "short";
    } else if (needed.every((name) => given[name] === undefined)) {
      if (fill !== "time") Object.assign(given, NUMBERS);
      if (fill !== "date") Object.assign(given, CLOCK);
    }
    return { locale: locale === "en" ? "en-US" : locale, given };
  }

  function named(names, at, length) {
    const name = names[at];
    return length === "long" ? name : name.slice(0, length === "short" ? 3 : 1);
  }

  // The date in numbers, without its weekday.
  function numbered(date, locale, given) {
    const year = given.year && (given.year === "2-digit" ? two(date.getUTCFullYear() % 100) : String(date.getUTCFullYear()));
    const isPadded = (name) => locale !== "en-US" || given[name] === "2-digit";
    const [month, day] = [["month", date.getUTCMonth() + 1], ["day", date.getUTCDate()]].map(
      ([name, number]) => given[name] && (isPadded(name) ? two(number) : String(number)),
    );
    const parts = [month, day, year].filter(Boolean);
    if (parts.length < 2 && locale === "en-US") return parts.join("");
    if (year && day && !month) throw unknown(locale, given);
    if (locale === "en-US") return parts.join("/");
    if (parts.length < 2 || given.year === "2-digit") throw unknown(locale, given);
    if (locale === "en-GB") return [day, month, year].filter(Boolean).join("/");
    if (!year) throw unknown(locale, given);
    return [year, month, day].filter(Boolean).join("-");
  }

  // The date with the name of its month, without its weekday.
  function worded(date, locale, given) {
    const isLong = given.month === "long" && !given.weekday && given.year !== "2-digit";
    if (locale !== "en-US" && (!isLong || locale === "sv-SE")) throw unknown(locale, given);
    const month = named(MONTHS, date.getUTCMonth(), given.month);
    const day = given.day && (given.day === "2-digit" ? two(date.getUTCDate()) : String(date.getUTCDate()));
    const year = given.year && (given.year === "2-digit" ? two(date.getUTCFullYear() % 100) : String(date.getUTCFullYear()));
    if (locale === "en-GB") return [day, month, year].filter(Boolean).join(" ");
    const start = day ? `${month} ${day}` : month;
    return year ? `${start}${day ? "," : ""} ${year}` : start;
  }

  function dateText(date, locale, given) {
    const isWorded = TEXT.includes(given.month);
    if (date.getUTCFullYear() < 1000 && given.year) throw new RangeError("years before 1000 are not known here; toISOString() has them");
    const rest = isWorded ? worded(date, locale, given) : numbered(date, locale, given);
    if (!given.weekday) return rest;
    const weekday = named(DAYS, date.getUTCDay(), given.weekday);
    if (!rest) return weekday;
    if (locale !== "en-US") throw unknown(locale, given);
    const isWhole = given.day && given.month;
    return isWhole ? `${weekday}, ${rest}` : `${rest} ${weekday}`;
  }

  function hourText(date, locale, given) {
    const hour = date.getUTCHours();
    const isHalved = given.hour12 ?? (given.hourCycle ? given.hourCycle === "h12" : locale === "en-US" || locale === "en-CA");
    if (isHalved) {
      if (locale !== "en-US" && locale !== "en-CA") throw unknown(locale, given);
      const half = { "en-US": ["AM", "PM"], "en-CA": ["a.m.", "p.m."] }[locale][hour < 12 ? 0 : 1];
      const shown = String(hour % 12 || 12);
      return [given.hour === "2-digit" ? shown.padStart(2, "0") : shown, ` ${half}`];
    }
    // Node's midnight, where twelve hours are the custom and are not wanted.
    const isLast = given.hour12 === false && hour === 0 && (locale === "en-US" || locale === "en-CA");
    return [isLast ? "24" : two(hour), ""];
  }

  function timeText(date, locale, given) {
    const [hour, half] = given.hour ? hourText(date, locale, given) : ["", ""];
    const isAlone = [given.hour, given.minute, given.second].filter(Boolean).length < 2;
    const pad = (number) => (isAlone ? String(number) : two(number));
    if (given.hour && given.second && !given.minute) throw unknown(locale, given);
    const parts = [hour, given.minute && pad(date.getUTCMinutes()), given.second && pad(date.getUTCSeconds())].filter(Boolean);
    let text = parts.join(":");
    if (given.fractionalSecondDigits) {
      if (!given.second) throw unknown(locale, given);
      text += `.${String(date.getUTCMilliseconds()).padStart(3, "0").slice(0, given.fractionalSecondDigits)}`;
    }
    return `${text}${half}${given.timeZoneName ? " UTC" : ""}`;
  }

  function format(date, { locale, given }) {
    const hasDate = DATE.some((name) => given[name] !== undefined);
    const hasTime = TIME.some((name) => given[name] !== undefined);
    if (given.timeZoneName && locale !== "en-US") throw unknown(locale, given);
    if (given.timeZoneName && !hasTime && TEXT.includes(given.month)) throw unknown(locale, given);
    if (!hasTime) return `${dateText(date, locale, given)}${given.timeZoneName ? ", UTC" : ""}`;
    if (!hasDate) return timeText(date, locale, given);
    const [day, time] = [dateText(date, locale, given), timeText(date, locale, given)];
    if (locale === "sv-SE") return `${day} ${time}`;
    if (locale !== "en-US" && TEXT.includes(given.month)) throw unknown(locale, given);
    if (given.weekday && !given.month && !given.day && !given.year) return `${day} ${time}`;
    return given.month === "long" ? `${day} at ${time}` : `${day}, ${time}`;
  }

  const NEEDED = { date: DATE, time: TIME, any: [...DATE, ...TIME] };

  // `needed` is that of which something has to be written, and `fill` what is written where none of it is asked for.
  function formatted(date, locales, options, needed, fill) {
    const form = resolved(locales, options, NEEDED[needed], fill);
    return Number.isNaN(date.getTime()) ? "Invalid Date" : format(date, form);
  }

  function DateTimeFormat(locales, options) {
    if (new.target === undefined) return new DateTimeFormat(locales, options);
    const form = resolved(locales, options, NEEDED.any, "date");
    this.format = (value = Date.now()) => {
      const date = new Date(value);
      if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
      return format(date, form);
    };
    this.resolvedOptions = () => ({ locale: form.locale, calendar: "gregory", numberingSystem: "latn", timeZone: "UTC", ...form.given });
  }
  DateTimeFormat.supportedLocalesOf = (locales) => [locales].flat().filter((locale) => LOCALES.includes(locale));

  return { DateTimeFormat, formatted };
})
