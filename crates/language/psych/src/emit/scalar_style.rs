//! The style of a scalar: [`scalar`].
//!
//! First comes the style that Psych requests, by the look of the text; a text that cannot be
//! written in that style is quoted more strongly.

use std::borrow::Cow;
use std::sync::Arc;

use crate::scalar::{AllowedClasses, parse_plain};
use crate::{YamlTime, YamlValue};

use super::analysis::ScalarAnalysis;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmittedStyle {
    Plain,
    Single,
    Double,
    Literal,
    Folded,
}

/// A scalar in the style that Psych requests.
#[derive(Debug)]
pub(super) struct StyledScalar<'v> {
    pub(super) text: Cow<'v, str>,
    pub(super) style: EmittedStyle,
    pub(super) tag: Option<&'static str>,
    /// True if it is read as the same value in quotes.
    quotable: bool,
}

impl<'v> StyledScalar<'v> {
    fn new(text: impl Into<Cow<'v, str>>, style: EmittedStyle) -> Self {
        Self {
            text: text.into(),
            style,
            tag: None,
            quotable: true,
        }
    }

    /// A text that has its meaning only without quotes.
    fn bare(text: impl Into<Cow<'v, str>>) -> Self {
        Self {
            quotable: false,
            ..Self::new(text, EmittedStyle::Plain)
        }
    }

    /// Changes the style to one that this text can have here.
    pub(super) fn choose_style(&mut self, analysis: ScalarAnalysis, is_simple_key: bool) {
        if is_simple_key && analysis.multiline {
            self.style = EmittedStyle::Double;
        }
        if self.style == EmittedStyle::Plain
            && (!analysis.plain || (self.text.is_empty() && is_simple_key))
        {
            self.style = EmittedStyle::Single;
        }
        if self.style == EmittedStyle::Single && !analysis.single_quoted {
            self.style = EmittedStyle::Double;
        }
        if matches!(self.style, EmittedStyle::Literal | EmittedStyle::Folded)
            && (!analysis.block || is_simple_key)
        {
            self.style = EmittedStyle::Double;
        }
        if !self.quotable && self.tag.is_none() && self.style != EmittedStyle::Plain {
            self.tag = Some("!");
        }
    }
}

/// The scalar for a value; `None` for a collection.
pub(super) fn scalar(value: &YamlValue, fold_above: Option<usize>) -> Option<StyledScalar<'_>> {
    Some(match value {
        YamlValue::Null => StyledScalar::bare(""),
        YamlValue::Bool(flag) => StyledScalar::bare(flag.to_string()),
        YamlValue::Integer(number) => StyledScalar::bare(number.to_string()),
        YamlValue::BigInteger(digits) => StyledScalar::bare(&**digits),
        YamlValue::Float(number) => StyledScalar::bare(float(*number)),
        YamlValue::Symbol(name) => StyledScalar::bare(format!(":{name}")),
        YamlValue::Date(date) => StyledScalar::bare(format!(
            "{:04}-{:02}-{:02}",
            date.year, date.month, date.day
        )),
        YamlValue::Time(time) => StyledScalar::bare(moment(*time)),
        YamlValue::String(text) => string(text, fold_above),
        YamlValue::Binary(bytes) => StyledScalar {
            tag: Some("!binary"),
            ..StyledScalar::new(base64(bytes), EmittedStyle::Literal)
        },
        YamlValue::Sequence(_) | YamlValue::Mapping(_) => return None,
    })
}

fn string(text: &Arc<str>, fold_above: Option<usize>) -> StyledScalar<'_> {
    if text.as_ref() == "<<" {
        return StyledScalar {
            tag: Some("!!str"),
            ..StyledScalar::new(&**text, EmittedStyle::Single)
        };
    }
    let style = if has_inner_break(text) {
        EmittedStyle::Literal
    } else if matches!(text.as_ref(), "y" | "n") {
        EmittedStyle::Double
    } else if fold_above.is_some_and(|limit| text.chars().count() > limit) {
        EmittedStyle::Folded
    } else if has_line_of_signs(text) {
        EmittedStyle::Double
    } else if !is_string(text) || looks_octal(text) {
        EmittedStyle::Single
    } else {
        EmittedStyle::Plain
    };
    StyledScalar::new(&**text, style)
}

/// True if a line break is followed by more than one other at the end.
fn has_inner_break(text: &str) -> bool {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text).contains('\n')
}

/// True if a line begins with neither a letter nor a digit and has no `"` after that.
fn has_line_of_signs(text: &str) -> bool {
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    starts.into_iter().any(|start| {
        let mut letters = text[start..].chars();
        let Some(first) = letters.next() else {
            return false;
        };
        let rest = letters.as_str();
        let line = rest.split('\n').next().unwrap_or(rest);
        !(first.is_alphanumeric() || first == '_' || line.contains('"'))
    })
}

/// True if it is read as a text without quotes.
fn is_string(text: &str) -> bool {
    let allowed = AllowedClasses {
        symbols: true,
        times: true,
    };
    matches!(parse_plain(text, allowed), Ok(YamlValue::String(_)))
}

/// True for texts such as `08`: not a number, but other readers may treat it as one.
fn looks_octal(text: &str) -> bool {
    let Some(digits) = text.strip_prefix('0') else {
        return false;
    };
    digits
        .trim_start_matches(|c: char| ('0'..='7').contains(&c))
        .starts_with(['8', '9'])
}

/// The float as Ruby prints it; YAML's words for infinity and not-a-number.
fn float(number: f64) -> String {
    if number.is_nan() {
        return ".nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if number == 0.0 || (-4..16).contains(&exponent) {
        return format!("{number:?}");
    }
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}{point}e{sign}{:02}", exponent.abs())
}

/// A time in its original time zone.
fn moment(time: YamlTime) -> String {
    const DAY: i64 = 86_400;
    let local = time.seconds + i64::from(time.offset_seconds.unwrap_or_default());
    let (day, second) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    // days of eras of 400 years that begin on the first of March
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let zone = match time.offset_seconds {
        None => "Z".to_owned(),
        Some(offset) => {
            let sign = if offset < 0 { '-' } else { '+' };
            let minutes = offset.unsigned_abs() / 60;
            format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
    };
    format!(
        "{year:04}-{month:02}-{:02} {:02}:{:02}:{:02}.{:09} {zone}",
        day_of_year - (153 * from_march + 2) / 5 + 1,
        second / 3_600,
        second / 60 % 60,
        second % 60,
        time.nanoseconds,
    )
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group
            .iter()
            .chain([&0, &0])
            .take(3)
            .fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for digit in 0..4 {
            if digit <= group.len() {
                text.push(char::from(DIGITS[bits >> (18 - 6 * digit) & 63]));
            } else {
                text.push('=');
            }
        }
    }
    text
}
