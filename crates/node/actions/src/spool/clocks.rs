//! The current time, by two clocks: [`ClockReading`].
//!
//! The wall clock gives the time of an event, but may be set to any value; the clock since boot
//! only goes forward. Invariant: proofs of how long an entry was kept use the latter.

use std::io;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::process::boot_id;

/// One moment by both clocks.
#[derive(Debug, Clone)]
pub(crate) struct ClockReading {
    pub(crate) wall: SystemTime,
    pub(crate) boot_id: String,
    pub(crate) since_boot: Duration,
}

impl ClockReading {
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self {
            wall: SystemTime::now(),
            boot_id: boot_id()?,
            since_boot: since_boot(),
        })
    }
}

/// Time since the machine was started, also while it slept.
pub fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::try_from(time).expect("the clock starts at 0 and does not go back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_since_boot_goes_on() {
        let before = since_boot();
        let clocks = ClockReading::read().unwrap();
        assert!(before > Duration::ZERO);
        assert!(before <= clocks.since_boot);
    }
}
