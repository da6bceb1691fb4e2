//! The end of the runs that have a lease: [`RunDrain`].
//!
//! Invariant: the lock that excludes such runs is held only as long as the caller keeps a [`RunsLeft::None`].

use std::io::{PipeWriter, Write};
use std::sync::mpsc::{self, Receiver, TryRecvError};

use super::super::lock;
use crate::leases::{LeaseError, LeaseFileLock, NodeLeases};

/// A wait for the runs that have a lease.
#[derive(Debug)]
pub(super) struct RunDrain {
    leases: NodeLeases,
    wake: PipeWriter,
    /// The lock that a thread waits for.
    awaited: Option<Receiver<LeaseFileLock>>,
}

/// The runs that have a lease.
#[derive(Debug)]
pub(super) enum RunsLeft {
    /// No run has a lease, and none can start with one as long as this lock is kept.
    None(LeaseFileLock),
    /// A run has a lease; the process id of Puppet, if it has started.
    Some(Option<u32>),
}

// === impl RunDrain ===

impl RunDrain {
    /// `wake` gets a byte when the answer may have changed.
    pub(super) fn new(leases: NodeLeases, wake: PipeWriter) -> Self {
        Self {
            leases,
            wake,
            awaited: None,
        }
    }

    /// Looks for runs. If there are any, `wake` gets a byte when they have ended.
    pub(super) fn look(&mut self) -> Result<RunsLeft, LeaseError> {
        let running = lock::read_lock_holder(&self.leases.puppet_lock());
        let Some(lock) = self.take_lock()? else {
            return Ok(RunsLeft::Some(running));
        };
        // A Puppet may have outlived a runner that was killed.
        match lock::read_lock_holder(&self.leases.puppet_lock()) {
            Some(pid) => Ok(RunsLeft::Some(Some(pid))),
            None => Ok(RunsLeft::None(lock)),
        }
    }

    /// Lets go of a lock that is not needed any more, since the lease goes on.
    pub(super) fn forget(&mut self) {
        if let Some(awaited) = self.awaited.take() {
            match awaited.try_recv() {
                Err(TryRecvError::Empty) => self.awaited = Some(awaited),
                Ok(_) | Err(TryRecvError::Disconnected) => {}
            }
        }
    }

    fn take_lock(&mut self) -> Result<Option<LeaseFileLock>, LeaseError> {
        if let Some(awaited) = self.awaited.take() {
            match awaited.try_recv() {
                Ok(lock) => return Ok(Some(lock)),
                Err(TryRecvError::Empty) => {
                    self.awaited = Some(awaited);
                    return Ok(None);
                }
                Err(TryRecvError::Disconnected) => {}
            }
        }
        if let Some(lock) = self.leases.try_lock_runs()? {
            return Ok(Some(lock));
        }
        self.await_lock();
        Ok(None)
    }

    fn await_lock(&mut self) {
        let (sender, awaited) = mpsc::channel();
        let Ok(mut wake) = self.wake.try_clone() else {
            // The caller looks again after its longest wait.
            return;
        };
        let leases = self.leases.clone();
        self.awaited = Some(awaited);
        std::thread::spawn(move || {
            if let Ok(Some(lock)) = leases.wait_for_runs() {
                let _ = sender.send(lock);
            }
            let _ = wake.write_all(&[0]);
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::{Duration, Instant};

    use super::super::events::{HolderEvents, HolderWait};
    use super::super::standard_lock::tests::PuppetProcess;
    use super::*;

    fn drain() -> (tempfile::TempDir, NodeLeases, RunDrain, std::io::PipeReader) {
        let spool = tempfile::tempdir().unwrap();
        let leases = NodeLeases::below(spool.path());
        std::fs::create_dir(leases.directory()).unwrap();
        let (woken, wake) = std::io::pipe().unwrap();
        let drain = RunDrain::new(leases.clone(), wake);
        (spool, leases, drain, woken)
    }

    #[test]
    fn a_run_is_waited_for_and_its_end_wakes() {
        let (_spool, leases, mut drain, mut woken) = drain();
        let run = leases.lock_run().unwrap().unwrap();
        for _ in 0..3 {
            assert!(matches!(drain.look().unwrap(), RunsLeft::Some(None)));
        }
        drop(run);
        woken.read_exact(&mut [0]).unwrap();
        let RunsLeft::None(lock) = drain.look().unwrap() else {
            panic!("a run is left");
        };
        assert!(leases.lock_run().unwrap().is_none(), "none can start");
        drop(lock);
        assert!(leases.lock_run().unwrap().is_some());
    }

    #[test]
    fn a_lock_that_comes_too_late_is_let_go() {
        let (_spool, leases, mut drain, mut woken) = drain();
        let run = leases.lock_run().unwrap().unwrap();
        assert!(matches!(drain.look().unwrap(), RunsLeft::Some(None)));
        drain.forget();
        drop(run);
        woken.read_exact(&mut [0]).unwrap();
        assert!(leases.lock_run().unwrap().is_none(), "the thread has it");
        drain.forget();
        assert!(leases.lock_run().unwrap().is_some());
    }

    #[test]
    fn a_look_is_no_event() {
        let (spool, leases, mut drain, _woken) = drain();
        let run = PuppetProcess::start(spool.path());
        std::fs::write(leases.puppet_lock(), format!("{}\n", run.0.id())).unwrap();
        drop(leases.lock_run().unwrap());
        let (mut events, _wake) = HolderEvents::new().unwrap();
        events.watch(leases.directory());
        let RunsLeft::Some(Some(pid)) = drain.look().unwrap() else {
            panic!("a Puppet is left without its runner");
        };
        assert_eq!(pid, run.0.id());
        let longest = Duration::from_millis(50);
        let began = Instant::now();
        events
            .wait(HolderWait {
                pid: Some(pid),
                longest,
                ..HolderWait::default()
            })
            .unwrap();
        assert!(began.elapsed() >= longest, "the look woke the lease holder");
    }
}
