//! `date`, and the calendar.

mod moment;
mod parse;

use moment::{DAYS, MONTHS, Moment};
pub use parse::{moment as precise_moment, parse, stamp};
use std::time::Duration;

use crate::shell::Shell;
use crate::stop::{Status, Stop, fail, words};
use crate::util::options::Spelling;

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

/// Seconds east of Greenwich, of `TZ`: UTC, or an offset as in `UTC-2` and `EST5`. The tables of named zones are not here.
pub fn zone(shell: &Shell) -> Result<i64, Stop> {
    let Some(text) = shell.vars.get("TZ") else { return Ok(0) };
    let text = text.trim_start_matches(':');
    let name = text.trim_start_matches(|letter: char| letter.is_ascii_alphabetic() || letter == '/');
    let name = text.strip_prefix('<').and_then(|rest| rest.split_once('>')).map_or(name, |(_, rest)| rest);
    let known =
        matches!(text, "" | "UTC" | "GMT" | "UCT" | "Z" | "Zulu" | "Etc/UTC" | "Etc/GMT" | "Universal");
    if known {
        return Ok(0);
    }
    // Such an offset counts to the west.
    let mut parts = name.trim_start_matches(['+', '-']).split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes) = (parts.next().flatten(), parts.next().unwrap_or(Some(0)));
    match (hours, minutes) {
        (Some(hours), Some(minutes)) if hours <= 24 && (0..60).contains(&minutes) => {
            let seconds = hours * 3600 + minutes * 60;
            Ok(if name.starts_with('-') { seconds } else { -seconds })
        }
        _ => fail(format!("time zone ‘{text}’ is not known here; TZ takes UTC or an offset, such as UTC-2")),
    }
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
    let zone = if options.has('u') { 0 } else { zone(shell)? };
    let (mut seconds, mut nanos) = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), now.subsec_nanos());
    if let Some(text) = options.value('d') {
        (seconds, nanos) = match precise_moment(text, now, zone) {
            Some(moment) => moment,
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
        _ if options.has('1') => match options.value('1') {
            Some("date") => "%Y-%m-%d",
            Some("seconds") => "%Y-%m-%d %H:%M:%S%:z",
            Some("ns") => "%Y-%m-%d %H:%M:%S.%N%:z",
            other => {
                let other = other.unwrap_or_default();
                return fail(format!("invalid argument ‘{other}’ for ‘--rfc-3339’"));
            }
        },
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

/// Wider than any line.
const WIDEST: usize = 1000;

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
        let (mut flags, mut colons, mut width) = (String::new(), 0, 0_usize);
        loop {
            match directive {
                '-' | '_' | '0' | '^' | '#' if width == 0 => flags.push(directive),
                ':' => colons += 1,
                digit if digit.is_ascii_digit() => {
                    let digit = directive.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
                    width = (width * 10 + digit.unwrap_or(0)).min(WIDEST);
                }
                _ => break,
            }
            directive = rest.next().unwrap_or('%');
        }
        let mut text = part(directive, moment, (seconds, nanos, zone), colons);
        if directive == 'N' && width > 0 {
            // The width of a fraction is its precision.
            text.truncate(width.min(text.len()));
        }
        let digits = text.trim_start_matches(['0', ' ']);
        let digits = if digits.is_empty() && text.ends_with('0') { "0" } else { digits };
        match flags.chars().last() {
            Some('-') => text = digits.to_owned(),
            Some('_') => text = format!("{digits:>0$}", text.len().max(width)),
            Some('0') => text = format!("{digits:0>0$}", text.len().max(width)),
            Some('^') => text = text.to_uppercase(),
            Some('#') if directive == 'p' => text = text.to_lowercase(),
            Some('#') => text = text.to_uppercase(),
            _ => {}
        }
        if text.len() < width {
            let blank = flags.ends_with('_') || "aAbBhpPZc".contains(directive);
            let missing = width - text.len();
            text = match directive {
                'N' => text + &"0".repeat(missing),
                _ => (if blank { " " } else { "0" }).repeat(missing) + &text,
            };
        }
        shown.push_str(&text);
    }
    shown
}

fn part(directive: char, moment: Moment, (seconds, nanos, zone): (i64, u32, i64), colons: u32) -> String {
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
        'q' => ((month - 1) / 3 + 1).to_string(),
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
            let (hours, minutes) = (zone.abs() / 3600, zone.abs() / 60 % 60);
            match colons {
                0 => format!("{sign}{hours:02}{minutes:02}"),
                1 => format!("{sign}{hours:02}:{minutes:02}"),
                _ => format!("{sign}{hours:02}:{minutes:02}:00"),
            }
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
