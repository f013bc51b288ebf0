// When a text is that is no date of ISO 8601, as V8 reads it: names of months and days, slashes, hours of the day and zones in
// many an order. Without a zone it is in UTC, which is the zone here.
(function () {
  "use strict";
  const utc = Date.UTC;

  const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
  const ZONES = { ut: 0, utc: 0, z: 0, gmt: 0, est: -5, edt: -4, cst: -6, cdt: -5, mst: -7, mdt: -6, pst: -8, pdt: -7 };
  const TOKEN = /\d+|[a-z]+|\s+|[^]/giy;

  const isDay = (day) => day >= 1 && day <= 31;
  const within = (value, most) => value >= 0 && value <= most;

  // The year, the month and the day among the numbers of a date, each of which is 1 where it is missing; nothing where they
  // are none.
  function dated(numbers, month) {
    if (numbers.length === 0) return undefined;
    const [first, second, third] = [...numbers, 1, 1];
    const inOrder = isDay(first) ? [third, first, second] : [first, second, third];
    const aroundName = isDay(first) ? [second, month, first] : [first, month, second];
    const [year, at, day] = month === undefined ? inOrder : aroundName;
    if (!(at >= 1 && at <= 12) || !isDay(day)) return undefined;
    return [year < 50 ? year + 2000 : year < 100 ? year + 1900 : year, at - 1, day];
  }

  // Hours, minutes, seconds and milliseconds; nothing where they are none.
  function timed(numbers, half) {
    let [hour = 0, ...rest] = numbers;
    const [minute = 0, second = 0, part = 0] = rest;
    if (half !== undefined) {
      if (!within(hour, 12)) return undefined;
      hour = (hour % 12) + half;
    }
    const isMidnight = hour === 24 && minute === 0 && second === 0 && part === 0;
    const isTime = within(hour, 23) && within(minute, 59) && within(second, 59) && within(part, 999);
    return isTime || isMidnight ? [hour, minute, second, part] : undefined;
  }

  return function parsed(text) {
    const tokens = text.match(TOKEN) ?? [];
    const [days, times] = [[], []];
    let month, half, sign, hours, minutes, isTimed = false, hasNumber = false;
    for (let at = 0; at < tokens.length; at += 1) {
      const token = tokens[at];
      const next = tokens[at + 1];
      if (/^\d/.test(token)) {
        const number = Number(token);
        const expects = times.length > 0 && !isTimed && within(number, 59);
        hasNumber = true;
        if (next === ":" && hours === undefined) {
          if (isTimed || times.length > 2) return NaN;
          times.push(number);
          at += 1;
        } else if (next === "." && expects) {
          at += 2;
          if (!/^\d/.test(tokens[at] ?? "")) return NaN;
          times.push(number);
          while (times.length < 3) times.push(0);
          times.push(Number(tokens[at].slice(0, 3).padEnd(3, "0")));
          isTimed = true;
        } else if (hours !== undefined && minutes === undefined && within(number, 59)) {
          minutes = number;
        } else if (expects) {
          times.push(number);
          isTimed = true;
          if (next !== undefined && !/^(?:\s|z$|[+-])/i.test(next)) return NaN;
        } else {
          if (days.length === 3) return NaN;
          days.push(number);
          if (next === "-") at += 1;
        }
      } else if (/^[a-z]/i.test(token)) {
        const word = token.toLowerCase();
        const named = word.length >= 3 ? MONTHS.indexOf(word.slice(0, 3)) : -1;
        if ((word === "am" || word === "pm") && times.length > 0) {
          half = word === "pm" ? 12 : 0;
          isTimed = true;
        } else if (named >= 0) {
          month = named + 1;
          if (next === "-") at += 1;
        } else if (Object.hasOwn(ZONES, word) && hasNumber) {
          sign = ZONES[word] < 0 ? -1 : 1;
          hours = Math.abs(ZONES[word]);
          minutes = 0;
        } else if (hasNumber || /^\d/.test(next ?? "")) {
          return NaN;
        }
      } else if ((token === "+" || token === "-") && ((hours === 0 && minutes === 0) || times.length > 0)) {
        const digits = /^\d/.test(next ?? "") ? next : "";
        if (digits) at += 1;
        isTimed = true;
        sign = token === "-" ? -1 : 1;
        if (tokens[at + 1] === ":") [hours, minutes] = [Number(digits), undefined];
        else if (digits.length === 1 || digits.length === 2) [hours, minutes] = [Number(digits), 0];
        else if (digits.length === 3 || digits.length === 4) [hours, minutes] = [Math.floor(digits / 100), digits % 100];
        else return NaN;
      } else if ((token === "+" || token === "-" || token === ")") && hasNumber) {
        return NaN;
      } else if (token === "(") {
        for (let open = 1; open > 0 && at + 1 < tokens.length; ) {
          at += 1;
          if (tokens[at] === "(") open += 1;
          if (tokens[at] === ")") open -= 1;
        }
      }
    }
    const [date, time] = [dated(days, month), timed(times, half)];
    if (!date || !time) return NaN;
    const offset = (sign ?? 1) * ((hours ?? 0) * 60 + (minutes ?? 0));
    return utc(...date, ...time) - offset * 60_000;
  };
})
