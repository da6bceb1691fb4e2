//! PostgreSQL: one writing connection, a pool of reading ones.
//!
//! [`Postgres`] owns the pool and the writer task. The rules: only one server process writes to a
//! database (an advisory lock on the writing connection), a restart of PostgreSQL is survived, and
//! a commit whose answer was lost is looked up, never guessed.
//!
//! Connections are not encrypted yet: use a Unix socket, loopback or a trusted network.

mod connect;
mod errors;
mod migrate;
mod writer;

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_postgres::NoTls;
use tokio_postgres::config::SslMode;

use self::writer::Writer;
use crate::defaults::{POSTGRES_CONNECT, POSTGRES_POOL_WAIT, POSTGRES_RETRY, WRITE_QUEUE};
use crate::request::Message;
use crate::value::{FromRow, Value};
use crate::{OpenStoreError, StoreConfig, StoreError};

/// The engine's reading half, and word of the writing one.
pub(crate) struct Postgres {
    place: String,
    pool: Pool,
    /// Closed when the writer has let go of the database.
    writer: watch::Receiver<()>,
}

impl Postgres {
    pub(crate) async fn open(
        url: &str,
        settings: &StoreConfig,
    ) -> Result<(Self, mpsc::Sender<Message>), OpenStoreError> {
        let config = configuration(url)?;
        let place = place(&config);
        let writer = Writer::open(config.clone(), &place, settings.patience).await?;
        let pool = pool(config, &place, settings)?;
        let (writes, queue) = mpsc::channel(WRITE_QUEUE);
        let (alive, closed) = watch::channel(());
        // It ends when the queue is closed: by `close`, or when the last handle is dropped.
        tokio::spawn(async move {
            Box::pin(writer.run(queue)).await;
            drop(alive);
        });
        Ok((
            Self {
                place,
                pool,
                writer: closed,
            },
            writes,
        ))
    }

    /// The pool alone, whose connections cannot write.
    pub(crate) async fn open_read_only(
        url: &str,
        settings: &StoreConfig,
    ) -> Result<Self, OpenStoreError> {
        let mut config = configuration(url)?;
        let place = place(&config);
        let options = config.get_options().unwrap_or_default();
        let options = format!("{options} -c default_transaction_read_only=on");
        config.options(options.trim());
        let pool = pool(config, &place, settings)?;
        let first = pool.get().await;
        first
            .map(drop)
            .map_err(|error| connect::engine(&place, error))?;
        let (_, writer) = watch::channel(());
        Ok(Self {
            place,
            pool,
            writer,
        })
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Reads are repeated while the server restarts: they change nothing.
    pub(crate) async fn query<T: FromRow>(
        &self,
        sql: &'static str,
        values: Vec<Value<'static>>,
    ) -> Result<Vec<T>, StoreError> {
        let deadline = Instant::now() + POSTGRES_POOL_WAIT;
        loop {
            match self.try_query(sql, &values).await {
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
        values: &[Value<'static>],
    ) -> Result<Vec<T>, StoreError> {
        let client = self.pool.get().await.map_err(errors::from_pool)?;
        let statement = client
            .prepare_cached(sql)
            .await
            .map_err(errors::from_engine)?;
        let params: Vec<_> = values.iter().map(|value| value as _).collect();
        let rows = client
            .query(&statement, &params)
            .await
            .map_err(errors::from_engine)?;
        rows.iter().map(|row| Ok(T::from_row(row)?)).collect()
    }

    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<(), StoreError> {
        let client = self.pool.get().await.map_err(errors::from_pool)?;
        client
            .prepare(sql)
            .await
            .map(drop)
            .map_err(errors::from_engine)
    }

    /// Returns when the database is free for another server process.
    pub(crate) async fn closed(&self) {
        self.pool.close();
        let mut writer = self.writer.clone();
        while writer.changed().await.is_ok() {}
    }
}

fn pool(
    config: tokio_postgres::Config,
    place: &str,
    settings: &StoreConfig,
) -> Result<Pool, OpenStoreError> {
    let manager = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    Pool::builder(Manager::from_config(config, NoTls, manager))
        .max_size(settings.readers.max(1))
        .wait_timeout(Some(POSTGRES_POOL_WAIT))
        .create_timeout(Some(POSTGRES_CONNECT))
        .runtime(Runtime::Tokio1)
        .build()
        .map_err(|error| connect::engine(place, error))
}

fn configuration(url: &str) -> Result<tokio_postgres::Config, OpenStoreError> {
    let invalid = |what: String| OpenStoreError::InvalidUrl { what };
    let mut config: tokio_postgres::Config = url
        .parse()
        .map_err(|error: tokio_postgres::Error| invalid(error.to_string()))?;
    if matches!(config.get_ssl_mode(), SslMode::Require) {
        let what = "sslmode=require: encrypted connections to PostgreSQL are not supported yet; \
                    use a Unix socket, loopback or a tunnel";
        return Err(invalid(what.to_owned()));
    }
    config.ssl_mode(SslMode::Disable);
    config.connect_timeout(POSTGRES_CONNECT);
    // A server that vanished without a word is noticed after this.
    config.tcp_user_timeout(POSTGRES_POOL_WAIT);
    if config.get_application_name().is_none() {
        config.application_name("tutti");
    }
    Ok(config)
}

/// Host and database, without user and password.
fn place(config: &tokio_postgres::Config) -> String {
    use tokio_postgres::config::Host;
    let hosts: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    format!(
        "PostgreSQL {}/{}",
        hosts.join(","),
        config.get_dbname().unwrap_or_default()
    )
}
