//! Indexes and lengths in arrays and strings.

use crate::value::{Eval, RubyValue, refuse};

/// The offset of an index, which counts from the end if it is negative; `None` before the start.
pub(super) fn position(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    let index = if index < 0 { index + length } else { index };
    usize::try_from(index).ok()
}

/// Start and end of a part that is given by a start and a length; `None` outside.
pub(super) fn part(start: i64, count: i64, length: usize) -> Option<(usize, usize)> {
    let start = position(start, length).filter(|start| *start <= length)?;
    let count = usize::try_from(count).ok()?;
    Some((start, start.saturating_add(count).min(length)))
}

/// Start and end of a part that is given by a range; `None` outside.
pub(super) fn range_part(
    low: i64,
    high: Option<i64>,
    is_exclusive: bool,
    length: usize,
) -> Option<(usize, usize)> {
    let start = position(low, length).filter(|start| *start <= length)?;
    let end = match high {
        None => length,
        Some(high) => {
            let high = if high < 0 {
                high + i64::try_from(length).ok()?
            } else {
                high
            };
            let end = if is_exclusive {
                high
            } else {
                high.saturating_add(1)
            };
            usize::try_from(end).unwrap_or(0).min(length)
        }
    };
    Some((start, end.max(start)))
}

/// A count of elements that is not negative.
pub(super) fn count(value: &RubyValue) -> Eval<usize> {
    match value {
        RubyValue::Int(count) if *count >= 0 => Ok(usize::try_from(*count).unwrap_or(usize::MAX)),
        other => refuse(format!("{} as a count", other.kind())),
    }
}
