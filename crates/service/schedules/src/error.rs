//! Errors of commands for schedules: [`ScheduleError`].

use crate::defaults::{SCHEDULE_BYTES, SCHEDULES_OF_OWNER};
use crate::timetable::TimetableError;
use pki::seal::UnsealError;
use store::StoreError;

/// A schedule could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ScheduleError {
    /// No schedule has this number.
    #[error("there is no scheduled job {0}; `tutti schedule list` shows those there are")]
    Unknown(i64),
    /// The schedule with this number was deleted.
    #[error("the scheduled job {0} is deleted; make a new one")]
    Disabled(i64),
    /// The owner has as many as are allowed.
    #[error(
        "a user has {SCHEDULES_OF_OWNER} scheduled jobs at most; delete some with `tutti schedule delete`"
    )]
    TooMany,
    /// Input, secrets and userdata have this many bytes.
    #[error(
        "input and userdata of the scheduled job have {0} bytes, and may have {SCHEDULE_BYTES}; put large values \
         into the code of the environment"
    )]
    TooLarge(usize),
    /// The timetable is invalid.
    #[error(transparent)]
    Timetable(#[from] TimetableError),
    /// The schedule was edited by another client in the meantime.
    #[error(
        "the scheduled job {0} was edited by another client at the same time; look at it again"
    )]
    Edited(i64),
    /// The JSON in the row is invalid.
    #[error("the row of the scheduled job is not of this version")]
    Row(#[from] decode_errors::DecodeError),
    /// A value in the row is unknown to this version.
    #[error("the row of the scheduled job has a type that this version does not know")]
    Unreadable,
    /// The sealed secrets cannot be opened.
    #[error("the secrets of the scheduled job cannot be opened")]
    Seal(#[from] UnsealError),
    /// The store could not be read or written.
    #[error("cannot read or write scheduled jobs")]
    Store(#[from] StoreError),
}
