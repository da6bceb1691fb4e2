//! Time formats of the API: seconds for jobs and events, milliseconds for the inventory.

use std::fmt;

use jiff::Timestamp as Instant;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use utoipa::ToSchema;

/// `YYYY-MM-DDTHH:MM:SSZ`, UTC; any RFC 3339 time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-21T08:30:00Z")]
pub struct Timestamp(pub Instant);

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, UTC; any RFC 3339 time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, format = DateTime, example = "2026-11-21T08:30:00.641Z")]
pub struct PreciseTimestamp(pub Instant);

macro_rules! wire_form {
    ($name:ident, $format:literal) => {
        impl $name {
            /// From milliseconds since the epoch; times outside of the years -9999 to 9999 are
            /// drawn to the nearest end.
            pub fn from_ms(ms: i64) -> Self {
                let end = if ms < 0 { Instant::MIN } else { Instant::MAX };
                Self(Instant::from_millisecond(ms).unwrap_or(end))
            }

            /// Milliseconds since the epoch.
            pub fn as_ms(self) -> i64 {
                self.0.as_millisecond()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0.strftime($format))
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, writer: S) -> Result<S::Ok, S::Error> {
                writer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
                Instant::deserialize(reader).map(Self)
            }
        }
    };
}

wire_form!(Timestamp, "%Y-%m-%dT%H:%M:%SZ");
wire_form!(PreciseTimestamp, "%Y-%m-%dT%H:%M:%S.%3fZ");
