//! Time zones as offsets from UTC: `+01:00`, `UTC+2`, `EST`. Main function: [`offset_seconds`].

use super::TimeError;

/// The zone names that Ruby knows, with their offsets in hours.
const NAMES: &[(&str, f64)] = &[
    ("utc", 0.0),
    ("gmt", 0.0),
    ("z", 0.0),
    ("ut", 0.0),
    ("wet", 0.0),
    ("est", -5.0),
    ("edt", -4.0),
    ("cst", -6.0),
    ("cdt", -5.0),
    ("mst", -7.0),
    ("mdt", -6.0),
    ("pst", -8.0),
    ("pdt", -7.0),
    ("akst", -9.0),
    ("akdt", -8.0),
    ("hst", -10.0),
    ("hdt", -9.0),
    ("ast", -4.0),
    ("adt", -3.0),
    ("nst", -3.5),
    ("ndt", -2.5),
    ("brt", -3.0),
    ("brst", -2.0),
    ("art", -3.0),
    ("clt", -4.0),
    ("clst", -3.0),
    ("bst", 1.0),
    ("ist", 5.5),
    ("cet", 1.0),
    ("cest", 2.0),
    ("met", 1.0),
    ("mest", 2.0),
    ("mez", 1.0),
    ("mesz", 2.0),
    ("mewt", 1.0),
    ("west", 1.0),
    ("wat", 1.0),
    ("swt", 1.0),
    ("fwt", 1.0),
    ("fst", 2.0),
    ("sst", 2.0),
    ("sast", 2.0),
    ("eet", 2.0),
    ("eest", 3.0),
    ("eat", 3.0),
    ("msk", 3.0),
    ("msd", 4.0),
    ("bt", 3.0),
    ("zp4", 4.0),
    ("zp5", 5.0),
    ("zp6", 6.0),
    ("cct", 6.5),
    ("wast", 2.0),
    ("wadt", 8.0),
    ("awst", 8.0),
    ("jst", 9.0),
    ("kst", 9.0),
    ("acst", 9.5),
    ("acdt", 10.5),
    ("aest", 10.0),
    ("aedt", 11.0),
    ("east", 10.0),
    ("eadt", 11.0),
    ("gst", 10.0),
    ("nzt", 12.0),
    ("nzst", 12.0),
    ("nzdt", 13.0),
    ("idle", 12.0),
    ("idlw", -12.0),
    ("nt", -11.0),
    ("cat", -10.0),
    ("ahst", -10.0),
    ("yst", -9.0),
    ("ydt", -8.0),
    ("at", -2.0),
];

/// The offset in seconds of a zone that a user gave; `current` is UTC, since nothing here reads the
/// machine's zone.
pub(super) fn offset_seconds(zone: &str) -> Result<i64, TimeError> {
    if zone.eq_ignore_ascii_case("current") {
        return Ok(0);
    }
    let (length, offset) = scan(zone).ok_or_else(|| TimeError::BadZone(zone.to_owned()))?;
    if length == 0 {
        return Err(TimeError::BadZone(zone.to_owned()));
    }
    offset.ok_or_else(|| TimeError::BadZone(zone.to_owned()))
}

/// Parses a zone at the start of a text: its length, and its offset if the zone is known.
pub(super) fn scan(text: &str) -> Option<(usize, Option<i64>)> {
    let lower = text.to_ascii_lowercase();
    let after_name = ["utc", "gmt"]
        .iter()
        .find(|name| lower.starts_with(**name))
        .map_or(0, |name| name.len());
    if let Some(length) = numeric_length(&text[after_name..]) {
        let offset = numeric_offset(&text[after_name..after_name + length]);
        return Some((after_name + length, offset));
    }
    let letters = text
        .bytes()
        .take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'.')
        .count();
    if letters == 0 {
        return None;
    }
    let name = &lower[..letters];
    Some((letters, named_offset(name)))
}

fn named_offset(name: &str) -> Option<i64> {
    if let [letter @ b'a'..=b'z'] = name.as_bytes() {
        return military(*letter).map(|hours| hours * 3_600);
    }
    NAMES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, hours)| {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the table holds halves of hours"
            )]
            let seconds = (hours * 3_600.0) as i64;
            seconds
        })
}

/// The offsets of the military zones in hours; `j` is not one of them.
fn military(letter: u8) -> Option<i64> {
    let place = i64::from(letter);
    match letter {
        b'a'..=b'i' => Some(place - i64::from(b'a') + 1),
        b'k'..=b'm' => Some(place - i64::from(b'k') + 10),
        b'n'..=b'y' => Some(i64::from(b'n') - place - 1),
        b'z' => Some(0),
        _ => None,
    }
}

/// `+1`, `+01`, `+0100`, `+01:00`, `+01:00:00`.
fn numeric_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if !matches!(bytes.first(), Some(b'+' | b'-')) {
        return None;
    }
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let mut end = 1 + digits(1);
    if end == 1 {
        return None;
    }
    for _ in 0..2 {
        if bytes.get(end) == Some(&b':') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
    }
    Some(end)
}

fn numeric_offset(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let body = &text[1..];
    let parts: Vec<i64> = if body.contains(':') {
        body.split(':')
            .map(|part| part.parse().ok())
            .collect::<Option<_>>()?
    } else {
        // with an odd number of digits, the hours have one
        let lead = if body.len() % 2 == 1 { 1 } else { 2 };
        let mut parts = vec![body.get(..lead)?.parse().ok()?];
        let mut rest = &body[lead..];
        while rest.len() >= 2 && parts.len() < 3 {
            parts.push(rest[..2].parse().ok()?);
            rest = &rest[2..];
        }
        parts
    };
    let part = |index: usize| parts.get(index).copied().unwrap_or(0);
    Some(sign * (part(0) * 3_600 + part(1) * 60 + part(2)))
}
