//! Plain values as Ruby prints them in Puppet's messages: [`ruby_float`], [`ruby_inspect`].

use std::fmt::Write as _;

/// The shortest text that parses to the same float: `1.0`, `1.0e-05`, `1.0e+15`.
#[must_use]
pub fn ruby_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        }
        .to_owned();
    }
    if number == 0.0 {
        return if number.is_sign_negative() {
            "-0.0"
        } else {
            "0.0"
        }
        .to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..15).contains(&exponent) {
        let fixed = format!("{number}");
        return if fixed.contains('.') {
            fixed
        } else {
            format!("{fixed}.0")
        };
    }
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.abs())
}

/// `String#inspect` of a UTF-8 text. Characters that Unicode has not assigned count as printable.
#[must_use]
pub fn ruby_inspect(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{1b}' => quoted.push_str("\\e"),
            '#' if matches!(letters.peek(), Some('{' | '$' | '@')) => quoted.push_str("\\#"),
            hidden if hidden.is_control() || matches!(hidden, '\u{2028}' | '\u{2029}') => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(hidden));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_small_floats_have_exponents() {
        let printed = [1e14, 1e15, 1_234_567_890_123_456.0, 0.0001, 0.00001, -0.0].map(ruby_float);
        assert_eq!(
            printed,
            [
                "100000000000000.0",
                "1.0e+15",
                "1.234567890123456e+15",
                "0.0001",
                "1.0e-05",
                "-0.0"
            ]
        );
    }

    #[test]
    fn texts_are_escaped_as_ruby_escapes_them() {
        let text = "\u{1}\u{7f}\u{80}é\u{a0}\u{1b}\0#{a #a #$ \"\\ \u{2028}";
        assert_eq!(
            ruby_inspect(text),
            "\"\\u0001\\u007F\\u0080é\u{a0}\\e\\u0000\\#{a #a \\#$ \\\"\\\\ \\u2028\""
        );
    }
}
