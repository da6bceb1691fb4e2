//! Parts of lists, [`Page`], and their order, [`ordered`].

/// A part of a list, by offset and limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Largest number of items; `None`: all.
    pub limit: Option<u64>,
    /// Number of items skipped at the start.
    pub offset: u64,
}

impl Page {
    /// The limit in a form for both engines: SQLite has no `LIMIT NULL`, PostgreSQL no `LIMIT -1`.
    pub(crate) fn limit_column(self) -> i64 {
        self.limit.map_or(i64::MAX, clamp)
    }

    pub(crate) fn offset_column(self) -> i64 {
        clamp(self.offset)
    }
}

pub(crate) fn clamp(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The statement of an order, ascending or descending; for an order that is not listed, that of the
/// first.
pub(crate) fn ordered<O: PartialEq, T: Copy, const N: usize>(
    pages: &[(O, T, T); N],
    by: O,
    descending: bool,
) -> T {
    let place = pages.iter().find(|(order, ..)| *order == by);
    let (_, upward, downward) = place.unwrap_or(&pages[0]);
    if descending { *downward } else { *upward }
}
