//! Numbers in texts, for `>`, `>=`, `<` and `<=`. Main type: [`DecimalNumber`].
//!
//! Invariant: whole numbers are compared exactly, so that sizes in bytes do not become equal by
//! rounding; `inf`, `nan`, hexadecimal and units are not numbers.

use std::cmp::Ordering;

/// A finite number in decimal notation.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecimalNumber {
    whole: Option<i128>,
    float: f64,
}

impl DecimalNumber {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let plain =
            |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-' | b'e' | b'E');
        if !text.bytes().all(plain) {
            return None;
        }
        let float = text.parse::<f64>().ok().filter(|float| float.is_finite())?;
        let whole = text.parse::<i128>().ok();
        Some(Self { whole, float })
    }

    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        match (self.whole, other.whole) {
            (Some(one), Some(two)) => Some(one.cmp(&two)),
            _ => self.float.partial_cmp(&other.float),
        }
    }

    /// The number as JSON.
    pub(super) fn to_json(self) -> serde_json::Value {
        match self.whole.and_then(|whole| i64::try_from(whole).ok()) {
            Some(whole) => whole.into(),
            None => self.float.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(one: &str, two: &str) -> Option<Ordering> {
        DecimalNumber::parse(one)?.compare(DecimalNumber::parse(two)?)
    }

    #[test]
    fn texts_are_compared_as_numbers_and_others_not_at_all() {
        assert_eq!(compare("10", "9"), Some(Ordering::Greater));
        assert_eq!(compare(" 10 ", "10.0"), Some(Ordering::Equal));
        assert_eq!(compare("-1", "1e3"), Some(Ordering::Less));
        assert_eq!(
            compare("9007199254740993", "9007199254740992"),
            Some(Ordering::Greater),
            "not rounded"
        );
        for text in [
            "", "x", "nan", "inf", "1e999", "0x10", "1,5", "4 GB", "-", ".",
        ] {
            assert_eq!(compare(text, "1"), None, "{text:?}");
            assert_eq!(compare("1", text), None, "{text:?}");
        }
    }
}
