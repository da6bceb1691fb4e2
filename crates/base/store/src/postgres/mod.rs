//! PostgreSQL: one writing connection and a pool of reading connections.
//!
//! [`PostgresReader`] owns the pool and the writer task. Invariants: only one server process writes
//! to a database (an advisory lock on the writing connection), a restart of PostgreSQL is survived,
//! and a commit whose answer was lost is looked up, never guessed.

mod connect;
mod connector;
mod errors;
mod holder;
mod migrate;
mod session;
mod survey;
mod tls;
mod writer;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime,
};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use self::connector::PostgresConnector;
use self::session::{SessionError, await_answer, await_answer_within};
use self::writer::PostgresWriter;
use crate::defaults::{
    POSTGRES_CONNECT, POSTGRES_OPEN, POSTGRES_POOL_WAIT, POSTGRES_RETRY, WRITE_QUEUE,
};
use crate::history_mark::OlderHistory;
use crate::request::WriterMessage;
use crate::value::{FromRow, SqlValue};
use crate::{OpenStoreError, StoreConfig, StoreError};

/// The reading half of the engine, with a channel that reports the end of the writing half.
pub(crate) struct PostgresReader {
    place: String,
    pool: Pool,
    /// Closed when the writer has released the database.
    writer: watch::Receiver<()>,
    ended: watch::Receiver<Option<StoreError>>,
}

impl PostgresReader {
    pub(crate) async fn open(
        url: &str,
        settings: &StoreConfig,
    ) -> Result<(Self, mpsc::Sender<WriterMessage>, Option<OlderHistory>), OpenStoreError> {
        let connector = PostgresConnector::from_url(url)?;
        let place = connector.describe_database();
        let (writer, older) =
            Box::pin(PostgresWriter::open(connector.clone(), &place, settings)).await?;
        let pool = pool(connector, &place, settings)?;
        let ended = writer.watch_end();
        let (writes, queue) = mpsc::channel(WRITE_QUEUE);
        let (alive, closed) = watch::channel(());
        // The task ends when the queue is closed: by `close`, or when the last handle is dropped.
        tokio::spawn(async move {
            Box::pin(writer.run(queue)).await;
            drop(alive);
        });
        Ok((
            Self {
                place,
                pool,
                writer: closed,
                ended,
            },
            writes,
            older,
        ))
    }

    /// Opens the pool alone, whose connections cannot write.
    pub(crate) async fn open_read_only(
        url: &str,
        settings: &StoreConfig,
    ) -> Result<Self, OpenStoreError> {
        let mut connector = PostgresConnector::from_url(url)?;
        let place = connector.describe_database();
        let config = &mut connector.config;
        let options = config.get_options().unwrap_or_default();
        let options = format!("{options} -c default_transaction_read_only=on");
        config.options(options.trim());
        let pool = pool(connector, &place, settings)?;
        let first = Box::pin(pool.get()).await;
        first
            .map(drop)
            .map_err(|error| connect::engine_error(&place, error))?;
        let (_, writer) = watch::channel(());
        Ok(Self {
            place,
            pool,
            writer,
            ended: watch::channel(None).1,
        })
    }

    pub(crate) fn database(&self) -> &str {
        &self.place
    }

    /// Runs a query. Reads are repeated while the server restarts, since they change nothing.
    pub(crate) async fn query<T: FromRow>(
        &self,
        sql: &'static str,
        values: Vec<SqlValue<'static>>,
    ) -> Result<Vec<T>, StoreError> {
        let deadline = Instant::now() + POSTGRES_POOL_WAIT;
        loop {
            // Boxed: a new connection takes kilobytes of state.
            match Box::pin(self.try_query(sql, &values)).await {
                Err(StoreError::Unavailable(_)) if Instant::now() < deadline => {
                    tokio::time::sleep(POSTGRES_RETRY).await;
                }
                outcome => return outcome,
            }
        }
    }

    async fn try_query<T: FromRow>(
        &self,
        sql: &'static str,
        values: &[SqlValue<'static>],
    ) -> Result<Vec<T>, StoreError> {
        let client = self.pool.get().await.map_err(errors::from_pool)?;
        let params: Vec<_> = values.iter().map(|value| value as _).collect();
        let answer = await_answer(Box::pin(async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, &params).await
        }))
        .await;
        if matches!(answer, Err(SessionError::Silent(_))) {
            // The connection is unusable: the next query gets another one.
            drop(Object::take(client));
        }
        let rows = answer.map_err(errors::from_session)?;
        rows.iter().map(|row| Ok(T::from_row(row)?)).collect()
    }

    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<(), StoreError> {
        let client = Box::pin(self.pool.get()).await.map_err(errors::from_pool)?;
        let prepared = await_answer(client.prepare(sql)).await;
        prepared.map(drop).map_err(errors::from_session)
    }

    /// Watches the end of commits: `Some(reason)` once commits have ended.
    pub(crate) fn watch_end(&self) -> watch::Receiver<Option<StoreError>> {
        self.ended.clone()
    }

    /// Returns when the database is free for another server process.
    pub(crate) async fn wait_until_closed(&self) {
        self.pool.close();
        let mut writer = self.writer.clone();
        while writer.changed().await.is_ok() {}
    }
}

fn pool(
    PostgresConnector { config, tls }: PostgresConnector,
    place: &str,
    settings: &StoreConfig,
) -> Result<Pool, OpenStoreError> {
    let manager = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    Pool::builder(Manager::from_config(config, tls, manager))
        .max_size(settings.readers.max(1))
        .post_create(Hook::async_fn(|client, _| {
            Box::pin(async move {
                let settled =
                    await_answer_within(POSTGRES_OPEN, session::apply_timeouts(client)).await;
                settled.map_err(|error| HookError::message(error.to_string()))
            })
        }))
        .wait_timeout(Some(POSTGRES_POOL_WAIT))
        .create_timeout(Some(POSTGRES_CONNECT))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| connect::engine_error(place, error))
}
