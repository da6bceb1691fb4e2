//! The writing connection: alone on its database.

use std::collections::HashMap;

use tokio_postgres::{Client, Config, NoTls, Statement};
use tokio_util::task::AbortOnDropHandle;

use crate::OpenStoreError;

/// The advisory lock that the server process holds: "tutti" as a number.
const LOCK: i64 = 0x74_75_74_74_69;
const TAKE_LOCK: &str = "SELECT pg_try_advisory_lock($1)";
const FREE_LOCK: &str = "SELECT pg_advisory_unlock($1)";
const HOLDER: &str = "SELECT a.pid::text || ' of ' || a.application_name || \
     COALESCE(' at ' || host(a.client_addr), ' on this machine') \
     FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
     WHERE l.locktype = 'advisory' AND l.granted \
     AND ((l.classid::bigint << 32) | l.objid::bigint) = $1 \
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1";

/// A connection that holds the lock.
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) statements: HashMap<&'static str, Statement>,
    _connection: AbortOnDropHandle<()>,
}

/// Why there is no such connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    #[error("cannot connect")]
    Connect(#[from] tokio_postgres::Error),
    #[error("in use by another server process")]
    Held { holder: String },
}

impl Link {
    pub(crate) async fn open(config: &Config) -> Result<Self, LinkError> {
        let (client, connection) = config.connect(NoTls).await?;
        let connection = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "the writing connection to PostgreSQL ended");
            }
        });
        let link = Self {
            client,
            statements: HashMap::new(),
            _connection: AbortOnDropHandle::new(connection),
        };
        if !link
            .client
            .query_one(TAKE_LOCK, &[&LOCK])
            .await?
            .try_get::<_, bool>(0)?
        {
            let row = link.client.query_opt(HOLDER, &[&LOCK]).await?;
            let holder = row.and_then(|row| row.try_get::<_, String>(0).ok());
            let holder = holder.map_or("not known which".to_owned(), |text| {
                format!("backend {text}")
            });
            return Err(LinkError::Held { holder });
        }
        // A database may be set to answer before it has written.
        link.client
            .batch_execute("SET synchronous_commit TO on")
            .await?;
        Ok(link)
    }

    /// Frees the database for the next server process, and only then returns.
    pub(crate) async fn close(self) {
        if let Err(error) = self.client.execute(FREE_LOCK, &[&LOCK]).await {
            // The end of the connection frees it as well, a little later.
            tracing::debug!(%error, "the lock was not given back");
        }
    }

    /// A statement, prepared once for each connection.
    pub(crate) async fn statement(
        &mut self,
        sql: &'static str,
    ) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }
}

impl LinkError {
    pub(crate) fn opening(self, place: &str) -> OpenStoreError {
        match self {
            Self::Connect(error) => engine(place, error),
            Self::Held { holder } => OpenStoreError::Locked {
                place: place.to_owned(),
                holder,
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
