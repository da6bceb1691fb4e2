//! What one query may cost to read: [`Budget`] counts the parts that are dear.

use std::cell::Cell;

use crate::defaults::{MAX_REGEXES, MAX_SELECTS};

/// Counts of one query.
#[derive(Debug, Default)]
pub(super) struct Budget {
    regexes: Cell<usize>,
    selects: Cell<usize>,
}

impl Budget {
    /// One more regular expression.
    pub(super) fn regex(&self) -> Result<(), String> {
        match self.regexes.replace(self.regexes.get() + 1) {
            MAX_REGEXES.. => Err(format!(
                "a query has at most {MAX_REGEXES} regular expressions; join them with |"
            )),
            _ => Ok(()),
        }
    }

    /// One more query inside.
    pub(super) fn select(&self) -> Result<(), String> {
        match self.selects.replace(self.selects.get() + 1) {
            MAX_SELECTS.. => Err(format!("a query has at most {MAX_SELECTS} queries inside")),
            _ => Ok(()),
        }
    }
}
