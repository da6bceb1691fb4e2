//! Parts of lists, [`ListPage`], and their order, [`ordered_statement`].

use crate::value::{SqlValue, ToValues, to_sql_count};

/// A part of a list, by offset and limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Largest number of items; `None`: all.
    pub limit: Option<u64>,
    /// Number of items skipped at the start.
    pub offset: u64,
}

/// Limit and offset, in a form for both engines: SQLite has no `LIMIT NULL`, PostgreSQL no
/// `LIMIT -1`.
impl<'a> ToValues<'a> for ListPage {
    fn add_to(self, values: &mut Vec<SqlValue<'a>>) {
        let limit = self.limit.map_or(i64::MAX, to_sql_count);
        values.extend([limit, to_sql_count(self.offset)].map(SqlValue::Int));
    }
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
