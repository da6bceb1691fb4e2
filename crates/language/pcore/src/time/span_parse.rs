//! Parsing of timespans with a format: [`parse`].
//!
//! A format is matched like the regular expression that Puppet makes of it: fields take as many
//! digits as they can and give some back if the rest does not fit.
//!
//! Invariant: the work is bounded by the text's length times the number of fields, since a position
//! that failed once is not tried again.

use super::TimeError;
use super::span_format::{SpanField, SpanFormat, SpanFormatSegment, SpanPadding, TimespanUnit};
use crate::value::Timespan;

pub(super) fn parse(text: &str, format: &SpanFormat, source: &str) -> Result<Timespan, TimeError> {
    let refused = || TimeError::Unparsable {
        text: text.to_owned(),
        format: source.to_owned(),
    };
    let body = text.strip_prefix('-').unwrap_or(text);
    let mut matcher = TimespanMatcher {
        text: body.as_bytes(),
        segments: &format.segments,
        groups: Vec::new(),
        failed: vec![false; (body.len() + 1) * (format.segments.len() + 1)],
    };
    if !matcher.matches(0, 0) {
        return Err(refused());
    }
    let mut nanos: i128 = 0;
    for (field, group) in matcher.groups.iter().rev() {
        let digits = group.trim_ascii_start();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(refused());
        }
        let part = field_nanos(field, digits)?.ok_or_else(refused)?;
        nanos = nanos.checked_add(part).ok_or_else(refused)?;
    }
    let nanos = if text.starts_with('-') { -nanos } else { nanos };
    Timespan::from_nanos(nanos).ok_or_else(refused)
}

fn field_nanos(field: &SpanField, digits: &[u8]) -> Result<Option<i128>, TimeError> {
    let number = std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse::<i128>().ok());
    if !matches!(field.unit, TimespanUnit::Millis | TimespanUnit::Nanos) {
        return Ok(number.and_then(|number| number.checked_mul(field.unit.nanos())));
    }
    if field.total {
        return Err(TimeError::FractionAlone);
    }
    let missing = 9_usize.saturating_sub(digits.len());
    let scale = 10_i128.pow(u32::try_from(missing).unwrap_or(0));
    Ok(number.and_then(|number| number.checked_mul(scale)))
}

struct TimespanMatcher<'a> {
    text: &'a [u8],
    segments: &'a [SpanFormatSegment],
    /// The text matched by each field, the last field first.
    groups: Vec<(SpanField, &'a [u8])>,
    failed: Vec<bool>,
}

impl TimespanMatcher<'_> {
    fn matches(&mut self, segment: usize, at: usize) -> bool {
        let place = segment * (self.text.len() + 1) + at;
        if self.failed[place] {
            return false;
        }
        let found = self.matches_new(segment, at);
        self.failed[place] = !found;
        found
    }

    fn matches_new(&mut self, segment: usize, at: usize) -> bool {
        match self.segments.get(segment) {
            None => at == self.text.len(),
            Some(SpanFormatSegment::Literal(literal)) => {
                self.text[at..].starts_with(literal.as_bytes())
                    && self.matches(segment + 1, at + literal.len())
            }
            Some(SpanFormatSegment::Field(field)) => {
                let field = *field;
                let (least, most, spaces) = limits(&field);
                let mut start = at;
                if field.pad == SpanPadding::Space && field.width.is_none() && field.total {
                    start += count(&self.text[at..], |byte| byte.is_ascii_whitespace());
                }
                let fits =
                    |byte: &u8| byte.is_ascii_digit() || (spaces && byte.is_ascii_whitespace());
                let longest = count(&self.text[start..], fits).min(most);
                for length in (least..=longest).rev() {
                    if self.matches(segment + 1, start + length) {
                        let group = &self.text[start..start + length];
                        self.groups.push((field, group));
                        return true;
                    }
                }
                false
            }
        }
    }
}

fn count(text: &[u8], fits: impl Fn(&u8) -> bool) -> usize {
    text.iter().take_while(|byte| fits(byte)).count()
}

/// The minimum and maximum number of characters of a field, and true if they may be blanks.
fn limits(field: &SpanField) -> (usize, usize, bool) {
    match (field.width, field.pad) {
        (None, SpanPadding::None | SpanPadding::Zero) if field.total => (1, usize::MAX, false),
        (None, SpanPadding::None | SpanPadding::Zero) => (1, field.width_or_default(), false),
        (None, SpanPadding::Space) if field.total => (1, usize::MAX, false),
        (None, SpanPadding::Space) => (1, field.width_or_default(), true),
        (Some(width), SpanPadding::None) => (1, width, false),
        (Some(width), SpanPadding::Zero) => (width, width, false),
        (Some(width), SpanPadding::Space) => (width, width, true),
    }
}
