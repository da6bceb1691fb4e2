//! Seeded spread of start times: [`delay_seconds`].
//!
//! Invariant: the delay of a slot is the same at every call and on every server, and it differs
//! between schedules, so that a hundred schedules of 02:00 do not start together.

use sha2::{Digest, Sha256};

/// Delay between 0 and `at_most` seconds for this slot of this schedule.
pub(crate) fn delay_seconds(schedule: i64, slot_ms: i64, at_most: u64) -> u64 {
    if at_most == 0 {
        return 0;
    }
    let mut hash = Sha256::new();
    hash.update(schedule.to_be_bytes());
    hash.update(slot_ms.to_be_bytes());
    let hash: [u8; 32] = hash.finalize().into();
    let word = hash.iter().take(8);
    let word = word.fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
    word % at_most.saturating_add(1)
}
