//! The process that keeps Puppet's lock of a run in progress for a lease: [`LeaseHolder`].
//!
//! The agent starts it, and it depends on nothing but the files of the lease afterwards ([`crate::leases`]). Its name in
//! `ps` is one that Puppet's rule about stale locks takes for a Puppet, so every Puppet on the node gives way to it. If it
//! is killed, its lock is stale, and the next Puppet removes it. Invariant: it keeps the lock of a lease until no run that has
//! the lease is left, also beyond the end of the lease.

mod drain;
mod events;
mod standard_lock;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use error_causes::chain;
use uuid::Uuid;

use self::drain::{RunDrain, RunsLeft};
use self::events::{HolderEvents, HolderWait};
use self::standard_lock::{LockAttempt, StandardRunLock};
use super::runner_request::settings_file;
use super::settings::read_or_query;
use crate::defaults::{LEASE_LOOK_INTERVAL, LOCK_LOOK_INTERVAL};
use crate::leases::{
    HolderClaim, HolderProgress, HolderRecord, LeaseTerm, NodeLeases, StoredLease,
};
use crate::spool::ClockReading;

/// First argument of a lease holder; a wrapper has the spool entry in this position.
pub(crate) const LEASE_HOLDER: &str = "--lease-holder";

/// Name of the process. Puppet's rule is `/puppet(-.*)?$/`, and the kernel keeps 15 bytes.
const PROCESS_NAME: &std::ffi::CStr = c"puppet-lease";

/// The first descriptor that is inherited unintentionally: after stdin, stdout and stderr.
const FIRST_INHERITED: i32 = 3;

/// Runs the lease holder. `args` is the spool, and the directory with `pxp-module-puppet.conf` if there is one. Must be called
/// before any thread is started.
pub(crate) fn holder_main(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(spool) = args.next().map(PathBuf::from).filter(|it| it.is_absolute()) else {
        return ExitCode::from(2);
    };
    // The lock must not count as stale for a moment.
    if rustix::thread::set_name(PROCESS_NAME).is_err() {
        return ExitCode::FAILURE;
    }
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    // A new session: signals to the agent's terminal or group do not arrive.
    let _ = rustix::process::setsid();
    let leases = NodeLeases::below(&spool);
    let (Ok(claim), Ok((events, wake))) = (leases.begin_holding(), HolderEvents::new()) else {
        // The next request to hold the lease starts another one.
        return ExitCode::FAILURE;
    };
    let Some(claim) = claim else {
        return ExitCode::SUCCESS;
    };
    let earlier = claim.earlier.as_ref();
    let holder = LeaseHolder {
        drained_for: earlier
            .filter(|earlier| earlier.progress == HolderProgress::Held)
            .map(|earlier| earlier.lease),
        drain: RunDrain::new(leases.clone(), wake),
        leases,
        settings_file: settings_file(&spool),
        modules_config_dir: args.next().map(PathBuf::from),
        events,
        lock: None,
        record_after: None,
        failed_attempt: None,
    };
    holder.run(claim)
}

/// A lease holder.
struct LeaseHolder {
    leases: NodeLeases,
    /// Path of the file that stores Puppet's settings.
    settings_file: PathBuf,
    modules_config_dir: Option<PathBuf>,
    events: HolderEvents,
    drain: RunDrain,
    /// Puppet's lock; `None` until Puppet's settings are known.
    lock: Option<StandardRunLock>,
    /// The lease at whose begin no run of an earlier one was left.
    drained_for: Option<Uuid>,
    /// Time before which a record that could not be written is not written again: each attempt changes the directory,
    /// which is an event.
    record_after: Option<Instant>,
    /// The last attempt to take Puppet's lock, if it failed.
    failed_attempt: Option<FailedAttempt>,
}

/// An attempt to take Puppet's lock that failed. It may have created and removed a file beside the lock, which is an event
/// too, so it is not repeated at the next one.
struct FailedAttempt {
    message: String,
    repeat_at: Instant,
}

// === impl LeaseHolder ===

impl LeaseHolder {
    fn run(mut self, mut claim: HolderClaim) -> ExitCode {
        loop {
            // Before the look, so that a change after it is an event.
            self.events.watch(self.leases.directory());
            let Ok(now) = ClockReading::read() else {
                return ExitCode::FAILURE;
            };
            let wait = match self.leases.read_wanted(&now) {
                Some(lease) => self.keep(&lease, &now),
                None => match self.give_up(claim) {
                    Some((kept, wait)) => {
                        claim = kept;
                        wait
                    }
                    None => return ExitCode::SUCCESS,
                },
            };
            if self.events.wait(wait).is_err() {
                return ExitCode::FAILURE;
            }
        }
    }

    /// Holds the lease as far as possible now, and returns the events for the next look.
    fn keep(&mut self, lease: &StoredLease, now: &ClockReading) -> HolderWait {
        let (progress, longest) = match self.take(lease) {
            Ok(taken) => taken,
            Err(message) => {
                let longest = self.time_to_next_attempt().unwrap_or(LEASE_LOOK_INTERVAL);
                (HolderProgress::Refused { message }, longest)
            }
        };
        let pid = match progress {
            HolderProgress::Waiting { run_pid } => run_pid,
            HolderProgress::Held | HolderProgress::Refused { .. } => None,
        };
        self.record(lease.lease, progress);
        let lease = match lease.term(now) {
            LeaseTerm::Ends(left) => Some(left),
            LeaseTerm::Over => Some(Duration::ZERO),
            LeaseTerm::UntilReleased => None,
        };
        HolderWait {
            pid,
            lease,
            longest,
        }
    }

