//! `date`, and the calendar.

mod moment;
mod parse;

use moment::{DAYS, MONTHS, Moment};
pub use parse::{parse, stamp};
use std::time::Duration;

use crate::shell::Shell;
use crate::stop::{Status, fail, words};
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
