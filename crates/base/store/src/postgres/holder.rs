//! The session that holds the database, as seen from one that requests it: [`DatabaseHolder`].
//!
//! A server holds [`LOCK`] on its writing session, and [`BEATS`] as its commitment to send
//! something at least every [`POSTGRES_HEARTBEAT`](crate::defaults::POSTGRES_HEARTBEAT). Invariant:
//! a session is terminated by another one only if it is an earlier one of the same process, or if
//! it holds [`BEATS`] and was silent for [`POSTGRES_SILENCE`]. A server that did not stand still is
//! therefore never terminated, and one that is terminated cannot write any more: its epoch is over.

use std::time::Duration;

use tokio_postgres::{Client, Error};

use crate::defaults::{POSTGRES_LOCK, POSTGRES_SILENCE};

/// The advisory lock that the server process holds: "tutti" as a number.
const LOCK: i64 = 0x74_75_74_74_69;
/// The advisory lock that shows that the holder of [`LOCK`] sends heartbeats.
const BEATS: i64 = LOCK + 1;

const TAKE_LOCK: &str = "SELECT pg_try_advisory_lock($1)";
/// Identity of a session: process ids are reused, but not together with their start times.
const SESSION: &str = "SELECT pid::bigint, backend_start::text FROM pg_stat_activity \
     WHERE pid = pg_backend_pid()";
const EPOCH: &str = "SELECT epoch FROM ledger WHERE id = 1";

macro_rules! has_lock {
    ($key:literal) => {
        concat!(
            "l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
             AND ((l.classid::bigint << 32) | l.objid::bigint) = ",
            $key,
            " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    };
}

/// SQL for the milliseconds for which the session has waited for its client; 0 if it does not wait.
macro_rules! silent_ms {
    () => {
        "CASE WHEN a.state LIKE 'idle%' OR a.wait_event_type = 'Client' THEN \
         (EXTRACT(EPOCH FROM clock_timestamp() - GREATEST(a.state_change, a.query_start)) * 1000)\
         ::bigint ELSE 0 END"
    };
}

const HOLDER: &str = concat!(
    "SELECT a.pid::text || ' of ' || a.application_name || \
     COALESCE(' at ' || host(a.client_addr), ' on this machine'), ",
    silent_ms!(),
    ", EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND ",
    has_lock!("$2"),
    ") FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE ",
    has_lock!("$1"),
    " LIMIT 1"
);

/// Terminates the holder if it is this session.
const END_OWN: &str = concat!(
    "SELECT pg_terminate_backend(a.pid) \
     FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE ",
    has_lock!("$1"),
    " AND a.pid = $2 AND a.backend_start::text = $3"
);

/// Terminates the holder if it holds [`BEATS`] and was silent for this many milliseconds.
const END_SILENT: &str = concat!(
    "SELECT pg_terminate_backend(a.pid) \
     FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE ",
    has_lock!("$1"),
    " AND EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND ",
    has_lock!("$2"),
    ") AND ",
    silent_ms!(),
    " >= $3"
);

/// Identity of a session among all sessions of this database.
#[derive(Clone, Debug)]
pub(crate) struct SessionId {
    pid: i64,
    start: String,
}

/// The other server process that holds the database.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseHolder {
    /// Description of its session.
    pub(crate) session: String,
    /// Epoch in the ledger; `None` if it cannot be read.
    pub(crate) epoch: Option<i64>,
    /// Duration of its silence, if it sends heartbeats; otherwise it counts as alive.
    silent: Option<Duration>,
}

/// Session that takes the database over; it determines which holder may be terminated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SessionTakeover<'a> {
    /// A starting server, which may terminate a silent holder.
    StartingServer,
    /// A server that lost its connection, which may terminate its own earlier session if PostgreSQL
    /// has not noticed the loss yet.
    ReconnectingServer(&'a SessionId),
}

/// Takes the locks of the database for this session. `false`: another session holds it.
pub(super) async fn try_lock_database(client: &Client) -> Result<bool, Error> {
    if !lock(client, LOCK).await? {
        return Ok(false);
    }
    // A session that is ending may still hold this lock: the next connection then takes it.
    lock(client, BEATS).await?;
    Ok(true)
}

async fn lock(client: &Client, key: i64) -> Result<bool, Error> {
    client.query_one(TAKE_LOCK, &[&key]).await?.try_get(0)
}

/// Releases the lock by which this session holds the database.
pub(super) async fn release_locks(client: &Client) -> Result<(), Error> {
    client
        .execute("SELECT pg_advisory_unlock_all()", &[])
        .await
        .map(drop)
}

// === impl SessionId ===

impl SessionId {
    pub(super) async fn read(client: &Client) -> Result<Self, Error> {
        let row = client.query_one(SESSION, &[]).await?;
        Ok(Self {
            pid: row.try_get(0)?,
            start: row.try_get(1)?,
        })
    }
}

/// Description of the session that holds the database; nothing is terminated.
pub(super) async fn describe_holder(client: &Client) -> Result<Option<String>, Error> {
    let row = client.query_opt(HOLDER, &[&LOCK, &BEATS]).await?;
    let session = row
        .map(|row| row.try_get::<_, Option<String>>(0))
        .transpose()?;
    Ok(session.flatten().map(|text| format!("backend {text}")))
}

// === impl DatabaseHolder ===

impl DatabaseHolder {
    /// The holder, after it was terminated if `successor` allows that: the next attempt shows the
    /// result.
    pub(super) async fn read_or_terminate(
        client: &Client,
        successor: SessionTakeover<'_>,
    ) -> Result<Self, Error> {
        let row = client.query_opt(HOLDER, &[&LOCK, &BEATS]).await?;
        let (session, silent_ms, beats) = match row {
            Some(row) => (
                row.try_get::<_, Option<String>>(0)?,
                row.try_get::<_, Option<i64>>(1)?,
                row.try_get::<_, bool>(2)?,
            ),
            None => (None, None, false),
        };
        let session = session.map_or("not known which".to_owned(), |text| {
            format!("backend {text}")
        });
        let ended = match successor {
            SessionTakeover::ReconnectingServer(own) => {
                let pid = i32::try_from(own.pid).unwrap_or_default();
                client.query(END_OWN, &[&LOCK, &pid, &own.start]).await
            }
            SessionTakeover::StartingServer => {
                let limit = i64::try_from(POSTGRES_SILENCE.as_millis()).unwrap_or(i64::MAX);
                client.query(END_SILENT, &[&LOCK, &BEATS, &limit]).await
            }
        };
        match ended {
            Ok(ended) if ended.is_empty() => {}
            Ok(_) => tracing::warn!(
                holder = session,
                silent_ms,
                "the database was held by a session whose client is gone or stands still; it was \
                 ended"
            ),
            // The role may lack the permission to terminate sessions of another role.
            Err(error) if error.as_db_error().is_some() => {
                tracing::warn!(%error, holder = session, "cannot end the session that has the database");
            }
            Err(error) => return Err(error),
        }
        // The table does not exist before the first start.
        let epoch = client.query_opt(EPOCH, &[]).await.ok().flatten();
        let silent = silent_ms
            .filter(|_| beats)
            .and_then(|ms| u64::try_from(ms).ok());
        Ok(Self {
            session,
            epoch: epoch.and_then(|row| row.try_get(0).ok()),
            silent: silent.map(Duration::from_millis),
        })
    }

    /// True if the holder may still turn out to be frozen.
    pub(crate) fn is_suspect(&self) -> bool {
        self.silent.is_some_and(|silent| silent >= POSTGRES_LOCK)
    }
}