    fn time_to_next_attempt(&self) -> Option<Duration> {
        let failed = self.failed_attempt.as_ref()?;
        let left = failed.repeat_at.checked_duration_since(Instant::now())?;
        (!left.is_zero()).then_some(left)
    }

    /// Takes Puppet's lock. Returns the progress and the longest time to the next look.
    fn take(&mut self, lease: &StoredLease) -> Result<(HolderProgress, Duration), String> {
        let waiting = |run_pid, longest| Ok((HolderProgress::Waiting { run_pid }, longest));
        let is_too_early = self.time_to_next_attempt().is_some();
        match self.failed_attempt.take() {
            Some(failed) if is_too_early => {
                return Err(self.failed_attempt.insert(failed).message.clone());
            }
            _ => {}
        }
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => self.find_lock()?,
        };
        self.events.watch(lock.directory());
        let attempt = lock.take();
        let lock = self.lock.insert(lock);
        match attempt {
            Ok(LockAttempt::Taken) => {}
            Ok(LockAttempt::Busy(pid)) => return waiting(Some(pid), LEASE_LOOK_INTERVAL),
            Ok(LockAttempt::Unclear) => return waiting(None, LOCK_LOOK_INTERVAL),
            Err(error) => {
                let message = format!("cannot take Puppet's lock {lock}: {error}");
                let failed = self.failed_attempt.insert(FailedAttempt {
                    message,
                    repeat_at: Instant::now() + LEASE_LOOK_INTERVAL,
                });
                return Err(failed.message.clone());
            }
        }
        if self.drained_for == Some(lease.lease) {
            self.drain.forget();
            return Ok((HolderProgress::Held, LEASE_LOOK_INTERVAL));
        }
        match self.drain.look().map_err(|error| chain(&error))? {
            RunsLeft::Some(pid) => waiting(pid, LEASE_LOOK_INTERVAL),
            RunsLeft::None(_) => {
                self.drained_for = Some(lease.lease);
                Ok((HolderProgress::Held, LEASE_LOOK_INTERVAL))
            }
        }
    }

    fn find_lock(&self) -> Result<StandardRunLock, String> {
        let settings = read_or_query(&self.settings_file, self.modules_config_dir.as_deref())?;
        Ok(StandardRunLock::new(
            settings.agent_catalog_run_lockfile,
            std::process::id(),
        ))
    }

    /// Ends this lease holder, unless a run that has the lease is left or there is a lease again. The claim is returned if
    /// it has to go on.
    fn give_up(&mut self, claim: HolderClaim) -> Option<(HolderClaim, HolderWait)> {
        let mut wait = HolderWait {
            longest: LEASE_LOOK_INTERVAL,
            ..HolderWait::default()
        };
        let lock = self.lock.as_ref().filter(|lock| lock.is_own());
        let runs = match lock {
            Some(_) => self.drain.look(),
            None => return self.end(claim, wait),
        };
        match runs {
            Ok(RunsLeft::Some(pid)) => {
                wait.pid = pid;
                Some((claim, wait))
            }
            Ok(RunsLeft::None(excluded)) => {
                let ended = self.end(claim, wait);
                drop(excluded);
                ended
            }
            Err(_) if self.leases.directory().exists() => Some((claim, wait)),
            // The files of the lease are gone, and with them the way to know of runs.
            Err(_) => self.end(claim, wait),
        }
    }

    fn end(&self, claim: HolderClaim, wait: HolderWait) -> Option<(HolderClaim, HolderWait)> {
        let give_back = || {
            if let Some(lock) = &self.lock {
                lock.give_back();
            }
        };
        let kept = self.leases.end_holding(claim, give_back)?;
        Some((kept, wait))
    }

    /// Records the progress, also if the record was removed.
    fn record(&mut self, lease: Uuid, progress: HolderProgress) {
        let record = HolderRecord {
            pid: std::process::id(),
            lease,
            progress,
        };
        let is_too_early = self.record_after.is_some_and(|time| Instant::now() < time);
        if is_too_early || self.leases.read_record().as_ref() == Some(&record) {
            return;
        }
        let failed = self.leases.record(&record).is_err();
        self.record_after = failed.then(|| Instant::now() + LEASE_LOOK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::standard_lock::tests::PuppetProcess;
    use super::*;

    #[test]
    fn a_failed_attempt_to_take_the_lock_is_not_repeated_at_once() {
        let spool = tempfile::tempdir().unwrap();
        let leases = NodeLeases::below(spool.path());
        std::fs::create_dir(leases.directory()).unwrap();
        let own = PuppetProcess::start(spool.path());
        let path = spool.path().join("state/lock");
        std::fs::create_dir_all(&path).unwrap();
        let (events, wake) = HolderEvents::new().unwrap();
        let mut holder = LeaseHolder {
            drain: RunDrain::new(leases.clone(), wake),
            leases,
            settings_file: PathBuf::new(),
            modules_config_dir: None,
            events,
            lock: Some(StandardRunLock::new(path.clone(), own.0.id())),
            drained_for: None,
            record_after: None,
            failed_attempt: None,
        };
        let lease = StoredLease {
            lease: Uuid::from_u128(1),
            job: String::new(),
            reason: String::new(),
            requester: String::new(),
            end: None,
            replaced: None,
        };
        let message = holder.take(&lease).unwrap_err();
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(holder.take(&lease), Err(message), "without an attempt");
        assert!(!path.exists());
        let left = holder.time_to_next_attempt().unwrap();
        assert!(left <= LEASE_LOOK_INTERVAL);
        holder.failed_attempt.as_mut().unwrap().repeat_at = Instant::now();
        let (progress, _) = holder.take(&lease).unwrap();
        assert_eq!(progress, HolderProgress::Held);
        assert!(holder.failed_attempt.is_none());
    }
}
