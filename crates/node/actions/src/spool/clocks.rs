//! What time it is, by two clocks: [`Clocks`].
//!
//! The wall clock says when something was, and may be set to anything by anyone; the clock since
//! boot only ever goes on. The rule: what proves how long something is kept goes by the latter.

use std::io;
use std::time::{Duration, SystemTime};

use rustix::time::{ClockId, clock_gettime};

use crate::process::boot_id;

/// One moment.
#[derive(Debug, Clone)]
pub(crate) struct Clocks {
    pub(crate) wall: SystemTime,
    pub(crate) boot_id: String,
    pub(crate) since_boot: Duration,
}

impl Clocks {
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self {
            wall: SystemTime::now(),
            boot_id: boot_id()?,
            since_boot: since_boot(),
        })
    }
}

/// Time since the machine was started, also while it slept.
pub(crate) fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::try_from(time).expect("the clock starts at 0 and does not go back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_since_boot_goes_on() {
        let before = since_boot();
        let clocks = Clocks::read().unwrap();
        assert!(before > Duration::ZERO);
        assert!(before <= clocks.since_boot);
    }
}
