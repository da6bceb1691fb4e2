//! The medium as a file for a loop device: [`BlockFile`], a FUSE file system with one file.
//!
//! Invariant: once the power is off, nothing more reaches the medium. Writes and flushes that
//! arrive then wait unanswered until the processes of the machine are killed, and fail afterwards,
//! so that no program can consider one completed.

use std::ffi::OsStr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, LockOwner,
    OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request,
    WriteFlags,
};

use super::medium::Medium;

/// The file system; clones share the medium.
#[derive(Clone, Debug)]
pub(super) struct BlockFile {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    size_bytes: u64,
    state: Mutex<State>,
    /// Notifies waiters that the power went off.
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    medium: Medium,
    power: Power,
    /// Number of times that the power was switched on; it distinguishes the requests of earlier
    /// machines.
    machine: u64,
    /// Number of writes and flushes since the power was switched on.
    events: u64,
    /// The number of events at which the power goes off by itself.
    cut_at: Option<u64>,
    held: Vec<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Power {
    On,
    /// The power is off: requests wait.
    Off,
    /// The disk is gone: requests fail.
    Gone,
}

/// A request that waits for the end of its process.
#[derive(Debug)]
enum Held {
    Write(ReplyWrite),
    Flush(ReplyEmpty),
}

/// Time for which the kernel may cache names and sizes: they change only with the machine's number.
const VALID: Duration = Duration::from_secs(3600);

// === impl BlockFile ===

impl BlockFile {
    pub(super) fn new(size_bytes: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                size_bytes,
                state: Mutex::new(State {
                    medium: Medium::default(),
                    power: Power::Gone,
                    machine: 0,
                    events: 0,
                    cut_at: None,
                    held: Vec::new(),
                }),
                changed: Condvar::new(),
            }),
        }
    }

    /// Switches the power on over this medium; returns the name of the file.
    pub(super) fn power_on(&self, medium: Medium) -> String {
        let mut state = self.state();
        state.medium = medium;
        state.power = Power::On;
        state.machine += 1;
        state.events = 0;
        state.cut_at = None;
        file_name(state.machine)
    }

    /// Makes the power fail after this number of further writes and flushes.
    pub(super) fn cut_after(&self, events: u64) {
        let mut state = self.state();
        state.cut_at = Some(state.events + events);
    }

    /// Number of writes and flushes since the power was switched on.
    pub(super) fn events(&self) -> u64 {
        self.state().events
    }

    /// Waits until the power has failed by itself, at most for this time; `false` if it is still
    /// on.
    pub(super) fn wait_off(&self, at_most: Duration) -> bool {
        let state = self.state();
        let waited = self
            .shared
            .changed
            .wait_timeout_while(state, at_most, |state| state.power == Power::On);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.power != Power::On
    }

    /// Switches the power off, unless it is off already; requests wait from now on.
    pub(super) fn power_off(&self) {
        let mut state = self.state();
        if state.power == Power::On {
            state.power = Power::Off;
            self.shared.changed.notify_all();
        }
    }

    /// Makes all requests fail, waiting and future ones.
    pub(super) fn fail_requests(&self) {
        let held = {
            let mut state = self.state();
            state.power = Power::Gone;
            std::mem::take(&mut state.held)
        };
        for held in held {
            match held {
                Held::Write(reply) => reply.error(Errno::EIO),
                Held::Flush(reply) => reply.error(Errno::EIO),
            }
        }
    }

    /// The current medium.
    pub(super) fn medium(&self) -> Medium {
        self.state().medium.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        state.unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, for a request that changes the medium; `None` if the request is of an earlier
    /// machine.
    fn begin(&self, inode: INodeNo) -> Option<MutexGuard<'_, State>> {
        let mut state = self.state();
        if inode != file_inode(state.machine) {
            return None;
        }
        if state.power == Power::On {
            if state.cut_at.is_some_and(|at| state.events >= at) {
                state.power = Power::Off;
                self.shared.changed.notify_all();
            }
            state.events += 1;
        }
        Some(state)
    }

    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let (kind, perm, size) = match inode {
            INodeNo::ROOT => (FileType::Directory, 0o700, 0),
            _ => (FileType::RegularFile, 0o600, self.shared.size_bytes),
        };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

fn file_name(machine: u64) -> String {
    format!("disk-{machine}")
}

/// The inode of the file of a machine; the root has number 1.
fn file_inode(machine: u64) -> INodeNo {
    INodeNo(machine + 1)
}

impl Filesystem for BlockFile {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let machine = self.state().machine;
        match name.to_str() == Some(&file_name(machine)) {
            true => {
                let attributes = self.attributes(file_inode(machine));
                reply.entry(&VALID, &attributes, Generation(0));
            }
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&VALID, &self.attributes(inode));
    }

    // The kernel must not cache the file's content, which would survive a cut.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let left = self.shared.size_bytes.saturating_sub(offset);
        let mut bytes = vec![0; left.min(u64::from(size)) as usize];
        self.state().medium.read(offset, &mut bytes);
        reply.data(&bytes);
    }

    fn write(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some(mut state) = self.begin(inode) else {
            return reply.error(Errno::EIO);
        };
        match state.power {
            Power::On => {
                state.medium.write(offset, data);
                drop(state);
                // The kernel never writes more at once than a `u32` can count.
                reply.written(data.len() as u32);
            }
            Power::Off => state.held.push(Held::Write(reply)),
            Power::Gone => reply.error(Errno::EIO),
        }
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        let Some(mut state) = self.begin(inode) else {
            return reply.error(Errno::EIO);
        };
        match state.power {
            Power::On => {
                state.medium.flush();
                drop(state);
                reply.ok();
            }
            Power::Off => state.held.push(Held::Flush(reply)),
            Power::Gone => reply.error(Errno::EIO),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u64,
        _: i32,
        reply: ReplyEmpty,
    ) {
        reply.error(Errno::EOPNOTSUPP);
    }
}
