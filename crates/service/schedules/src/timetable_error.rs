//! Reasons that a timetable is refused: [`TimetableError`].

/// The timetable is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimetableError {
    /// The first slot is in the past.
    #[error("start_time is in the past; give a time to come")]
    Past,
    /// The end, the blackouts or the rule leave no slot.
    #[error(
        "this schedule never starts anything: no slot is left before its end and outside of its blackouts"
    )]
    Never,
    /// The time zone is unknown.
    #[error(
        "{place}: {name:?} is not a time zone that this server knows; give an IANA name such as Europe/Berlin"
    )]
    Zone {
        /// Key of the invalid value.
        place: &'static str,
        /// The name as given, truncated.
        name: String,
    },
    /// Another value is invalid.
    #[error("{place}: {what}")]
    Invalid {
        /// Key of the invalid value.
        place: &'static str,
        /// Description of the defect.
        what: String,
    },
}

impl TimetableError {
    pub(crate) fn invalid(place: &'static str, what: impl Into<String>) -> Self {
        let what = what.into();
        Self::Invalid { place, what }
    }
}
