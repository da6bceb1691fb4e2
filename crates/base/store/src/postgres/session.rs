//! Settings of every session, on both ends of its connection.
//!
//! [`configure`] sets the client's end, [`apply_timeouts`] the server's. Invariant: a peer that
//! vanished without closing the connection is noticed by the other end within [`POSTGRES_SILENCE`],
//! and a session whose client stands still inside a transaction keeps its locks no longer than
//! [`POSTGRES_IDLE_IN_TRANSACTION`].

use std::future::Future;
use std::time::Duration;

use tokio_postgres::{Client, Config};

use crate::defaults::{
    POSTGRES_ANSWER, POSTGRES_CONNECT, POSTGRES_IDLE_IN_TRANSACTION, POSTGRES_KEEPALIVE_IDLE,
    POSTGRES_KEEPALIVE_INTERVAL, POSTGRES_KEEPALIVE_PROBES, POSTGRES_LOCK_TIMEOUT,
    POSTGRES_SILENCE,
};

/// Sets the settings that this version of PostgreSQL has; the last argument of `set_config` means
/// "for this transaction only".
const SETTLE: &str = "SELECT set_config(s.name, v.value, false) FROM (VALUES \
     ('tcp_keepalives_idle', $1::text), ('tcp_keepalives_interval', $2::text), ('tcp_keepalives_count', $3::text), \
     ('tcp_user_timeout', $4::text), ('client_connection_check_interval', $1::text || 's'), \
     ('idle_in_transaction_session_timeout', $5::text), ('lock_timeout', $6::text), \
     ('synchronous_commit', 'on')) AS v (name, value) JOIN pg_settings s ON s.name = v.name";

/// Reason for which a session gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SessionError {
    /// The server's refusal, or the end of the connection.
    #[error(transparent)]
    Engine(#[from] tokio_postgres::Error),
    /// The connection is open, but no answer arrived within this time.
    #[error("PostgreSQL gave no answer for {} s; the connection is given up", .0.as_secs())]
    Silent(Duration),
}

/// Sets the keep-alives of the client's end. A URL that names them is left as it is.
pub(super) fn configure(config: &mut Config, url: &str) {
    config.connect_timeout(POSTGRES_CONNECT);
    if !url.contains("keepalives") {
        config.keepalives(true);
        config.keepalives_idle(POSTGRES_KEEPALIVE_IDLE);
        config.keepalives_interval(POSTGRES_KEEPALIVE_INTERVAL);
        config.keepalives_retries(POSTGRES_KEEPALIVE_PROBES);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(POSTGRES_SILENCE);
    }
}

/// Sets the server's timeouts for this session: keep-alive, idle transactions and locks. A database
/// may be configured to acknowledge a commit before it is written; `synchronous_commit` overrides
/// that.
pub(super) async fn apply_timeouts(client: &Client) -> Result<(), tokio_postgres::Error> {
    let seconds = |duration: Duration| duration.as_secs().to_string();
    let milliseconds = |duration: Duration| duration.as_millis().to_string();
    client
        .query(
            SETTLE,
            &[
                &seconds(POSTGRES_KEEPALIVE_IDLE),
                &seconds(POSTGRES_KEEPALIVE_INTERVAL),
                &POSTGRES_KEEPALIVE_PROBES.to_string(),
                &milliseconds(POSTGRES_SILENCE),
                &milliseconds(POSTGRES_IDLE_IN_TRANSACTION),
                &milliseconds(POSTGRES_LOCK_TIMEOUT),
            ],
        )
        .await
        .map(drop)
}

/// Waits for an answer, but only for a limited time: a middlebox may keep a dead connection open.
pub(super) async fn await_answer<T>(
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, SessionError> {
    await_answer_within(POSTGRES_ANSWER, answer).await
}

pub(super) async fn await_answer_within<T>(
    bound: Duration,
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, SessionError> {
    match tokio::time::timeout(bound, answer).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(SessionError::Silent(bound)),
    }
}
