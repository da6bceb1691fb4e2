//! Events that a lease holder waits for: [`HolderEvents`].
//!
//! These are changes of files, the end of the process that has Puppet's lock (whose death changes no file), the end of the
//! lease, and the end of the runs that have the lease. Invariant: an event that happens before the wait ends the wait.

use std::io::{self, PipeReader, PipeWriter, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};

/// Sources of events.
#[derive(Debug)]
pub(super) struct HolderEvents {
    changes: OwnedFd,
    /// Timer for the end of the lease. Its clock goes on while the machine sleeps.
    timer: OwnedFd,
    drained: PipeReader,
}

/// The events that end one wait, besides changes of files.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct HolderWait {
    /// Process whose end is awaited.
    pub(super) pid: Option<u32>,
    /// Time until the end of the lease.
    pub(super) lease: Option<Duration>,
    pub(super) longest: Duration,
}

// === impl HolderEvents ===

impl HolderEvents {
    /// Also returns the pipe into which a thread writes when no run has the lease any more.
    pub(super) fn new() -> io::Result<(Self, PipeWriter)> {
        let (drained, drain) = io::pipe()?;
        let events = Self {
            changes: inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?,
            timer: timerfd_create(
                TimerfdClockId::Boottime,
                TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
            )?,
            drained,
        };
        Ok((events, drain))
    }

    /// Watches a directory from now on. May be repeated, for a directory that was replaced.
    pub(super) fn watch(&self, directory: &Path) {
        let changes = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR;
        // Without a watch, the longest wait counts.
        let _ = inotify::add_watch(&self.changes, directory, changes);
    }

    /// Waits for the next event.
    pub(super) fn wait(&mut self, wait: HolderWait) -> io::Result<()> {
        let process = match wait.pid.map(open_process) {
            Some(Ok(process)) => Some(process),
            // It has ended.
            Some(Err(Errno::SRCH)) => return Ok(()),
            // Its end is noticed after the longest wait.
            Some(Err(_)) | None => None,
        };
        self.set_timer(wait.lease)?;
        let longest = Timespec::try_from(wait.longest).map_err(io::Error::other)?;
        let readable = PollFlags::IN;
        let mut sources = vec![
            PollFd::new(&self.changes, readable),
            PollFd::new(&self.timer, readable),
            PollFd::new(&self.drained, readable),
        ];
        sources.extend(process.as_ref().map(|it| PollFd::new(it, readable)));
        match poll(&mut sources, Some(&longest)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let is_drained = !sources[2].revents().is_empty();
        drop(sources);
        self.discard_events(is_drained)
    }

    fn set_timer(&self, left: Option<Duration>) -> io::Result<()> {
        // Zero would stop the timer.
        let left = left.map(|left| left.max(Duration::from_nanos(1)));
        let it_value = Timespec::try_from(left.unwrap_or_default()).map_err(io::Error::other)?;
        let once = Itimerspec {
            it_interval: Timespec::default(),
            it_value,
        };
        timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// The caller looks at everything after each wait, so the events themselves say nothing.
    fn discard_events(&mut self, is_drained: bool) -> io::Result<()> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut changes = inotify::Reader::new(&self.changes, &mut buffer);
        loop {
            match changes.next() {
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => return Err(errno.into()),
            }
        }
        if is_drained {
            // One byte for each thread that has ended.
            self.drained.read_exact(&mut [0])?;
        }
        Ok(())
    }
}

fn open_process(pid: u32) -> Result<OwnedFd, Errno> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pidfd_open(pid.ok_or(Errno::SRCH)?, PidfdFlags::empty())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};
    use std::time::Instant;

    use super::*;

    /// Far longer than any step of these tests.
    const LONG: Duration = Duration::from_secs(60);

    fn wait_for(events: &mut HolderEvents, wait: HolderWait) {
        let began = Instant::now();
        events
            .wait(HolderWait {
                longest: LONG,
                ..wait
            })
            .unwrap();
        assert!(began.elapsed() < LONG, "no event");
    }

    #[test]
    fn each_event_ends_the_wait() {
        let dir = tempfile::tempdir().unwrap();
        let (mut events, mut drain) = HolderEvents::new().unwrap();
        events.watch(dir.path());
        events.watch(dir.path());
        std::fs::write(dir.path().join("lease.json"), "x").unwrap();
        wait_for(&mut events, HolderWait::default());
        std::fs::remove_file(dir.path().join("lease.json")).unwrap();
        wait_for(&mut events, HolderWait::default());
        let lease = Some(Duration::from_millis(1));
        wait_for(
            &mut events,
            HolderWait {
                lease,
                ..HolderWait::default()
            },
        );
        drain.write_all(&[0]).unwrap();
        wait_for(&mut events, HolderWait::default());

        let mut run = Command::new("/bin/sh")
            .args(["-c", "read line"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = Some(run.id());
        drop(run.stdin.take());
        wait_for(
            &mut events,
            HolderWait {
                pid,
                ..HolderWait::default()
            },
        );
        run.wait().unwrap();
        wait_for(
            &mut events,
            HolderWait {
                pid,
                ..HolderWait::default()
            },
        );
    }

    #[test]
    fn an_event_counts_once() {
        let dir = tempfile::tempdir().unwrap();
        let (mut events, mut drain) = HolderEvents::new().unwrap();
        events.watch(dir.path());
        drain.write_all(&[0]).unwrap();
        std::fs::write(dir.path().join("lease.json"), "x").unwrap();
        wait_for(&mut events, HolderWait::default());
        let short = Duration::from_millis(20);
        let began = Instant::now();
        let longest = short;
        events
            .wait(HolderWait {
                longest,
                ..HolderWait::default()
            })
            .unwrap();
        assert!(began.elapsed() >= short);
    }
}
