//! Commands that PuppetDB has not taken yet: [`PuppetDbCommandRow`].
//!
//! Invariants: positions ascend and are never used again, so that deleting a command that was sent
//! cannot delete its successor; of a command that replaces data, a node has only the newest one.

use crate::StoreError;
use crate::rows::row;
use crate::statement::SqlStatement;
use crate::store::Store;
use crate::value::values;

row! {
    /// A command that waits until PuppetDB takes it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct PuppetDbCommandRow {
        /// Position in the queue; higher than that of any command before.
        pub position: i64,
        /// Name of the command, such as `store report`.
        pub command: String,
        /// Version of the command's format.
        pub version: i64,
        /// Certname of the node.
        pub certname: String,
        /// Time at which the command was queued, in milliseconds since 1970.
        pub queued_ms: i64,
        /// Bytes of the payload as stored.
        pub size_bytes: i64,
        /// The payload: JSON, as a gzip stream.
        pub payload: Vec<u8>,
    } read write columns command_columns select commands from "puppetdb_commands"
}

/// Number, bytes and age of the queued commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PuppetDbQueueSize {
    /// Number of commands in the queue.
    pub commands: u64,
    /// Bytes of the payloads as stored.
    pub bytes: u64,
    /// Time at which the oldest command was queued, in milliseconds since 1970; `None` if there is
    /// no command.
    pub oldest_ms: Option<i64>,
}

const INSERT: &str = concat!(
    "INSERT INTO puppetdb_commands (",
    command_columns!(),
    ") VALUES ($1, $2, $3, $4, $5, $6, $7)"
);
const REPLACE: &str = "DELETE FROM puppetdb_commands WHERE certname = $1 AND command = $2";
const DELETE: &str = "DELETE FROM puppetdb_commands WHERE position = $1";
const LAST: &str = "SELECT MAX(position) FROM puppetdb_commands";
const SIZES: &str = "SELECT position, size_bytes FROM puppetdb_commands WHERE position > $1 \
     ORDER BY position LIMIT $2";
const RANGE: &str = commands!("WHERE position > $1 AND position <= $2 ORDER BY position");
const SIZE: &str = "SELECT COUNT(*), CAST(COALESCE(SUM(size_bytes), 0) AS BIGINT), MIN(queued_ms) \
     FROM puppetdb_commands";
const DROP_OLD: &str = "DELETE FROM puppetdb_commands WHERE queued_ms < $1";
const DROP_FIRST: &str = "DELETE FROM puppetdb_commands WHERE position IN \
     (SELECT position FROM puppetdb_commands ORDER BY position LIMIT $1)";

pub(crate) const STATEMENTS: &[&str] = &[
    INSERT, REPLACE, DELETE, LAST, SIZES, RANGE, SIZE, DROP_OLD, DROP_FIRST,
];

/// Adds a command to the queue.
pub(crate) fn insert_statement(command: &PuppetDbCommandRow) -> SqlStatement<'_> {
    SqlStatement::new(INSERT, values![command])
}

// === impl Store ===

impl Store {
    /// Queues a command in place of the node's queued ones of the same name.
    pub async fn replace_puppetdb_command(
        &self,
        command: &PuppetDbCommandRow,
    ) -> Result<(), StoreError> {
        let replace = SqlStatement::new(REPLACE, values![command.certname, command.command]);
        self.execute_all([replace, insert_statement(command)])
            .await
            .map(drop)
    }

    /// The highest position in the queue; `None` if it is empty.
    pub async fn last_puppetdb_command(&self) -> Result<Option<i64>, StoreError> {
        let last: Option<Option<i64>> = self.query_one(LAST, Vec::new()).await?;
        Ok(last.flatten())
    }

    /// The commands after a position, in order: at most `count`, of `bytes` together or else one.
    pub async fn puppetdb_commands(
        &self,
        after: i64,
        count: u64,
        bytes: u64,
    ) -> Result<Vec<PuppetDbCommandRow>, StoreError> {
        // The sizes come first: the rows could be more than fits into memory.
        let sizes: Vec<(i64, i64)> = self.query(SIZES, values![after, count]).await?;
        let mut total = 0_u64;
        let mut last = None;
        for (position, size) in sizes {
            total = total.saturating_add(u64::try_from(size).unwrap_or(0));
            if last.is_some() && total > bytes {
                break;
            }
            last = Some(position);
        }
        match last {
            Some(last) => self.query(RANGE, values![after, last]).await,
            None => Ok(Vec::new()),
        }
    }

    /// Deletes commands that PuppetDB has taken or refused. Those that were replaced meanwhile are
    /// gone already.
    pub async fn delete_puppetdb_commands(&self, positions: &[i64]) -> Result<(), StoreError> {
        if positions.is_empty() {
            return Ok(());
        }
        let steps = positions.iter();
        let steps = steps.map(|position| SqlStatement::new(DELETE, values![position]));
        self.execute_all(steps).await.map(drop)
    }

    /// Number, bytes and age of the queue.
    pub async fn puppetdb_queue_size(&self) -> Result<PuppetDbQueueSize, StoreError> {
        let size: Option<((i64, i64), Option<i64>)> = self.query_one(SIZE, Vec::new()).await?;
        let ((commands, bytes), oldest_ms) = size.unwrap_or_default();
        Ok(PuppetDbQueueSize {
            commands: u64::try_from(commands).unwrap_or(0),
            bytes: u64::try_from(bytes).unwrap_or(0),
            oldest_ms,
        })
    }

    /// Deletes commands that were queued before this time. Returns their number.
    pub async fn drop_old_puppetdb_commands(&self, before_ms: i64) -> Result<u64, StoreError> {
        self.execute(DROP_OLD, values![before_ms]).await
    }

    /// Deletes the first commands of the queue. Returns their number.
    pub async fn drop_first_puppetdb_commands(&self, count: u64) -> Result<u64, StoreError> {
        self.execute(DROP_FIRST, values![count]).await
    }
}
