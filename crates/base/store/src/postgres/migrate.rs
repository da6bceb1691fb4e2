//! Migration of the schema on PostgreSQL, in one transaction.

use super::connect::{LockedConnection, engine_error};
use crate::OpenStoreError;
use crate::migrations::{self, POSTGRES};

/// Applies the pending migrations. The link holds the lock, so no other process migrates at the
/// same time.
pub(crate) async fn migrate(
    link: &mut LockedConnection,
    place: &str,
) -> Result<(), OpenStoreError> {
    let refused = |error: tokio_postgres::Error| engine_error(place, error);
    let transaction = link.client.transaction().await.map_err(refused)?;
    transaction
        .batch_execute(migrations::CREATE_TABLE)
        .await
        .map_err(refused)?;
    let rows = transaction
        .query(migrations::APPLIED, &[])
        .await
        .map_err(refused)?;
    let applied = rows
        .iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect::<Result<Vec<(i64, String)>, tokio_postgres::Error>>()
        .map_err(refused)?;
    for migration in migrations::pending_migrations(POSTGRES, &applied)? {
        transaction
            .batch_execute(migration.sql)
            .await
            .map_err(refused)?;
        let checksum = migration.checksum();
        transaction
            .execute(
                migrations::REMEMBER,
                &[&migration.number, &migration.name, &checksum],
            )
            .await
            .map_err(refused)?;
    }
    transaction.commit().await.map_err(refused)
}
