//! Texts as numbers, as Ruby's `Integer(text)` and `Float(text)` read them: the whole text, or nothing.

/// `Integer(text)`: all of the text, with a sign, a prefix for the base and single `_`.
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

/// `Float(text)`.
#[must_use]
pub fn float(text: &str) -> Option<f64> {
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace());
    let (negative, rest) = sign(text);
    if rest
        .get(..2)
        .is_some_and(|it| it.eq_ignore_ascii_case("0x"))
    {
        #[expect(clippy::cast_precision_loss, reason = "Ruby rounds too")]
        return integer(text).map(|number| number as f64);
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
