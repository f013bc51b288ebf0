//! `date`, and the calendar.

use std::time::Duration;

use super::options::Spelling;
use crate::shell::Shell;
use crate::stop::{Status, fail, words};

const SPELLING: Spelling = Spelling::new(
    "d:uI:Rr:s:1:",
    &[
        ("date", 'd'),
        ("utc", 'u'),
        ("universal", 'u'),
        ("reference", 'r'),
        ("rfc-2822", 'R'),
        ("rfc-email", 'R'),
        ("iso-8601", 'I'),
        ("rfc-3339", '1'),
    ],
);

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// A moment in the parts of a calendar, in UTC.
#[derive(Clone, Copy)]
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
}

/// Days since 1970 of a date of the Gregorian calendar, by Howard Hinnant's counting in eras of 400 years.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

impl Moment {
    fn new(seconds: i64) -> Self {
        let shifted = seconds.div_euclid(86_400) + 719_468;
        let era = shifted.div_euclid(146_097);
        let of_era = shifted.rem_euclid(146_097);
        let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let index = (5 * of_year + 2) / 153;
        let month = if index < 10 { index + 3 } else { index - 9 };
        let clock = seconds.rem_euclid(86_400);
        Self {
            year: year + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * index + 2) / 5 + 1,
            hour: clock / 3600,
            minute: clock / 60 % 60,
            second: clock % 60,
        }
    }

    /// Parts out of their bounds go over into the next.
    fn seconds(self) -> i64 {
        let year = self.year + (self.month - 1).div_euclid(12);
        let month = (self.month - 1).rem_euclid(12) + 1;
        days(year, month, 1) * 86_400
            + (self.day - 1) * 86_400
            + self.hour * 3600
            + self.minute * 60
            + self.second
    }

    fn weekday(self) -> i64 {
        (days(self.year, self.month, self.day) + 4).rem_euclid(7)
    }

    fn of_year(self) -> i64 {
        days(self.year, self.month, self.day) - days(self.year, 1, 1) + 1
    }

    /// Year and number of the week by ISO 8601.
    fn week(self) -> (i64, i64) {
        let weekday = (self.weekday() + 6).rem_euclid(7);
        let thursday = Self::new((days(self.year, self.month, self.day) - weekday + 3) * 86_400);
        (thursday.year, (thursday.of_year() - 1) / 7 + 1)
    }
}

/// Seconds east of Greenwich; the cell knows UTC alone, and offsets in `TZ`.
pub fn zone(shell: &Shell) -> i64 {
    shell
        .vars
        .get("TZ")
        .and_then(|text| text.strip_prefix("UTC").and_then(|rest| rest.parse::<i64>().ok()))
        .map_or(0, |hours| -hours * 3600)
}

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    let arguments: Vec<String> = arguments
        .iter()
        .map(|text| match text.as_str() {
            "-I" | "--iso-8601" => "-Idate".to_owned(),
            _ => text.clone(),
        })
        .collect();
    let options = SPELLING.read(&arguments)?;
    let now = crate::clock::now();
    let zone = if options.has('u') { 0 } else { zone(shell) };
    let (mut seconds, mut nanos) = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), now.subsec_nanos());
    if let Some(text) = options.value('d') {
        nanos = 0;
        seconds = match parse(text, now, zone) {
            Some(seconds) => seconds,
            None => return fail(format!("invalid date ‘{text}’")),
        };
    } else if let Some(name) = options.value('r') {
        let time = match std::fs::metadata(shell.path(name)).and_then(|metadata| metadata.modified()) {
            Ok(time) => crate::clock::since_epoch(time),
            Err(error) => return fail(format!("{name}: {}", words(&error))),
        };
        (seconds, nanos) = (i64::try_from(time.as_secs()).unwrap_or(i64::MAX), time.subsec_nanos());
    }
    let own = options.operands.iter().find_map(|operand| operand.strip_prefix('+'));
    let format = match (own, options.value('I')) {
        (Some(format), _) => format,
        (_, Some("date")) => "%Y-%m-%d",
        (_, Some("hours")) => "%Y-%m-%dT%H%:z",
        (_, Some("minutes")) => "%Y-%m-%dT%H:%M%:z",
        (_, Some("ns")) => "%Y-%m-%dT%H:%M:%S,%N%:z",
        (_, Some(_)) => "%Y-%m-%dT%H:%M:%S%:z",
        _ if options.has('R') => "%a, %d %b %Y %H:%M:%S %z",
        _ => "%a %b %e %H:%M:%S %Z %Y",
    };
    if own.is_none() {
        if let Some(extra) = options.operands.first() {
            return fail(format!("invalid date ‘{extra}’"));
        }
    }
    shell.stdout().write(format!("{}\n", show(format, seconds, nanos, zone)).as_bytes()).await?;
    Ok(0)
}

