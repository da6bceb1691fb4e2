//! Requested lifetime of a token: `4h`, `30d`, `90` (seconds) or `0` (the maximum).

use std::time::Duration;

use crate::defaults::{LIFETIME, MAX_LIFETIME};

/// A valid lifetime, from a second to [`MAX_LIFETIME`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenLifetime {
    duration: Duration,
    /// True if the client requested this duration: if it exceeds the maximum, the request is
    /// refused and not shortened.
    is_exact: bool,
}

/// Reason why a text is not a lifetime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LifetimeError {
    /// The text is not a number with a unit.
    #[error("{0:?} is not a lifetime; write a number and one of s, m, h, d, y, for example 4h")]
    Malformed(String),
    /// The lifetime exceeds [`MAX_LIFETIME`].
    #[error("{0:?} is longer than 10y, the longest lifetime")]
    TooLong(String),
}

impl TokenLifetime {
    /// Parses `<number>[smhdy]`; a number without a unit is in seconds.
    pub fn parse(text: &str) -> Result<Self, LifetimeError> {
        let malformed = || LifetimeError::Malformed(text.chars().take(40).collect());
        let (digits, unit) = match text.find(|c: char| !c.is_ascii_digit()) {
            Some(at) => text.split_at(at),
            None => (text, "s"),
        };
        let seconds_each = match unit {
            "s" => 1,
            "m" => 60,
            "h" => 3_600,
            "d" => 24 * 3_600,
            "y" => 365 * 24 * 3_600,
            _ => return Err(malformed()),
        };
        if digits.is_empty() {
            return Err(malformed());
        }
        let too_long = || LifetimeError::TooLong(text.chars().take(40).collect());
        // There are only digits, so parsing fails only if the number is too large.
        let number: u64 = digits.parse().map_err(|_| too_long())?;
        let seconds = number.checked_mul(seconds_each).ok_or_else(too_long)?;
        match Duration::from_secs(seconds) {
            Duration::ZERO => Ok(Self::clamp(MAX_LIFETIME)),
            duration if duration <= MAX_LIFETIME => Ok(Self {
                duration,
                is_exact: true,
            }),
            _ => Err(too_long()),
        }
    }

    /// This duration, or the configured maximum if that is shorter.
    pub fn clamp(duration: Duration) -> Self {
        Self {
            duration: duration.min(MAX_LIFETIME),
            is_exact: false,
        }
    }

    /// The requested duration, at most [`MAX_LIFETIME`].
    pub fn as_duration(self) -> Duration {
        self.duration
    }

    /// True if the token must not get a shorter lifetime.
    pub(crate) fn is_exact(self) -> bool {
        self.is_exact
    }
}

impl Default for TokenLifetime {
    fn default() -> Self {
        Self::clamp(LIFETIME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read() {
        for (text, seconds) in [
            ("90", 90),
            ("90s", 90),
            ("2m", 120),
            ("4h", 14_400),
            ("1d", 86_400),
            ("1y", 31_536_000),
        ] {
            assert_eq!(
                TokenLifetime::parse(text).unwrap().duration,
                Duration::from_secs(seconds),
                "{text}"
            );
        }
    }

    #[test]
    fn zero_is_the_longest() {
        assert_eq!(TokenLifetime::parse("0").unwrap().duration, MAX_LIFETIME);
        assert_eq!(TokenLifetime::parse("0h").unwrap().duration, MAX_LIFETIME);
        assert_eq!(TokenLifetime::parse("10y").unwrap().duration, MAX_LIFETIME);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "h", "-1", "1.5h", "4 h", "4hh", "4w", "٤h", "1h30m"] {
            let refused = TokenLifetime::parse(text).unwrap_err();
            assert_eq!(refused, LifetimeError::Malformed(text.to_owned()));
        }
        for text in ["11y", "99999999999999999999999", "18446744073709551615y"] {
            let refused = TokenLifetime::parse(text).unwrap_err();
            assert_eq!(refused, LifetimeError::TooLong(text.to_owned()));
        }
    }
}
