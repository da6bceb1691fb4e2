//! [`Page`]: which part of a list, and [`ordered`], in which order.

/// A part of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// At most so many; `None`: all.
    pub limit: Option<u64>,
    /// So many are left out at the begin.
    pub offset: u64,
}

impl Page {
    /// As both engines take it: SQLite knows no `LIMIT NULL`, PostgreSQL no `LIMIT -1`.
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

/// The statement of an order, upward or downward; that of the first for one that is not listed.
pub(crate) fn ordered<O: PartialEq, T: Copy, const N: usize>(
    pages: &[(O, T, T); N],
    by: O,
    descending: bool,
) -> T {
    let place = pages.iter().find(|(order, ..)| *order == by);
    let (_, upward, downward) = place.unwrap_or(&pages[0]);
    if descending { *downward } else { *upward }
}
