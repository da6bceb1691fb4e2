//! The writing connection, which holds its database exclusively.

use std::collections::HashMap;

use tokio_postgres::{Client, Statement};
use tokio_util::task::AbortOnDropHandle;

use super::connector::PostgresConnector;
use super::holder::{self, DatabaseHolder, SessionId, SessionTakeover};
use super::session::{self, SessionError, await_answer, await_answer_within};
use crate::OpenStoreError;
use crate::defaults::POSTGRES_OPEN;

/// A connection that holds the advisory lock.
pub(crate) struct LockedConnection {
    pub(crate) client: Client,
    pub(crate) statements: HashMap<&'static str, Statement>,
    pub(crate) id: SessionId,
    _connection: AbortOnDropHandle<()>,
}

/// Reason for which the connection could not be made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("cannot connect")]
    Connect(#[from] SessionError),
    #[error("in use by another server process ({})", .0.session)]
    Held(DatabaseHolder),
}

impl LockedConnection {
    pub(crate) async fn open(
        connector: &PostgresConnector,
        successor: SessionTakeover<'_>,
    ) -> Result<Self, LinkError> {
        let (client, connection) = await_answer_within(
            POSTGRES_OPEN,
            Box::pin(connector.config.connect(connector.tls.clone())),
        )
        .await?;
        let connection = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "the writing connection to PostgreSQL ended");
            }
        });
        let connection = AbortOnDropHandle::new(connection);
        let ready = async {
            session::apply_timeouts(&client).await?;
            let id = SessionId::read(&client).await?;
            Ok(match holder::try_lock_database(&client).await? {
                true => Ok(id),
                false => Err(DatabaseHolder::read_or_terminate(&client, successor).await?),
            })
        };
        match await_answer_within(POSTGRES_OPEN, ready).await? {
            Ok(id) => Ok(Self {
                client,
                statements: HashMap::new(),
                id,
                _connection: connection,
            }),
            Err(holder) => Err(LinkError::Held(holder)),
        }
    }

    /// Releases the database for the next server process, and returns only after that.
    pub(crate) async fn close(self) {
        if let Err(error) = await_answer(holder::release_locks(&self.client)).await {
            // The end of the connection releases the lock as well, a little later.
            tracing::debug!(%error, "the lock was not given back");
        }
    }

    /// A statement, prepared once per connection.
    pub(crate) async fn statement(&mut self, sql: &'static str) -> Result<Statement, SessionError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = await_answer(self.client.prepare(sql)).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

impl LinkError {
    pub(crate) fn into_open_error(self, place: &str) -> OpenStoreError {
        match self {
            Self::Connect(error) => engine_error(place, error),
            Self::Held(holder) => OpenStoreError::Locked {
                place: place.to_owned(),
                holder: holder.session,
            },
        }
    }
}

pub(crate) fn engine_error(
    place: &str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> OpenStoreError {
    OpenStoreError::Engine {
        place: place.to_owned(),
        source: Box::new(source),
    }
}
