//! Numbers and texts by the directives of C's `printf`.

/// One directive: `%-5.2f`.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    left: bool,
    plus: bool,
    blank: bool,
    zero: bool,
    alternate: bool,
    group: bool,
    width: usize,
    pub precision: Option<usize>,
    /// The width is the next argument.
    pub star_width: bool,
    pub star_precision: bool,
    pub conversion: char,
}

/// More would only fill the memory.
const WIDEST: usize = 1 << 20;

/// After a `%`: the directive, and what follows it.
pub fn directive(text: &str) -> Option<(Spec, &str)> {
    let mut spec = Spec::default();
    let mut rest = text.char_indices().peekable();
    while let Some((_, letter)) = rest.peek() {
        match letter {
            '-' => spec.left = true,
            '+' => spec.plus = true,
            ' ' => spec.blank = true,
            '0' => spec.zero = true,
            '#' => spec.alternate = true,
            '\'' => spec.group = true,
            _ => break,
        }
        rest.next();
    }
    let number = |rest: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
        let mut value = 0_usize;
        while let Some(digit) = rest.peek().and_then(|(_, letter)| letter.to_digit(10)) {
            value = (value * 10 + usize::try_from(digit).unwrap_or(0)).min(WIDEST + 1);
            rest.next();
        }
        value
    };
    if rest.next_if(|(_, letter)| *letter == '*').is_some() {
        spec.star_width = true;
    } else {
        spec.width = number(&mut rest);
    }
    if rest.next_if(|(_, letter)| *letter == '.').is_some() {
        if rest.next_if(|(_, letter)| *letter == '*').is_some() {
            spec.star_precision = true;
        } else {
            spec.precision = Some(number(&mut rest));
        }
    }
    while rest.next_if(|(_, letter)| matches!(letter, 'l' | 'h' | 'j' | 'z' | 'L')).is_some() {}
    let (index, conversion) = rest.next()?;
    spec.conversion = conversion;
    Some((spec, text.get(index + conversion.len_utf8()..)?))
}

impl Spec {
    /// Sets the width; a negative one aligns to the left.
    pub fn width(&mut self, width: i64) {
        self.left |= width < 0;
        self.width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX).min(WIDEST + 1);
    }

    /// Whether more is asked for than there is memory for.
    pub fn is_too_wide(&self) -> bool {
        self.width > WIDEST || self.precision.is_some_and(|precision| precision > WIDEST)
    }

    fn pad(&self, sign: &str, body: &str, zero: bool) -> String {
        let length = sign.chars().count() + body.chars().count();
        let missing = self.width.saturating_sub(length);
        if self.left {
            format!("{sign}{body}{}", " ".repeat(missing))
        } else if zero {
            format!("{sign}{}{body}", "0".repeat(missing))
        } else {
            format!("{}{sign}{body}", " ".repeat(missing))
        }
    }

    pub fn text(&self, text: &str) -> String {
        match self.precision {
            Some(precision) => self.pad("", &text.chars().take(precision).collect::<String>(), false),
            None => self.pad("", text, false),
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.blank) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    pub fn integer(&self, value: i64) -> String {
        let (sign, mut digits) = match self.conversion {
            'x' => (if self.alternate && value != 0 { "0x" } else { "" }, format!("{value:x}")),
            'X' => (if self.alternate && value != 0 { "0X" } else { "" }, format!("{value:X}")),
            'o' => (if self.alternate { "0" } else { "" }, format!("{value:o}")),
            'u' => ("", value.cast_unsigned_text()),
            _ => (self.sign(value < 0), value.unsigned_abs().to_string()),
        };
        if let Some(precision) = self.precision {
            digits = format!("{}{digits}", "0".repeat(precision.saturating_sub(digits.len())));
        }
        if self.group {
            digits = grouped(&digits);
        }
        self.pad(sign, &digits, self.zero && self.precision.is_none())
    }

    pub fn float(&self, value: f64) -> String {
        let sign = self.sign(value.is_sign_negative());
        let size = value.abs();
        if !size.is_finite() {
            return self.pad(sign, if size.is_nan() { "nan" } else { "inf" }, false);
        }
        let precision = self.precision.unwrap_or(6).min(1000);
        let mut body = match self.conversion {
            'e' | 'E' => scientific(size, precision),
            'g' | 'G' => general(size, precision.max(1), self.alternate),
            _ => format!("{size:.precision$}"),
        };
        if matches!(self.conversion, 'E' | 'G') {
            body.make_ascii_uppercase();
        }
        if self.group {
            let (whole, rest) = body
                .split_once('.')
                .map_or((body.as_str(), String::new()), |(whole, rest)| (whole, format!(".{rest}")));
            body = grouped(whole) + &rest;
        }
        self.pad(sign, &body, self.zero)
    }
}

/// A negative number as the unsigned one of the same bits.
trait Unsigned {
    fn cast_unsigned_text(self) -> String;
}

impl Unsigned for i64 {
    fn cast_unsigned_text(self) -> String {
        u64::from_ne_bytes(self.to_ne_bytes()).to_string()
    }
}

fn grouped(digits: &str) -> String {
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

fn scientific(size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// `%g`: the shorter of both forms, without zeros at the end.
pub fn general(size: f64, precision: usize, keep: bool) -> String {
    if size == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{size:.*e}", precision - 1);
    let exponent: i32 = text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    let limit = i32::try_from(precision).unwrap_or(i32::MAX);
    let body = if exponent < -4 || exponent >= limit {
        let whole = scientific(size, precision - 1);
        let (mantissa, exponent) = whole.split_once('e').unwrap_or((&whole, "+00"));
        let mantissa = if keep || !mantissa.contains('.') {
            mantissa
        } else {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        };
        return format!("{mantissa}e{exponent}");
    } else {
        let digits = usize::try_from(limit - 1 - exponent).unwrap_or(0);
        format!("{size:.digits$}")
    };
    if keep || !body.contains('.') {
        body
    } else {
        body.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// The number that a text begins with, as awk and C read it.
pub fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    let bytes = text.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let mut end = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let start = end;
    while digit(end) {
        end += 1;
    }
    let mut some = end > start;
    if bytes.get(end) == Some(&b'.') && (some || digit(end + 1)) {
        end += 1;
        while digit(end) {
            end += 1;
            some = true;
        }
    }
    if !some {
        return 0.0;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if digit(end + 1 + sign) {
            end += 1 + sign;
            while digit(end) {
                end += 1;
            }
        }
    }
    text.get(..end).and_then(|number| number.parse().ok()).unwrap_or(0.0)
}
