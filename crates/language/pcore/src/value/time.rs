//! Points in time and durations, to the nanosecond. Main types: [`PuppetTimestamp`], [`Timespan`].
//!
//! Invariant: a time is stored exactly; it is converted to seconds as a float only on request.

/// Nanoseconds per second.
pub(crate) const NANOS_PER_SECOND: i128 = 1_000_000_000;

/// A number of nanoseconds, in 16 bytes at an alignment of 8 so that a value stays small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PackedNanoseconds {
    seconds: i64,
    nanos: u32,
}

impl PackedNanoseconds {
    /// `None` if the seconds do not fit into 64 bits.
    fn new(nanos: i128) -> Option<Self> {
        Some(Self {
            seconds: nanos.div_euclid(NANOS_PER_SECOND).try_into().ok()?,
            nanos: nanos.rem_euclid(NANOS_PER_SECOND).try_into().ok()?,
        })
    }

    fn total(self) -> i128 {
        i128::from(self.seconds) * NANOS_PER_SECOND + i128::from(self.nanos)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a float of seconds is asked for"
    )]
    fn as_float(self) -> f64 {
        self.total() as f64 / NANOS_PER_SECOND as f64
    }
}

/// A point in time: nanoseconds since 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PuppetTimestamp(pub(super) PackedNanoseconds);

impl PuppetTimestamp {
    /// `None` if the seconds do not fit into 64 bits.
    #[must_use]
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        PackedNanoseconds::new(nanos).map(Self)
    }

    #[must_use]
    pub fn nanos(self) -> i128 {
        self.0.total()
    }

    /// Whole seconds, rounded towards negative infinity.
    #[must_use]
    pub fn whole_seconds(self) -> i64 {
        self.0.seconds
    }

    /// Seconds with their fraction, rounded to a float.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0.as_float()
    }
}

/// A duration in nanoseconds; it may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timespan(pub(super) PackedNanoseconds);

impl Timespan {
    /// `None` if the seconds do not fit into 64 bits.
    #[must_use]
    pub fn from_nanos(nanos: i128) -> Option<Self> {
        PackedNanoseconds::new(nanos).map(Self)
    }

    #[must_use]
    pub fn nanos(self) -> i128 {
        self.0.total()
    }

    /// Whole seconds, rounded towards negative infinity.
    #[must_use]
    pub fn whole_seconds(self) -> i64 {
        self.0.seconds
    }

    /// Seconds with their fraction, rounded to a float.
    #[must_use]
    pub fn seconds(self) -> f64 {
        self.0.as_float()
    }
}
