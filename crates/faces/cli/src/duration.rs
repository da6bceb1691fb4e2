//! Parses durations. Main function: [`parse_seconds`].

use crate::terminal::escape_control;
use crate::{CommandFailure, Result};

const UNITS: [(char, u64); 5] = [
    ('s', 1),
    ('m', 60),
    ('h', 3_600),
    ('d', 86_400),
    ('w', 604_800),
];

/// Parses `30s`, `15m`, `4h`, `1d`, `2w`, or a number of seconds.
pub(crate) fn parse_seconds(text: &str) -> Result<u64> {
    let bad = || {
        let text = escape_control(text);
        CommandFailure::Usage(format!(
            "`{text}` is not a duration; write 90, 15m, 4h, 1d or 2w"
        ))
    };
    let (digits, unit) = match text.char_indices().last() {
        Some((at, letter)) if letter.is_ascii_alphabetic() => {
            let unit = UNITS
                .iter()
                .find(|(name, _)| *name == letter)
                .ok_or_else(bad)?;
            (&text[..at], unit.1)
        }
        _ => (text, 1),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(bad());
    }
    let number: u64 = digits.parse().map_err(|_| bad())?;
    number.checked_mul(unit).ok_or_else(bad)
}

/// Reads a number of nodes.
pub(crate) fn parse_node_count(text: &str) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        return Err("it is not a number; write how many nodes, as in 5".to_owned());
    }
    text.parse()
        .map_err(|_| format!("the number is too large; at most {}", u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read() {
        let read =
            ["90", "30s", "15m", "4h", "1d", "2w", "0"].map(|text| parse_seconds(text).unwrap());
        assert_eq!(read, [90, 30, 900, 14_400, 86_400, 1_209_600, 0]);
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "h",
            "1y",
            "-1h",
            "+1h",
            "1.5h",
            "1 h",
            "ä",
            "99999999999999999999",
            "9999999999999999999w",
        ] {
            assert!(parse_seconds(text).is_err(), "{text}");
        }
    }
}
