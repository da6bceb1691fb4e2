//! Slows down two machines with one certificate, which supersede each other without end.
//!
//! [`SupersedeDamper`] is a state machine without a clock: the caller passes the time. Invariant: a
//! certname that superseded itself only a few times within the window is not delayed, and a delayed
//! one has a single waiting connection ([`DampedCertnames`]).

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pcp::Certname;

use crate::defaults::{
    DUPLICATE_DELAY, DUPLICATE_DELAY_MAX, DUPLICATE_TOLERANCE, DUPLICATE_WINDOW,
};

/// Number of entries at which outdated ones are removed. Only certnames that superseded themselves
/// have one.
const PRUNE_AT: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct SupersedeDamper {
    names: HashMap<Certname, SupersedeRecord>,
    prune_at: usize,
}

#[derive(Debug)]
struct SupersedeRecord {
    /// Number of supersedings, reduced by one for each window without a further one.
    count: u32,
    last: Instant,
}

/// Delay of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DampingDelay {
    /// Time to wait before association; zero within the tolerance.
    pub(crate) delay: Duration,
    /// Recent supersedings of the certname.
    pub(crate) count: u32,
}

/// Certnames with a connection that waits.
#[derive(Debug, Default)]
pub(crate) struct DampedCertnames {
    names: Mutex<HashSet<Certname>>,
}

/// The waiting connection of a certname; another may wait when it is dropped.
#[derive(Debug)]
pub(crate) struct DampedConnection<'a> {
    names: &'a DampedCertnames,
    certname: Certname,
}

impl DampedCertnames {
    /// Registers a waiting connection; `None` if another one of this certname waits.
    pub(crate) fn enter(&self, certname: &Certname) -> Option<DampedConnection<'_>> {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(certname.clone()).then(|| DampedConnection {
            names: self,
            certname: certname.clone(),
        })
    }
}

impl Drop for DampedConnection<'_> {
    fn drop(&mut self) {
        let names = &self.names.names;
        let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
        names.remove(&self.certname);
    }
}

impl SupersedeDamper {
    /// Records that a client of `certname` supersedes a live session of the same name.
    pub(crate) fn record_superseding(&mut self, certname: &Certname, now: Instant) -> DampingDelay {
        self.prune(now);
        let record = self
            .names
            .entry(certname.clone())
            .or_insert(SupersedeRecord {
                count: 0,
                last: now,
            });
        record.age(now);
        record.count = record.count.saturating_add(1);
        record.last = now;
        DampingDelay {
            delay: delay(record.count),
            count: record.count,
        }
    }

    fn prune(&mut self, now: Instant) {
        if self.names.len() >= self.prune_at.max(PRUNE_AT) {
            self.names.retain(|_, record| {
                record.age(now);
                record.count > 0
            });
            self.prune_at = self.names.len() * 2;
        }
    }
}

impl SupersedeRecord {
    fn age(&mut self, now: Instant) {
        let quiet = now.saturating_duration_since(self.last);
        let windows = quiet.as_secs() / DUPLICATE_WINDOW.as_secs();
        if windows > 0 {
            self.count = self
                .count
                .saturating_sub(u32::try_from(windows).unwrap_or(u32::MAX));
            self.last = now;
        }
    }
}

fn delay(count: u32) -> Duration {
    let Some(doublings) = count.checked_sub(DUPLICATE_TOLERANCE + 1) else {
        return Duration::ZERO;
    };
    // 2^5 s is above the maximum already.
    DUPLICATE_DELAY
        .saturating_mul(1 << doublings.min(5))
        .min(DUPLICATE_DELAY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> Certname {
        "web1.example".parse().expect("a certname")
    }

    #[test]
    fn a_few_are_free_then_the_delay_grows_to_its_maximum() {
        let mut damper = SupersedeDamper::default();
        let now = Instant::now();
        let delays: Vec<u64> = (0..10)
            .map(|_| damper.record_superseding(&name(), now).delay.as_secs())
            .collect();
        assert_eq!(delays, [0, 0, 0, 1, 2, 4, 8, 16, 30, 30]);
    }

    #[test]
    fn quiet_windows_are_forgiven_one_by_one() {
        let mut damper = SupersedeDamper::default();
        let now = Instant::now();
        for _ in 0..6 {
            damper.record_superseding(&name(), now);
        }
        let later = now + DUPLICATE_WINDOW * 3;
        assert_eq!(
            damper.record_superseding(&name(), later),
            DampingDelay {
                delay: Duration::from_secs(1),
                count: 4
            }
        );
        let much_later = later + DUPLICATE_WINDOW * 100;
        assert_eq!(
            damper.record_superseding(&name(), much_later).delay,
            Duration::ZERO
        );
    }

    #[test]
    fn one_connection_of_a_name_waits_at_a_time() {
        let room = DampedCertnames::default();
        let other = "web2.example".parse().expect("a certname");
        let seat = room.enter(&name()).expect("the first one");
        assert!(room.enter(&name()).is_none());
        assert!(room.enter(&other).is_some(), "another name");
        drop(seat);
        assert!(room.enter(&name()).is_some(), "the first one is gone");
    }

    #[test]
    fn names_are_forgotten() {
        let mut damper = SupersedeDamper::default();
        let now = Instant::now();
        for i in 0..PRUNE_AT {
            damper.record_superseding(&format!("n{i}").parse().expect("a certname"), now);
        }
        damper.record_superseding(&name(), now + DUPLICATE_WINDOW * 10);
        assert_eq!(damper.names.len(), 1);
    }
}
