//! Lifetimes in pxp-agent's notation: `14d`, `36h`, `90m`.
//!
//! Invariant: zero in any unit means "never", not "at once".

use std::time::Duration;

/// Error for a text that is not a lifetime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a whole number followed by m, h or d")]
pub struct TtlError;

/// Parses a lifetime; `None` if it is zero.
pub fn parse(text: &str) -> Result<Option<Duration>, TtlError> {
    let text = text.trim();
    let unit_seconds = match text.chars().last() {
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        _ => return Err(TtlError),
    };
    let number = &text[..text.len() - 1];
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err(TtlError);
    }
    let seconds = number
        .parse::<u64>()
        .ok()
        .and_then(|n| n.checked_mul(unit_seconds))
        .ok_or(TtlError)?;
    Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
}
