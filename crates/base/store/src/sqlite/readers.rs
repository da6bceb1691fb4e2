//! A pool of reading connections of bounded size, used on the runtime's blocking threads.

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::bind::bind;
use super::connection::open_reader;
use crate::value::{FromRow, SqlValue};
use crate::{OpenStoreError, StoreError};

/// The pool of reading connections.
pub(crate) struct SqliteReaderPool {
    idle: Arc<std::sync::Mutex<Vec<Connection>>>,
    permits: Arc<Semaphore>,
}

impl SqliteReaderPool {
    pub(crate) fn open(path: &Path, count: usize) -> Result<Self, OpenStoreError> {
        let idle = (0..count)
            .map(|_| open_reader(path))
            .collect::<Result<Vec<_>, _>>()?;
        let idle = Arc::new(std::sync::Mutex::new(idle));
        Ok(Self {
            idle,
            permits: Arc::new(Semaphore::new(count)),
        })
    }

    pub(crate) async fn query<T: FromRow>(
        &self,
        sql: &'static str,
        values: Vec<SqlValue<'static>>,
    ) -> Result<Vec<T>, StoreError> {
        self.run_with(move |connection| {
            let mut statement = connection.prepare_cached(sql)?;
            bind(&mut statement, &values)?;
            let mut rows = statement.raw_query();
            let mut read = Vec::new();
            while let Some(row) = rows.next()? {
                read.push(T::from_row(row)?);
            }
            Ok(read)
        })
        .await
    }

    pub(crate) async fn prepare(&self, sql: &'static str) -> Result<(), StoreError> {
        self.run_with(move |connection| Ok(connection.prepare(sql).map(drop)?))
            .await
    }

    /// Refuses new reads.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.lock_idle().clear();
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // The lock cannot be poisoned, since nothing fails while it is held.
        self.idle
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn run_with<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let permits = Arc::clone(&self.permits);
        let permit = permits
            .acquire_owned()
            .await
            .map_err(|_| StoreError::Closed)?;
        let connection = self.lock_idle().pop().ok_or(StoreError::Closed)?;
        let (idle, permits) = (Arc::clone(&self.idle), Arc::clone(&self.permits));
        let task = tokio::task::spawn_blocking(move || {
            let outcome = read(&connection);
            // A pool that was closed meanwhile takes no connection back.
            if !permits.is_closed() {
                idle.lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .push(connection);
            }
            drop(permit);
            outcome
        });
        // A panic is a bug of this crate; an abort happens only when the runtime ends.
        match task.await {
            Ok(outcome) => outcome,
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Err(StoreError::Closed),
        }
    }
}
