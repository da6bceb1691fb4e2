//! Kernel-made file descriptors (pidfds, inotify) in the runtime.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Waits for a descriptor to become readable.
#[expect(
    deprecated,
    reason = "it is unsound for descriptors that are not owned; this one is, and the replacement \
              is an unsafe function"
)]
pub(crate) fn to_async_fd(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(fd, Interest::READABLE)
}