/// A moment by the directives of `strftime`.
pub fn show(format: &str, seconds: i64, nanos: u32, zone: i64) -> String {
    let moment = Moment::new(seconds + zone);
    let mut shown = String::new();
    let mut rest = format.chars();
    while let Some(letter) = rest.next() {
        if letter != '%' {
            shown.push(letter);
            continue;
        }
        let mut directive = rest.next().unwrap_or('%');
        let flag = matches!(directive, '-' | '_' | '0' | '^' | ':').then_some(directive);
        if flag.is_some() {
            directive = rest.next().unwrap_or('%');
        }
        let mut text = part(directive, moment, (seconds, nanos, zone), flag == Some(':'));
        match flag {
            Some('-') => text = text.trim_start_matches(['0', ' ']).to_owned(),
            Some('_') => {
                let digits = text.trim_start_matches('0');
                text = format!("{}{digits}", " ".repeat(text.len() - digits.len()));
            }
            Some('^') => text = text.to_uppercase(),
            _ => {}
        }
        if flag == Some('-') && text.is_empty() {
            text.push('0');
        }
        shown.push_str(&text);
    }
    shown
}

fn part(directive: char, moment: Moment, (seconds, nanos, zone): (i64, u32, i64), colon: bool) -> String {
    let name = |names: &[&str], index: i64, short: bool| {
        let name =
            usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default();
        name.get(..if short { 3 } else { name.len() }).unwrap_or(name).to_owned()
    };
    let Moment { year, month, day, hour, minute, second } = moment;
    let half = if hour % 12 == 0 { 12 } else { hour % 12 };
    let (iso_year, week) = moment.week();
    let again = |format: &str| show(format, seconds, nanos, zone);
    match directive {
        'Y' => year.to_string(),
        'C' => format!("{:02}", year / 100),
        'y' => format!("{:02}", year.rem_euclid(100)),
        'm' => format!("{month:02}"),
        'd' => format!("{day:02}"),
        'e' => format!("{day:2}"),
        'H' => format!("{hour:02}"),
        'k' => format!("{hour:2}"),
        'I' => format!("{half:02}"),
        'l' => format!("{half:2}"),
        'M' => format!("{minute:02}"),
        'S' => format!("{second:02}"),
        'N' => format!("{nanos:09}"),
        's' => seconds.to_string(),
        'p' => if hour < 12 { "AM" } else { "PM" }.to_owned(),
        'P' => if hour < 12 { "am" } else { "pm" }.to_owned(),
        'A' => name(&DAYS, moment.weekday(), false),
        'a' => name(&DAYS, moment.weekday(), true),
        'B' => name(&MONTHS, month - 1, false),
        'b' | 'h' => name(&MONTHS, month - 1, true),
        'j' => format!("{:03}", moment.of_year()),
        'u' => if moment.weekday() == 0 { 7 } else { moment.weekday() }.to_string(),
        'w' => moment.weekday().to_string(),
        'V' => format!("{week:02}"),
        'G' => iso_year.to_string(),
        'g' => format!("{:02}", iso_year.rem_euclid(100)),
        'U' => format!("{:02}", (moment.of_year() + 6 - moment.weekday()) / 7),
        'W' => format!("{:02}", (moment.of_year() + 6 - (moment.weekday() + 6) % 7) / 7),
        'z' => {
            let sign = if zone < 0 { '-' } else { '+' };
            format!(
                "{sign}{:02}{}{:02}",
                zone.abs() / 3600,
                if colon { ":" } else { "" },
                zone.abs() / 60 % 60
            )
        }
        'Z' => {
            if zone == 0 {
                "UTC".to_owned()
            } else {
                again("%z")
            }
        }
        'T' | 'X' => again("%H:%M:%S"),
        'D' | 'x' => again("%m/%d/%y"),
        'F' => again("%Y-%m-%d"),
        'R' => again("%H:%M"),
        'r' => again("%I:%M:%S %p"),
        'c' => again("%a %b %e %H:%M:%S %Y"),
        'n' => "\n".to_owned(),
        't' => "\t".to_owned(),
        '%' => "%".to_owned(),
        other => format!("%{other}"),
    }
}

