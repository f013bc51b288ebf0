//! Moments as people write them.

use super::moment::{DAYS, MONTHS, Moment, days};
use std::time::Duration;

/// `[[CC]YY]MMDDhhmm[.ss]`
pub fn stamp(text: &str) -> Option<i64> {
    let (digits, second) = text.split_once('.').unwrap_or((text, "0"));
    let number = |from: usize, to: usize| digits.get(from..to).and_then(|part| part.parse::<i64>().ok());
    let (year, at) = match digits.len() {
        12 => (number(0, 4)?, 4),
        10 => (number(0, 2).map(|year| if year < 69 { 2000 + year } else { 1900 + year })?, 2),
        8 => (Moment::new(i64::try_from(crate::clock::now().as_secs()).ok()?).year, 0),
        _ => return None,
    };
    let moment = Moment {
        year,
        month: number(at, at + 2)?,
        day: number(at + 2, at + 4)?,
        hour: number(at + 4, at + 6)?,
        minute: number(at + 6, at + 8)?,
        second: second.parse().ok()?,
    };
    Some(moment.seconds())
}

/// The moment that a text names, as GNU's `date -d` reads the common ways: `2024-02-28 10:00 +2 days`, `@0`, `yesterday`,
/// `3 weeks ago`, `next friday`.
pub fn parse(text: &str, now: Duration, zone: i64) -> Option<i64> {
    moment(text, now, zone).map(|(seconds, _)| seconds)
}

/// The same with its nanoseconds.
pub fn moment(text: &str, now: Duration, zone: i64) -> Option<(i64, u32)> {
    let (now, nanos) = (i64::try_from(now.as_secs()).ok()?, now.subsec_nanos());
    let text = text.trim().to_lowercase();
    if let Some(seconds) = text.strip_prefix('@') {
        let (whole, part) = seconds.split_once(['.', ',']).unwrap_or((seconds, ""));
        let (whole, part): (i64, u32) = (whole.parse().ok()?, fraction(part)?);
        let before = seconds.starts_with('-') && part > 0;
        return Some(if before { (whole - 1, 1_000_000_000 - part) } else { (whole, part) });
    }
    let mut reader = Reader {
        moment: Moment::new(now + zone),
        shift: Moment { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 },
        nanos,
        date: false,
        day: false,
        time: false,
        zone,
        zoned: false,
        fixed: false,
        weekday: None,
    };
    let spaced = text.replace(',', " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let timed = reader.time;
        let used = reader.take(rest)?;
        // An offset belongs to the time that it follows at once.
        reader.zoned = !timed && reader.time && !reader.fixed;
        rest = rest.get(used..)?;
    }
    if (reader.date || reader.day) && !reader.time {
        (reader.moment.hour, reader.moment.minute, reader.moment.second, reader.nanos) = (0, 0, 0, 0);
    }
    // A date says more than the name of a day.
    if let Some((wanted, next)) = reader.weekday.filter(|_| !reader.date) {
        let today = Moment::new(reader.moment.seconds()).weekday();
        let mut ahead = (wanted - today).rem_euclid(7);
        if next && ahead == 0 {
            ahead = 7;
        }
        reader.moment.day += ahead;
    }
    let (mut moment, shift) = (reader.moment, reader.shift);
    moment.year += shift.year;
    moment.month += shift.month;
    moment.day += shift.day;
    moment.hour += shift.hour;
    moment.minute += shift.minute;
    moment.second += shift.second;
    Some((moment.seconds() - reader.zone, reader.nanos))
}

/// The nanoseconds of the digits behind a point.
fn fraction(digits: &str) -> Option<u32> {
    if !digits.chars().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let nine: String = digits.chars().chain(std::iter::repeat('0')).take(9).collect();
    nine.parse().ok()
}

struct Reader {
    moment: Moment,
    /// What is added at the end, wherever in the text it stands.
    shift: Moment,
    nanos: u32,
    /// Whether there was a date, the name of a day, a time.
    date: bool,
    day: bool,
    time: bool,
    zone: i64,
    /// Whether the word before was a time, so that an offset may follow.
    zoned: bool,
    /// Whether the time had its offset with it.
    fixed: bool,
    weekday: Option<(i64, bool)>,
}

