//! Buffers of a thread, shared by its connections.
//!
//! Invariant: they are used within one synchronous step, never across an await.

use std::cell::RefCell;

/// Bytes of one read: three full TLS records, after the tail of an incomplete record or handshake
/// flight.
pub(crate) const INPUT_BYTES: usize = 96 * 1024;

/// Most plaintext of one record, in bytes.
pub(super) const RECORD_PLAIN_BYTES: usize = 16 * 1024;

/// Size of a record with its header and the overhead of every cipher of TLS 1.2 and 1.3.
pub(super) const RECORD_BYTES: usize = RECORD_PLAIN_BYTES + 512;

pub(super) struct TlsScratch {
    pub(super) input: Vec<u8>,
    pub(super) record: Vec<u8>,
}

thread_local! {
    static SCRATCH: RefCell<TlsScratch> = const {
        RefCell::new(TlsScratch { input: Vec::new(), record: Vec::new() })
    };
}

pub(super) fn with_scratch<R>(step: impl FnOnce(&mut TlsScratch) -> R) -> R {
    SCRATCH.with_borrow_mut(|scratch| {
        if scratch.input.is_empty() {
            scratch.input.resize(INPUT_BYTES, 0);
            scratch.record.resize(RECORD_BYTES, 0);
        }
        step(scratch)
    })
}
