//! Certnames of a job's runs in some order, without results: [`RunFilter`].
//!
//! Invariant: a page by name or state is read from an index up to its end and nothing is sorted, so
//! that the last page of a long list is nearly as quick as the first. Therefore the queries of all
//! runs and of the runs in one state are separate texts, and the reverse order by state also
//! reverses the names.

use crate::page::{ListPage, ordered_statement};
use crate::runs::RunRow;
use crate::store::Store;
use crate::value::{SqlValue, values};
use crate::{JobNumber, StoreError};

/// Order of runs; ties are broken by certname.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunListOrder {
    /// By the certname of the node.
    #[default]
    Certname,
    /// By duration; runs that are not over come last.
    Duration,
    /// By the name of the state; the reverse order also reverses ties.
    State,
    /// By the time of the start.
    Started,
    /// By the time of the end.
    Finished,
}

/// Filter of the runs of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// State of the runs; `None`: all states.
    pub state: Option<String>,
    /// Order of the list.
    pub order_by: RunListOrder,
    /// True for the reverse order.
    pub descending: bool,
}

/// The statement for all runs, and the one for runs in one state.
type RunStatements = [&'static str; 2];

macro_rules! names {
    ($order:literal) => {
        [
            concat!(
                "SELECT certname FROM runs WHERE job = $1 ORDER BY ",
                $order,
                " LIMIT $2 OFFSET $3"
            ),
            concat!(
                "SELECT certname FROM runs WHERE job = $1 AND state = $4 ORDER BY ",
                $order,
                " LIMIT $2 OFFSET $3"
            ),
        ]
    };
}

/// The statements of each order, ascending and descending.
const NAMES: [(RunListOrder, RunStatements, RunStatements); 5] = [
    (
        RunListOrder::Certname,
        names!("certname"),
        names!("certname DESC"),
    ),
    (
        RunListOrder::Duration,
        names!("COALESCE(duration_ms, finished_ms - started_ms) NULLS LAST, certname"),
        names!("COALESCE(duration_ms, finished_ms - started_ms) DESC NULLS LAST, certname"),
    ),
    (
        RunListOrder::State,
        names!("state, certname"),
        names!("state DESC, certname DESC"),
    ),
    (
        RunListOrder::Started,
        names!("started_ms NULLS LAST, certname"),
        names!("started_ms DESC NULLS LAST, certname"),
    ),
    (
        RunListOrder::Finished,
        names!("finished_ms NULLS LAST, certname"),
        names!("finished_ms DESC NULLS LAST, certname"),
    ),
];

const COUNT: &str =
    "SELECT COUNT(*) FROM runs WHERE job = $1 AND (CAST($2 AS TEXT) IS NULL OR state = $2)";

pub(crate) const STATEMENTS: &[&str] = &{
    let mut texts = [COUNT; 1 + 4 * NAMES.len()];
    let mut at = 0;
    while at < NAMES.len() {
        let (_, ascending, descending) = NAMES[at];
        texts[1 + 4 * at] = ascending[0];
        texts[2 + 4 * at] = ascending[1];
        texts[3 + 4 * at] = descending[0];
        texts[4 + 4 * at] = descending[1];
        at += 1;
    }
    texts
};

// === impl Store ===

impl Store {
    /// One page of a job's runs and their number without paging. Results are included, so paging is
    /// advisable if they may be large.
    pub async fn runs(
        &self,
        job: JobNumber,
        filter: &RunFilter,
        page: ListPage,
    ) -> Result<(Vec<RunRow>, u64), StoreError> {
        let total = self.count(COUNT, values![job, filter.state]).await?;
        let names = self.run_names(job, filter, page).await?;
        let mut rows = Vec::with_capacity(names.len());
        for names in names.chunks(crate::defaults::RUNS_TOGETHER) {
            rows.extend(self.runs_named(job, names).await?);
        }
        Ok((rows, total))
    }

    /// The certnames of those runs, in the same order: for reading the results in portions with
    /// [`Store::runs_named`].
    pub async fn run_names(
        &self,
        job: JobNumber,
        filter: &RunFilter,
        page: ListPage,
    ) -> Result<Vec<String>, StoreError> {
        let mut values = values![job, page];
        values.extend(filter.state.as_deref().map(SqlValue::text));
        self.query(filter.sql(), values).await
    }
}

// === impl RunFilter ===

impl RunFilter {
    fn sql(&self) -> &'static str {
        let texts = ordered_statement(&NAMES, self.order_by, self.descending);
        texts[usize::from(self.state.is_some())]
    }
}
