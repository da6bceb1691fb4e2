//! How an action ended: [`End`].
//!
//! The rule: what nobody can know is said to be unknown.

use std::fmt::Display;
use std::io;

use super::outcome::not_known;
use crate::process::ExitRecord;
use crate::spool::{Entry, Record, Status};

/// How an action ended.
#[derive(Debug)]
pub(super) enum End {
    Exit(ExitRecord),
    /// Nobody can know; why, by [`End::undetermined`].
    Undetermined(String),
}

impl End {
    /// An end that nobody can know, for this reason.
    pub(super) fn undetermined(why: impl Display) -> Self {
        Self::Undetermined(not_known(why))
    }

    /// How a finished transaction ended, by its entry; `None` while it has not.
    pub(super) fn read(entry: &Entry, record: &Record) -> io::Result<Option<Self>> {
        if let Some(exit) = entry.exit()? {
            return Ok(Some(Self::Exit(exit)));
        }
        if record.status == Status::Undetermined {
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