impl Reader {
    /// Reads what the words begin with; gives how many words that were.
    fn take(&mut self, words: &[&str]) -> Option<usize> {
        let (first, rest) = words.split_first()?;
        match *first {
            "now" => return Some(1),
            "today" | "midnight" => return self.start_of_day(0),
            "yesterday" => return self.shift(-1, "day", 1),
            "tomorrow" => return self.shift(1, "day", 1),
            "noon" => {
                self.start_of_day(12)?;
                return Some(1);
            }
            "next" | "last" => {
                let unit = rest.first()?;
                let sign = if *first == "next" { 1 } else { -1 };
                if let Some(day) = weekday(unit) {
                    self.weekday = Some((day, true));
                    self.day = true;
                    if sign < 0 {
                        self.moment.day -= 7;
                    }
                    return Some(2);
                }
                return self.shift(sign, unit, 2);
            }
            _ => {}
        }
        let digits = first.trim_start_matches(['+', '-']);
        let is_offset = first.len() == digits.len() + 1
            && !digits.is_empty()
            && digits.len() <= 5
            && digits.chars().all(|digit| digit.is_ascii_digit() || digit == ':');
        if self.zoned && is_offset {
            self.zone = offset(first)?;
            return Some(1);
        }
        if let Some((_, hours)) = ZONES.iter().find(|(name, _)| name == first) {
            self.zone = hours * 3600;
            return Some(1);
        }
        if let Some(day) = weekday(first) {
            self.weekday = Some((day, false));
            self.day = true;
            return Some(1);
        }
        if let Some(month) = month(first) {
            // `Jan 15 2024`, `Jan 15`
            let day = rest.first()?.parse().ok()?;
            let year = rest.get(1).and_then(|text| text.parse().ok()).filter(|year| *year > 31);
            self.set_date(year.unwrap_or(self.moment.year), month, day)?;
            return Some(if year.is_some() { 3 } else { 2 });
        }
        if let Some((date, time)) = first.split_once('t').filter(|(date, _)| date.contains('-')) {
            self.dashes(date)?;
            return self.clock(time, rest).map(|used| used + 1);
        }
        if first.matches('-').count() == 2 && !first.starts_with('-') {
            self.dashes(first)?;
            return Some(1);
        }
        if first.contains(':') {
            return self.clock(first, rest).map(|used| used + 1);
        }
        if first.matches('/').count() == 2 {
            let mut parts = first.split('/').map(|part| part.parse::<i64>().ok());
            let (one, two, three) = (parts.next()??, parts.next()??, parts.next()??);
            if one > 31 {
                self.set_date(one, two, three)?
            } else {
                self.set_date(three, one, two)?
            }
            return Some(1);
        }
        self.number(first, rest)
    }

    fn number(&mut self, first: &str, rest: &[&str]) -> Option<usize> {
        let end = first
            .char_indices()
            .skip(1)
            .find(|(_, letter)| letter.is_ascii_alphabetic())
            .map_or(first.len(), |(index, _)| index);
        let (digits, inline) = first.split_at(end);
        let count: i64 = match digits.strip_prefix('+').unwrap_or(digits).parse() {
            Ok(count) => count,
            // `+ 2 days`, `year ago`
            Err(_) if first == "+" => return self.take(rest).map(|used| used + 1),
            Err(_) if first == "-" => {
                let count: i64 = rest.first()?.parse().ok()?;
                return self.shift(-count, rest.get(1)?, 3);
            }
            Err(_) => {
                let ago = rest.first() == Some(&"ago");
                return self.shift(if ago { -1 } else { 1 }, first, if ago { 2 } else { 1 });
            }
        };
        if inline.is_empty() {
            // `15 Jan 2024`
            if let Some(month) = rest.first().and_then(|text| month(text)) {
                let year = rest.get(1).and_then(|text| text.parse().ok()).filter(|year| *year > 31);
                self.set_date(year.unwrap_or(self.moment.year), month, count)?;
                return Some(if year.is_some() { 3 } else { 2 });
            }
            if digits.len() == 8 && rest.first().is_none_or(|text| !is_unit(text)) {
                self.set_date(count / 10_000, count / 100 % 100, count % 100)?;
                return Some(1);
            }
        }
        let (unit, used) = if inline.is_empty() { (*rest.first()?, 1) } else { (inline, 0) };
        let ago = rest.get(used) == Some(&"ago");
        self.shift(if ago { -count } else { count }, unit, 1 + used + usize::from(ago))
    }

    fn start_of_day(&mut self, hour: i64) -> Option<usize> {
        (self.moment.hour, self.moment.minute, self.moment.second) = (hour, 0, 0);
        (self.nanos, self.time) = (0, true);
        Some(1)
    }

    fn set_date(&mut self, year: i64, month: i64, day: i64) -> Option<()> {
        let next = days(year + i64::from(month == 12), month % 12 + 1, 1);
        let valid = (1..=12).contains(&month) && day >= 1 && days(year, month, day) < next;
        (self.moment.year, self.moment.month, self.moment.day, self.date) = (year, month, day, true);
        valid.then_some(())
    }

    fn dashes(&mut self, text: &str) -> Option<()> {
        let mut parts = text.split('-').map(|part| part.parse::<i64>().ok());
        let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
        self.set_date(year, month, day)
    }

