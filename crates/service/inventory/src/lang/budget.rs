//! Limits on the expensive parts of one query: [`QueryBudget`].

use std::cell::Cell;

use crate::defaults::{MAX_REGEXES, MAX_SELECTS};

/// Counts of the expensive parts of one query.
#[derive(Debug, Default)]
pub(super) struct QueryBudget {
    regexes: Cell<usize>,
    selects: Cell<usize>,
}

impl QueryBudget {
    /// Counts one more regular expression.
    pub(super) fn count_regex(&self) -> Result<(), String> {
        match self.regexes.replace(self.regexes.get() + 1) {
            MAX_REGEXES.. => Err(format!(
                "a query has at most {MAX_REGEXES} regular expressions; join them with |"
            )),
            _ => Ok(()),
        }
    }

    /// Counts one more subquery.
    pub(super) fn count_subquery(&self) -> Result<(), String> {
        match self.selects.replace(self.selects.get() + 1) {
            MAX_SELECTS.. => Err(format!("a query has at most {MAX_SELECTS} queries inside")),
            _ => Ok(()),
        }
    }
}
