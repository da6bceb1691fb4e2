//! Buffers that a thread lends to whichever connection is moving bytes at the moment.
//!
//! The rule: lent for one synchronous step, never across an await.

use std::cell::RefCell;

/// What one read takes from the kernel: three full TLS records, behind the tail of an incomplete
/// one or of a handshake flight.
pub(crate) const INPUT_BYTES: usize = 96 * 1024;

/// Plaintext of one record at most.
pub(super) const RECORD_PLAIN_BYTES: usize = 16 * 1024;

/// One record with its header and the overhead of every cipher of TLS 1.2 and 1.3.
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
