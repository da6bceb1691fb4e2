//! [`Page`]: which part of a list.

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
