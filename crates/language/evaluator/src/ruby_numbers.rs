//! Texts as numbers, as Ruby's `Integer(text)` and `Float(text)` parse them: the whole text, or not
//! at all.

/// Ruby's `Integer(text)`: the whole text with an optional sign, a prefix for the base and single
/// `_`; `None` if it is not a number.
#[must_use]
pub fn integer(text: &str) -> Option<i64> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let (negative, digits) = sign(text);
    let lower = digits.to_ascii_lowercase();
    let (radix, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0d") => (10, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower[1..].trim_start_matches('_')),
        _ => (10, lower.as_str()),
    };
    let badly_joined = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    if digits.is_empty() || badly_joined || digits.starts_with(['+', '-']) {
        return None;
    }
    let number = i128::from_str_radix(&digits.replace('_', ""), radix).ok()?;
    i64::try_from(if negative { -number } else { number }).ok()
}

/// Ruby's `Float(text)`: parses the whole text; `None` if it is not a number.
#[must_use]
pub fn float(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let (negative, rest) = sign(text);
    if rest
        .get(..2)
        .is_some_and(|it| it.eq_ignore_ascii_case("0x"))
    {
        let number = hexadecimal(&rest[2..])?;
        return Some(if negative { -number } else { number });
    }
    let lower = rest.to_ascii_lowercase();
    let (mantissa, exponent) = match lower.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower.as_str(), None),
    };
    let is_number = |text: &str| {
        let joined = text.starts_with('_') || text.ends_with('_') || text.contains("__");
        !text.is_empty() && !joined && text.bytes().all(|it| it.is_ascii_digit() || it == b'_')
    };
    let mantissa_fits = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole.is_empty() || is_number(whole)) && is_number(fraction),
        None => is_number(mantissa),
    };
    if !mantissa_fits || !exponent.is_none_or(|it| is_number(sign(it).1)) {
        return None;
    }
    let number: f64 = lower.replace('_', "").parse().ok()?;
    Some(if negative { -number } else { number })
}

/// Parses the part after `0x`: hexadecimal digits and an optional binary exponent. A fraction needs
/// an exponent.
fn hexadecimal(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let (mantissa, exponent) = match lower.split_once('p') {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (lower.as_str(), None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if exponent.is_some() => (whole, Some(fraction)),
        Some(_) => return None,
        None => (mantissa, None),
    };
    let mut number = 0.0;
    for digit in hex_digits(whole)? {
        number = number * 16.0 + f64::from(digit);
    }
    let mut place = 1.0;
    for digit in fraction.map_or(Some(Vec::new()), hex_digits)? {
        place /= 16.0;
        number += f64::from(digit) * place;
    }
    let power = match exponent {
        None => 0,
        Some(exponent) => {
            let digits = sign(exponent).1;
            let are_digits = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
            exponent.parse::<i32>().ok().filter(|_| are_digits)?
        }
    };
    Some(number * 2.0_f64.powi(power))
}

/// Parses hexadecimal digits with single `_` between them.
fn hex_digits(text: &str) -> Option<Vec<u32>> {
    let badly_joined = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    if text.is_empty() || badly_joined {
        return None;
    }
    let letters = text.chars().filter(|letter| *letter != '_');
    letters.map(|letter| letter.to_digit(16)).collect()
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_numbers_that_ruby_reads() {
        assert_eq!(
            [
                integer("0x1F"),
                integer("010"),
                integer("1_0"),
                integer("-0b11")
            ],
            [Some(31), Some(8), Some(10), Some(-3)]
        );
        assert_eq!(
            [
                integer("1__0"),
                integer("08"),
                integer("1.0"),
                integer(""),
                integer("0x")
            ],
            [None; 5]
        );
        assert_eq!(
            [float("1e3"), float(" .5 "), float("0x10"), float("-1_0.5")],
            [Some(1000.0), Some(0.5), Some(16.0), Some(-10.5)]
        );
        assert_eq!(
            [
                float("0x1.8p1"),
                float("-0x1P4"),
                float("0x1_0"),
                float("0x1p-1")
            ],
            [Some(3.0), Some(-16.0), Some(16.0), Some(0.5)]
        );
        assert_eq!([float("0x1.8"), float("0x.8p1"), float("0x1p")], [None; 3]);
        assert_eq!(
            [
                float("1."),
                float("1e"),
                float(""),
                float("a"),
                float("1__0")
            ],
            [None; 5]
        );
    }
}
