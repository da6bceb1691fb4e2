//! Verifies the chain in a store: [`verify_store`].
//!
//! Invariant: entries are read a page at a time, so that memory is bounded for a chain of any
//! length, and a server may write at the same time.

use store::{AuditRow, Store, StoreError};

use crate::AuditError;
use crate::defaults::PAGE;
use crate::head::ChainHead;
use crate::verify::{ChainFault, ChainReport, ChainVerifier, ExpectedChain};

/// Verifies the whole chain. The outer error means that the store could not be read; the inner,
/// that the chain is not intact.
pub async fn verify_store(
    store: &Store,
    expected: ExpectedChain,
) -> Result<Result<ChainReport, ChainFault>, AuditError> {
    let mut verifier = ChainVerifier::new(expected);
    // The head at this moment must exist in the next page.
    verifier.expect(read_head(store).await?);
    // Only the rows show the number of the first entry.
    let mut from = i64::MIN;
    loop {
        let rows = match read_page(store, from).await? {
            Ok(rows) => rows,
            Err(fault) => return Ok(Err(fault)),
        };
        let head = read_head(store).await?;
        if rows.is_empty() {
            return Ok(verifier.finish(head));
        }
        for row in &rows {
            if let Err(fault) = verifier.feed(row) {
                return Ok(Err(fault));
            }
        }
        verifier.expect(head);
        from = verifier.next_number();
    }
}

/// The last entry according to the store's ledger.
pub(crate) async fn read_head(store: &Store) -> Result<ChainHead, AuditError> {
    let mark = store.audit_head().await.map_err(AuditError::Read)?;
    Ok(mark.into())
}

/// The next entries. A row with invalid content makes the whole page unreadable: then the rows
/// before it are read one by one.
async fn read_page(
    store: &Store,
    from: i64,
) -> Result<Result<Vec<AuditRow>, ChainFault>, AuditError> {
    match store.audit_entries(from, PAGE).await {
        Ok(rows) => return Ok(Ok(rows)),
        Err(StoreError::Corrupt(_)) => {}
        Err(error) => return Err(AuditError::Read(error)),
    }
    let mut rows: Vec<AuditRow> = Vec::new();
    loop {
        let from = rows.last().map_or(from, |row| row.seq + 1);
        match store.audit_entries(from, 1).await {
            Ok(next) => match next.into_iter().next() {
                Some(row) => rows.push(row),
                None => return Ok(Ok(rows)),
            },
            Err(StoreError::Corrupt(source)) if rows.is_empty() => {
                let what = source.to_string();
                let seq = from.max(1);
                return Ok(Err(ChainFault::Unreadable { seq, what }));
            }
            // The rows before it are verified first.
            Err(StoreError::Corrupt(_)) => return Ok(Ok(rows)),
            Err(error) => return Err(AuditError::Read(error)),
        }
    }
}