    /// `10:20`, `10:20:30.5`, with `am`, `pm`, `Z` or an offset; gives how many further words belong to it.
    fn clock(&mut self, text: &str, rest: &[&str]) -> Option<usize> {
        self.fixed = text.ends_with('z') || text.contains(['+', '-']);
        if text.ends_with('z') {
            self.zone = 0;
        }
        let text = text.trim_end_matches('z');
        let (text, zone) = match text.rfind(['+', '-']) {
            Some(at) => (text.get(..at)?, Some(text.get(at..)?)),
            None => (text, None),
        };
        let (text, half) = match (text.strip_suffix("am"), text.strip_suffix("pm")) {
            (Some(text), _) => (text, Some(0)),
            (_, Some(text)) => (text, Some(12)),
            _ => match rest.first() {
                Some(&"am") => (text, Some(0)),
                Some(&"pm") => (text, Some(12)),
                _ => (text, None),
            },
        };
        let mut parts = text.split(':');
        let hour: i64 = parts.next()?.parse().ok()?;
        let minute: i64 = parts.next().map_or(Some(0), |part| part.parse().ok())?;
        let (second, part) =
            parts.next().map_or(("0", ""), |text| text.split_once('.').unwrap_or((text, "")));
        let (second, nanos): (i64, u32) = (second.parse().ok()?, fraction(part)?);
        let hour = half.map_or(hour, |half| hour % 12 + half);
        if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
            return None;
        }
        (self.moment.hour, self.moment.minute, self.moment.second, self.time) = (hour, minute, second, true);
        self.nanos = nanos;
        if let Some(text) = zone {
            self.zone = offset(text)?;
        }
        Some(usize::from(matches!(rest.first(), Some(&("am" | "pm")))))
    }

    fn shift(&mut self, count: i64, unit: &str, used: usize) -> Option<usize> {
        let unit = unit.strip_suffix('s').filter(|short| short.len() > 2).unwrap_or(unit);
        let part = match unit {
            "year" => &mut self.shift.year,
            "month" => &mut self.shift.month,
            "week" => {
                self.shift.day = self.shift.day.checked_add(count.checked_mul(7)?)?;
                return Some(used);
            }
            "fortnight" => {
                self.shift.day = self.shift.day.checked_add(count.checked_mul(14)?)?;
                return Some(used);
            }
            "day" => &mut self.shift.day,
            "hour" => &mut self.shift.hour,
            "minute" | "min" => &mut self.shift.minute,
            "second" | "sec" => &mut self.shift.second,
            _ => return None,
        };
        *part = part.checked_add(count).filter(|value| value.abs() < 1_000_000_000_000)?;
        Some(used)
    }
}

/// Zones that have one offset whatever the date, by the hours to the east.
const ZONES: [(&str, i64); 17] = [
    ("utc", 0),
    ("gmt", 0),
    ("z", 0),
    ("wet", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
    ("cet", 1),
    ("cest", 2),
    ("bst", 1),
    ("eet", 2),
    ("jst", 9),
];

/// `+02:00`, `-0330`, `+2`, in seconds.
fn offset(text: &str) -> Option<i64> {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let number: i64 = digits.parse().ok()?;
    let minutes = if digits.len() <= 2 { number * 60 } else { number / 100 * 60 + number % 100 };
    Some(if text.starts_with('-') { -minutes * 60 } else { minutes * 60 })
}

fn is_unit(text: &str) -> bool {
    ["day", "week", "month", "year", "hour", "min", "sec"].iter().any(|unit| text.starts_with(unit))
}

fn place(names: &[&str], text: &str) -> Option<i64> {
    let text = text.trim_end_matches('.');
    let index = names.iter().position(|name| text.len() >= 3 && name.to_lowercase().starts_with(text))?;
    i64::try_from(index).ok()
}

fn weekday(text: &str) -> Option<i64> {
    place(&DAYS, text)
}

fn month(text: &str) -> Option<i64> {
    place(&MONTHS, text).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::date::show;

    fn read(text: &str) -> Option<String> {
        // A Monday.
        let now = Duration::from_secs(1_700_481_600);
        parse(text, now, 0).map(|seconds| show("%F %T", seconds, 0, 0))
    }

    #[test]
    fn dates_are_read_in_the_common_ways() {
        for (text, wanted) in [
            ("2024-02-28 +2 days", "2024-03-01 00:00:00"),
            ("2024-01-31 1 month", "2024-03-02 00:00:00"),
            ("2024-05-05T10:20:30Z", "2024-05-05 10:20:30"),
            ("2024-05-05 10:20 +0200", "2024-05-05 08:20:00"),
            ("@86400", "1970-01-02 00:00:00"),
            ("now", "2023-11-20 12:00:00"),
            ("yesterday", "2023-11-19 12:00:00"),
            ("3 weeks ago", "2023-10-30 12:00:00"),
            ("next friday", "2023-11-24 00:00:00"),
            ("15 Jan 2024", "2024-01-15 00:00:00"),
            ("Jan 15, 2024 3:05 pm", "2024-01-15 15:05:00"),
            ("12/25/2023", "2023-12-25 00:00:00"),
            ("20240229", "2024-02-29 00:00:00"),
        ] {
            assert_eq!(read(text).as_deref(), Some(wanted), "{text}");
        }
        for text in ["not a date", "2023-02-29", "2024-13-01", "25:00", "99999999999999 years"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
