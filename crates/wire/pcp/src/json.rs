//! Parsing of one flat JSON object with a closed schema, with precise errors and without copies.
//!
//! [`parse_object`] passes each key with its raw value to a callback; the helpers parse raw values
//! and name the key in their errors. Invariant: a value is scanned once here, and its text is
//! borrowed unless it has escapes.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::defaults::{MAX_JSON_DEPTH, MAX_MESSAGE_TYPE_BYTES};
use crate::{MessageId, PcpDecodeError, UriRef};

/// Calls `each` for every entry of the object in `text`. The callback must detect duplicate keys.
pub(crate) fn parse_object<'a>(
    text: &'a str,
    each: impl FnMut(&str, &'a RawValue) -> Result<(), PcpDecodeError>,
) -> Result<(), PcpDecodeError> {
    let mut cause = None;
    let mut reader = serde_json::Deserializer::from_str(text);
    reader
        .deserialize_map(ObjectEntries {
            each,
            cause: &mut cause,
        })
        .and_then(|()| reader.end())
        .map_err(|error| {
            cause.take().unwrap_or(if error.is_data() {
                PcpDecodeError::NotObject
            } else {
                PcpDecodeError::NotJson {
                    line: error.line(),
                    column: error.column(),
                }
            })
        })
}

struct ObjectEntries<'c, F> {
    each: F,
    /// Returns the precise cause, which serde's error type cannot hold.
    cause: &'c mut Option<PcpDecodeError>,
}

impl<'de, F> Visitor<'de> for ObjectEntries<'_, F>
where
    F: FnMut(&str, &'de RawValue) -> Result<(), PcpDecodeError>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some((key, value)) = map.next_entry::<ObjectKey<'de>, &'de RawValue>()? {
            if let Err(error) = (self.each)(&key.0, value) {
                *self.cause = Some(error);
                return Err(A::Error::custom("refused"));
            }
        }
        Ok(())
    }
}

/// An object key; serde's own `Cow` would always copy it.
#[derive(serde::Deserialize)]
#[serde(transparent)]
struct ObjectKey<'a>(#[serde(borrow)] Cow<'a, str>);

/// Stores the first value of a key and refuses a second one.
pub(crate) fn set_once<T>(
    slot: &mut Option<T>,
    key: &'static str,
    value: T,
) -> Result<(), PcpDecodeError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(PcpDecodeError::DuplicateKey(key)),
    }
}

pub(crate) fn parse_string<'a>(
    key: &'static str,
    raw: &'a RawValue,
) -> Result<Cow<'a, str>, PcpDecodeError> {
    let wrong = PcpDecodeError::WrongType {
        key,
        expected: "a string",
    };
    let text = raw.get();
    match text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        None => Err(wrong),
        // Without escapes, the text between the quotes is the value; the scanner has already
        // refused control characters.
        Some(inner) if !inner.contains('\\') => Ok(Cow::Borrowed(inner)),
        Some(_) => serde_json::from_str(text)
            .map(Cow::Owned)
            .map_err(|_| wrong),
    }
}

pub(crate) fn parse_message_type<'a>(raw: &'a RawValue) -> Result<Cow<'a, str>, PcpDecodeError> {
    let text = parse_string("message_type", raw)?;
    if text.is_empty() || text.len() > MAX_MESSAGE_TYPE_BYTES {
        return Err(PcpDecodeError::MessageTypeLength(text.len()));
    }
    Ok(text)
}

pub(crate) fn parse_message_id(
    key: &'static str,
    raw: &RawValue,
) -> Result<MessageId, PcpDecodeError> {
    parse_string(key, raw)?
        .parse()
        .map_err(|problem| PcpDecodeError::Id { key, problem })
}

pub(crate) fn parse_uri<'a>(
    key: &'static str,
    raw: &'a RawValue,
) -> Result<UriRef<'a>, PcpDecodeError> {
    UriRef::parse(parse_string(key, raw)?).map_err(|problem| PcpDecodeError::Uri { key, problem })
}

pub(crate) fn parse_boolean(key: &'static str, raw: &RawValue) -> Result<bool, PcpDecodeError> {
    let wrong = || PcpDecodeError::WrongType {
        key,
        expected: "true or false",
    };
    serde_json::from_str(raw.get()).map_err(|_| wrong())
}

/// Refuses JSON that is nested too deeply. `serde_json` skips raw values without recursion, so its
/// own limit does not apply to them. `text` must be JSON.
pub(crate) fn check_depth(text: &str) -> Result<(), PcpDecodeError> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                if depth > MAX_JSON_DEPTH {
                    return Err(PcpDecodeError::TooDeep);
                }
            }
            b'}' | b']' if !in_string => depth -= 1,
            _ => {}
        }
    }
    Ok(())
}
