//! Durations in seconds: jobs carry them as text (`"256.0"`), nodes as numbers.
//!
//! Both forms are accepted when reading, since existing servers differ.

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserializer, Serializer};

/// For `#[serde(with = "decimal::text")]`: written as text.
pub mod text {
    use super::{Deserializer, Serializer, read};

    /// Writes `256.0` as `"256.0"`.
    pub fn serialize<S: Serializer>(seconds: &Option<f64>, writer: S) -> Result<S::Ok, S::Error> {
        match seconds {
            Some(seconds) => writer.collect_str(&format_args!("{seconds:?}")),
            None => writer.serialize_none(),
        }
    }

    /// Reads text, a number or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<f64>, D::Error> {
        read(reader)
    }
}

/// For `#[serde(with = "decimal::number")]`: written as a number.
pub mod number {
    use super::{Deserializer, Serializer, read};

    /// Writes the seconds as a number.
    pub fn serialize<S: Serializer>(seconds: &Option<f64>, writer: S) -> Result<S::Ok, S::Error> {
        match seconds {
            Some(seconds) => writer.serialize_f64(*seconds),
            None => writer.serialize_none(),
        }
    }

    /// Reads text, a number or null.
    pub fn deserialize<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<f64>, D::Error> {
        read(reader)
    }
}

fn read<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<f64>, D::Error> {
    reader.deserialize_any(Seconds)
}

struct Seconds;

impl Visitor<'_> for Seconds {
    type Value = Option<f64>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("seconds, as a number or as text")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Self::Value, E> {
        Ok(Some(seconds))
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<Self::Value, E> {
        Ok(Some(seconds as f64))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Self::Value, E> {
        Ok(Some(seconds as f64))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let invalid = || E::invalid_value(Unexpected::Str(text), &self);
        text.parse().map(Some).map_err(|_| invalid())
    }
}
