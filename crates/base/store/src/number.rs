//! [`JobNumber`]: the permanent name of a job.

use std::fmt;
use std::str::FromStr;

/// A job's number: positive, contiguous, ascending, never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobNumber(i64);

/// A text or number that is not a valid job number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a job number: expected a decimal integer from 1 to {max}", max = i64::MAX)]
pub struct InvalidJobNumber;

impl JobNumber {
    /// Checks a number; `None` unless `number` is positive.
    pub fn new(number: i64) -> Option<Self> {
        (number > 0).then_some(Self(number))
    }

    /// The number as an integer.
    pub fn get(self) -> i64 {
        self.0
    }

    /// Converts a column of the store, which holds valid numbers only.
    pub(crate) fn from_column(number: i64) -> Self {
        Self(number)
    }
}

impl fmt::Display for JobNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for JobNumber {
    type Err = InvalidJobNumber;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `parse` accepts a sign, which a URL must not contain.
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(InvalidJobNumber);
        }
        text.parse()
            .ok()
            .and_then(Self::new)
            .ok_or(InvalidJobNumber)
    }
}

impl TryFrom<i64> for JobNumber {
    type Error = InvalidJobNumber;

    fn try_from(number: i64) -> Result<Self, Self::Error> {
        Self::new(number).ok_or(InvalidJobNumber)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_positive_decimal_integers_are_numbers() {
        assert_eq!("12".parse(), JobNumber::new(12).ok_or(InvalidJobNumber));
        for bad in ["", "0", "-1", "+1", "1.0", "x", " 1", "9223372036854775808"] {
            assert_eq!(bad.parse::<JobNumber>(), Err(InvalidJobNumber), "{bad:?}");
        }
        assert_eq!(JobNumber::new(0), None);
    }
}
