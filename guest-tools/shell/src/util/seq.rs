//! `seq`

use super::options::Spelling;
use crate::format::directive;
use crate::shell::Shell;
use crate::stop::{Status, Stop, fail};

const SPELLING: Spelling =
    Spelling::new("f:s:w", &[("format", 'f'), ("separator", 's'), ("equal-width", 'w')]);

pub async fn run(shell: &mut Shell, arguments: &[String]) -> Status {
    // A negative number is no option.
    let first = arguments.iter().position(|text| text.parse::<f64>().is_ok()).unwrap_or(arguments.len());
    let (flags, numbers) = arguments.split_at(first);
    let takes =
        flags.last().is_some_and(|flag| matches!(flag.as_str(), "-s" | "-f" | "--separator" | "--format"));
    let (flags, numbers) =
        if takes && !numbers.is_empty() { arguments.split_at(first + 1) } else { (flags, numbers) };
    let mut options = SPELLING.read(flags)?;
    options.operands.extend(numbers.iter().cloned());
    let (first, step, last) = match options.operands.as_slice() {
        [last] => ("1", "1", last.as_str()),
        [first, last] => (first.as_str(), "1", last.as_str()),
        [first, step, last] => (first.as_str(), step.as_str(), last.as_str()),
        [] => return fail("missing operand"),
        [.., extra] => return fail(format!("extra operand ‘{extra}’")),
    };
    let separator = options.value('s').unwrap_or("\n");
    let mut out = shell.out();
    let mut some = false;
    let whole = [first, step, last].map(|text| text.parse::<i64>().ok());
    let widest = first.len().max(last.len());
    if let (Some(start), Some(step), Some(end), None) = (whole[0], whole[1], whole[2], options.value('f')) {
        if step == 0 {
            return fail("invalid Zero increment value: ‘0’");
        }
        let mut next = Some(start);
        while let Some(value) = next.filter(|value| if step > 0 { *value <= end } else { *value >= end }) {
            if some {
                out.put(separator);
            }
            out.put(if options.has('w') { format!("{value:0widest$}") } else { value.to_string() });
            out.check().await?;
            some = true;
            next = value.checked_add(step);
        }
    } else {
        let number = |text: &str| {
            text.parse::<f64>()
                .map_err(|_| Stop::Fail(1, format!("invalid floating point argument: ‘{text}’")))
        };
        let (start, increment, end) = (number(first)?, number(step)?, number(last)?);
        if increment == 0.0 {
            return fail(format!("invalid Zero increment value: ‘{step}’"));
        }
        let digits = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
        let places = digits(first).max(digits(step));
        let mut index = 0.0;
        loop {
            let value = start + index * increment;
            // As far as rounding goes, the end belongs to the sequence.
            let slack = increment.abs() * 1e-9;
            if if increment > 0.0 { value > end + slack } else { value < end - slack } {
                break;
            }
            if some {
                out.put(separator);
            }
            out.put(match options.value('f') {
                None if options.has('w') => format!("{value:0widest$.places$}"),
                None => format!("{value:.places$}"),
                Some(format) => formatted(format, value)?,
            });
            out.check().await?;
            some = true;
            index += 1.0;
        }
    }
    if some {
        out.put("\n");
    }
    out.flush().await?;
    Ok(0)
}

fn formatted(format: &str, value: f64) -> Result<String, Stop> {
    let Some((before, rest)) = format.split_once('%') else {
        return fail(format!("format ‘{format}’ has no % directive"));
    };
    match directive(rest) {
        Some((spec, after)) if "aAeEfFgG".contains(spec.conversion) => {
            Ok(format!("{before}{}{after}", spec.float(value)))
        }
        _ => fail(format!("format ‘{format}’ has unknown directive")),
    }
}
