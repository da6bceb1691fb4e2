//! The end of an action: [`ActionEnd`].
//!
//! Invariant: an end that cannot be determined is reported as unknown.

use std::fmt::Display;
use std::io;

use super::outcome::unknown_outcome_text;
use crate::process::{ExitRecord, boot_id as boot_id_now};
use crate::spool::{ClockReading, RecordStatus, SpoolEntry, TransactionRecord};

const RESTARTED: &str = "the machine was restarted while the action ran";

/// The way in which an action ended.
#[derive(Debug)]
pub(super) enum ActionEnd {
    Exit(ExitRecord),
    /// The end cannot be determined; built by [`ActionEnd::undetermined`] from the reason.
    Undetermined(String),
}

impl ActionEnd {
    /// An end that cannot be determined, for this reason.
    pub(super) fn undetermined(why: impl Display) -> Self {
        Self::Undetermined(unknown_outcome_text(why))
    }

    /// The end of an action whose agent and wrapper are gone and left no exit record.
    pub(super) fn unrecorded(same_boot: bool) -> Self {
        Self::undetermined(if same_boot {
            "the agent and the process that supervised the action ended without recording it"
        } else {
            RESTARTED
        })
    }

    /// The end of an action one of whose files in the spool cannot be read. If the machine was
    /// restarted since the action ran, the restart is given as the reason.
    pub(super) fn unreadable(same_boot: bool, file: &str, error: &io::Error) -> Self {
        Self::undetermined(describe_unreadable_file(same_boot, file, error))
    }

    /// The end of a finished transaction, read from its entry; `None` if it has not ended.
    pub(super) fn read(entry: &SpoolEntry, record: &TransactionRecord) -> io::Result<Option<Self>> {
        match entry.exit() {
            Ok(Some(exit)) => return Ok(Some(Self::Exit(exit))),
            Ok(None) => {}
            Err(error) if is_damaged(&error) => {
                let boot_id = record.tutti.as_ref().map(|tutti| tutti.boot_id.as_str());
                let same_boot = boot_id.is_some_and(|id| boot_id_now().is_ok_and(|now| now == id));
                return Ok(Some(Self::unreadable(same_boot, "exit record", &error)));
            }
            Err(error) => return Err(error),
        }
        if record.status == RecordStatus::Undetermined {
            let why = record.execution_error.clone();
            let why = why.unwrap_or_else(|| "its record does not say why".to_owned());
            return Ok(Some(Self::undetermined(why)));
        }
        if record.tutti.is_none() {
            return Ok(entry.foreign_exit()?.map(Self::Exit));
        }
        Ok(None)
    }
}

/// Reason for which the end of an action with an unreadable record is not known. In this case only
/// the last change of its entry shows if the machine was restarted since.
pub(super) fn describe_unreadable_record(entry: &SpoolEntry, error: &io::Error) -> String {
    let same_boot = ClockReading::read().is_ok_and(|now| entry.is_of_this_boot(&now));
    unknown_outcome_text(describe_unreadable_file(same_boot, "record", error))
}

fn describe_unreadable_file(same_boot: bool, file: &str, error: &io::Error) -> String {
    if same_boot {
        format!("its {file} in the spool is unreadable: {error}")
    } else {
        RESTARTED.to_owned()
    }
}

/// True if a file of the spool was read and its content is invalid, as after a power cut. Other
/// errors may pass by themselves.
pub(super) fn is_damaged(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
    )
}
