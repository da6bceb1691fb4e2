//! Parts of lists, [`ListPage`], and their order, [`ordered_statement`].

/// A part of a list, by offset and limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Largest number of items; `None`: all.
    pub limit: Option<u64>,
    /// Number of items skipped at the start.
    pub offset: u64,
}

impl ListPage {
    /// The limit in a form for both engines: SQLite has no `LIMIT NULL`, PostgreSQL no `LIMIT -1`.
    pub(crate) fn limit_column(self) -> i64 {
        self.limit.map_or(i64::MAX, to_sql_count)
    }

    pub(crate) fn offset_column(self) -> i64 {
        to_sql_count(self.offset)
    }
}

pub(crate) fn to_sql_count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The statement of an order, ascending or descending; for an order that is not listed, that of the
/// first.
pub(crate) fn ordered_statement<O: PartialEq, T: Copy, const N: usize>(
    pages: &[(O, T, T); N],
    by: O,
    descending: bool,
) -> T {
    let place = pages.iter().find(|(order, ..)| *order == by);
    let (_, upward, downward) = place.unwrap_or(&pages[0]);
    if descending { *downward } else { *upward }
}
