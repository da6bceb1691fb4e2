//! The writing connection, which holds its database exclusively.

use std::collections::HashMap;

use tokio_postgres::{Client, Statement};
use tokio_util::task::AbortOnDropHandle;

use super::Connector;
use super::holder::{self, Holder, SessionId, Successor};
use super::session::{self, SessionError, answered, answered_within};
use crate::OpenStoreError;
use crate::defaults::POSTGRES_OPEN;

/// A connection that holds the advisory lock.
pub(crate) struct Link {
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
    Held(Holder),
}

impl Link {
    pub(crate) async fn open(
        connector: &Connector,
        successor: Successor<'_>,
    ) -> Result<Self, LinkError> {
        let (client, connection) = answered_within(
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
            session::settle(&client).await?;
            let id = SessionId::read(&client).await?;
            Ok(match holder::take(&client).await? {
                true => Ok(id),
                false => Err(Holder::meet(&client, successor).await?),
            })
        };
        match answered_within(POSTGRES_OPEN, ready).await? {
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
        if let Err(error) = answered(holder::free(&self.client)).await {
            // The end of the connection releases the lock as well, a little later.
            tracing::debug!(%error, "the lock was not given back");
        }
    }

    /// A statement, prepared once per connection.
    pub(crate) async fn statement(&mut self, sql: &'static str) -> Result<Statement, SessionError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = answered(self.client.prepare(sql)).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

impl LinkError {
    pub(crate) fn opening(self, place: &str) -> OpenStoreError {
        match self {
            Self::Connect(error) => engine(place, error),
            Self::Held(holder) => OpenStoreError::Locked {
                place: place.to_owned(),
                holder: holder.session,
            },
        }
    }
}

pub(crate) fn engine(
    place: &str,
    source: impl std::error::Error + Send + Sync + 'static,
) -> OpenStoreError {
    OpenStoreError::Engine {
        place: place.to_owned(),
        source: Box::new(source),
    }
}
