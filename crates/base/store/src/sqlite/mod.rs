//! SQLite: one file, one writer thread, several readers.
//!
//! [`SqliteReader`] owns the reading connections and the thread. Invariants: write-ahead log with
//! `synchronous=FULL`, so a commit is on the disk when it returns; only the writer writes; only one
//! server process holds the file.

mod bind;
mod connection;
mod lock;
mod readers;
pub(crate) mod survey;
mod writer;

use std::path::{Path, PathBuf};

use tokio::sync::{mpsc, watch};

use self::readers::SqliteReaderPool;
use self::writer::SqliteWriter;
use crate::defaults::WRITE_QUEUE;
use crate::history_mark::OlderHistory;
use crate::request::WriterMessage;
use crate::value::{FromRow, SqlValue};
use crate::{OpenStoreError, StoreConfig, StoreError};

/// The reading half of the engine, with a channel that reports the end of the writing half.
pub(crate) struct SqliteReader {
    path: PathBuf,
    readers: SqliteReaderPool,
    /// Closed when the writer thread has released the file.
    writer: watch::Receiver<()>,
    ended: watch::Receiver<Option<StoreError>>,
}

impl SqliteReader {
    pub(crate) async fn open(
        path: PathBuf,
        settings: StoreConfig,
    ) -> Result<(Self, mpsc::Sender<WriterMessage>, Option<OlderHistory>), OpenStoreError> {
        // Opening reads files, waits for locks and may migrate, so it must not block the runtime's
        // threads.
        tokio::task::spawn_blocking(move || Self::open_blocking(path, &settings))
            .await
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    /// Opens the readers alone; the file must exist.
    pub(crate) async fn open_read_only(
        path: PathBuf,
        readers: usize,
    ) -> Result<Self, OpenStoreError> {
        tokio::task::spawn_blocking(move || {
            let readers = SqliteReaderPool::open(&path, readers.max(1))?;
            let (_, writer) = watch::channel(());
            Ok(Self {
                path,
                readers,
                writer,
                ended: watch::channel(None).1,
            })
        })
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
    }

    fn open_blocking(
        path: PathBuf,
        settings: &StoreConfig,
    ) -> Result<(Self, mpsc::Sender<WriterMessage>, Option<OlderHistory>), OpenStoreError> {
        let lock = lock::take(&path)?;
        let connection = connection::open_writer(&path)?;
        let (writer, older) = SqliteWriter::open(connection, &path, settings)?;
        let readers = SqliteReaderPool::open(&path, settings.readers.max(1))?;
        let ended = writer.watch_end();
        let (writes, queue) = mpsc::channel(WRITE_QUEUE);
        let (alive, closed) = watch::channel(());
        std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || {
                writer.run(queue);
                drop(lock);
                drop(alive);
            })
            .map_err(|source| OpenStoreError::Io {
                path: path.clone(),
                source,
            })?;
        Ok((
            Self {
                path,
                readers,
                writer: closed,
                ended,
            },
            writes,
            older,
        ))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) async fn query<T: FromRow>(
        &self,
        sql: &'static str,
        values: Vec<SqlValue<'static>>,
    ) -> Result<Vec<T>, StoreError> {
        self.readers.query(sql, values).await
    }

    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<(), StoreError> {
        self.readers.prepare(sql).await
    }

    /// Watches the end of commits: `Some(reason)` once commits have ended.
    pub(crate) fn watch_end(&self) -> watch::Receiver<Option<StoreError>> {
        self.ended.clone()
    }

    /// Returns when the file is closed.
    pub(crate) async fn wait_until_closed(&self) {
        self.readers.close();
        let mut writer = self.writer.clone();
        while writer.changed().await.is_ok() {}
    }
}
