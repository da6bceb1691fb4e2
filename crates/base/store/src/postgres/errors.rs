//! Classification of PostgreSQL's errors.

use std::sync::Arc;

use deadpool_postgres::PoolError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::session::SessionError;
use crate::StoreError;

/// True if the connection is lost, or the server is about to end it, or the transaction lost
/// against another one: in each case a retry on a new connection may succeed.
fn is_lost(error: &Error) -> bool {
    let Some(state) = error.code() else {
        // An error without a code comes from the connection and not from the server, except for
        // values that cannot be encoded and rows that cannot be read.
        return error.is_closed() || std::error::Error::source(error).is_some_and(is_io);
    };
    [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        // This process paused inside a transaction, so the server ended its session.
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        SqlState::IDLE_SESSION_TIMEOUT,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
        // A standby, or a primary that became one.
        SqlState::READ_ONLY_SQL_TRANSACTION,
    ]
    .contains(state)
        || state.code().starts_with("08")
}

impl SessionError {
    /// True if the connection is lost; see [`is_lost`].
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Engine(error) => is_lost(error),
            Self::Silent(_) => true,
        }
    }
}

fn is_io(source: &(dyn std::error::Error + 'static)) -> bool {
    source.is::<std::io::Error>()
}

fn from_engine(error: Error) -> StoreError {
    if is_lost(&error) {
        return StoreError::Unavailable(Arc::new(error));
    }
    match error.code() {
        Some(state) if is_temporary(state) => StoreError::Unavailable(Arc::new(error)),
        Some(state) if *state == SqlState::DISK_FULL => StoreError::DiskFull(Arc::new(error)),
        Some(state) if state.code().starts_with("XX") => StoreError::Corrupt(Arc::new(error)),
        _ => StoreError::Refused(Arc::new(error)),
    }
}

pub(crate) fn from_session(error: SessionError) -> StoreError {
    match error {
        SessionError::Engine(error) => from_engine(error),
        silent @ SessionError::Silent(_) => StoreError::Unavailable(Arc::new(silent)),
    }
}

/// True if the refusal is due to the state of the server and not to the statement.
fn is_temporary(state: &SqlState) -> bool {
    [
        SqlState::QUERY_CANCELED,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::INSUFFICIENT_RESOURCES,
        SqlState::OUT_OF_MEMORY,
        SqlState::TOO_MANY_CONNECTIONS,
    ]
    .contains(state)
}

pub(crate) fn from_pool(error: PoolError) -> StoreError {
    match error {
        PoolError::Closed => StoreError::Closed,
        other => StoreError::Unavailable(Arc::new(other)),
    }
}