/// As `ls -l` shows a time: within half a year with the hour, else with the year.
pub fn listing(time: Duration, now: Duration) -> String {
    let seconds = i64::try_from(time.as_secs()).unwrap_or(0);
    let recent = now.as_secs().abs_diff(time.as_secs()) < 15_778_476;
    show(if recent { "%b %e %H:%M" } else { "%b %e  %Y" }, seconds, 0, 0)
}

/// As `stat` shows a time.
pub fn precise(time: Duration) -> String {
    show("%Y-%m-%d %H:%M:%S.%N %z", i64::try_from(time.as_secs()).unwrap_or(0), time.subsec_nanos(), 0)
}

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
    let now = i64::try_from(now.as_secs()).ok()?;
    let text = text.trim().to_lowercase();
    if let Some(seconds) = text.strip_prefix('@') {
        return seconds.split('.').next()?.parse().ok();
    }
    let mut reader =
        Reader { moment: Moment::new(now + zone), date: false, time: false, zone, weekday: None };
    let spaced = text.replace(',', " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    while !rest.is_empty() {
        let used = reader.take(rest)?;
        rest = rest.get(used..)?;
    }
    if reader.date && !reader.time {
        (reader.moment.hour, reader.moment.minute, reader.moment.second) = (0, 0, 0);
    }
    if let Some((wanted, next)) = reader.weekday {
        let today = Moment::new(reader.moment.seconds()).weekday();
        let mut ahead = (wanted - today).rem_euclid(7);
        if next && ahead == 0 {
            ahead = 7;
        }
        reader.moment.day += ahead;
    }
    Some(reader.moment.seconds() - reader.zone)
}

struct Reader {
    moment: Moment,
    date: bool,
    time: bool,
    zone: i64,
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
            "utc" | "gmt" | "z" => {
                self.zone = 0;
                return Some(1);
            }
            "next" | "last" => {
                let unit = rest.first()?;
                let sign = if *first == "next" { 1 } else { -1 };
                if let Some(day) = weekday(unit) {
                    self.weekday = Some((day, true));
                    self.date = true;
                    if sign < 0 {
                        self.moment.day -= 7;
                    }
                    return Some(2);
                }
                return self.shift(sign, unit, 2);
            }
            _ => {}
        }
        if self.time && first.len() == 5 && first.starts_with(['+', '-']) {
            self.zone = offset(first)?;
            return Some(1);
        }
        if let Some(day) = weekday(first) {
            self.weekday = Some((day, false));
            self.date = true;
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
        self.time = true;
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
        let second: i64 = parts.next().map_or(Some(0), |part| part.split('.').next()?.parse().ok())?;
        let hour = half.map_or(hour, |half| hour % 12 + half);
        if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
            return None;
        }
        (self.moment.hour, self.moment.minute, self.moment.second, self.time) = (hour, minute, second, true);
        if let Some(text) = zone {
            self.zone = offset(text)?;
        }
        Some(usize::from(matches!(rest.first(), Some(&("am" | "pm")))))
    }

    fn shift(&mut self, count: i64, unit: &str, used: usize) -> Option<usize> {
        let unit = unit.strip_suffix('s').filter(|short| short.len() > 2).unwrap_or(unit);
        let part = match unit {
            "year" => &mut self.moment.year,
            "month" => &mut self.moment.month,
            "week" => {
                self.moment.day = self.moment.day.checked_add(count.checked_mul(7)?)?;
                return Some(used);
            }
            "fortnight" => {
                self.moment.day = self.moment.day.checked_add(count.checked_mul(14)?)?;
                return Some(used);
            }
            "day" => &mut self.moment.day,
            "hour" => &mut self.moment.hour,
            "minute" | "min" => &mut self.moment.minute,
            "second" | "sec" => &mut self.moment.second,
            _ => return None,
        };
        *part = part.checked_add(count).filter(|value| value.abs() < 1_000_000_000_000)?;
        Some(used)
    }
}

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
