//! Lines pasted into the terminal while another event is awaited too: [`PastedLines`].
//!
//! Invariant: nothing here waits in a thread. A thread that reads the terminal cannot be ended, and
//! would keep the program alive until Return is pressed.

use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::defaults::PASTED_BYTES;

/// Lines of a terminal or a pipe; empty for ever if there is neither.
#[derive(Debug)]
pub(crate) struct PastedLines {
    source: Option<AsyncFd<OwnedFd>>,
    partial: Vec<u8>,
}

// === impl PastedLines ===

impl PastedLines {
    /// Reads standard input. Input that cannot be polled (a file, `/dev/null`) is ignored.
    pub(crate) fn from_stdin() -> Self {
        Self::from(std::io::stdin())
    }

    #[expect(
        deprecated,
        reason = "the name that is left is unsafe to call; what it asks for holds, for the descriptor is ours"
    )]
    fn from(source: impl AsFd) -> Self {
        let own = source.as_fd().try_clone_to_owned().ok();
        let awaited = |fd| AsyncFd::with_interest(fd, Interest::READABLE).ok();
        Self {
            source: own.and_then(awaited),
            partial: Vec::new(),
        }
    }

    /// A pipe in the place of standard input, for tests.
    #[cfg(test)]
    pub(crate) fn from_test_pipe() -> (std::io::PipeWriter, Self) {
        let (reader, writer) = std::io::pipe().unwrap();
        (writer, Self::from(&reader))
    }

    /// The next line; pending for ever at the end of the input. Cancel safe.
    pub(crate) async fn next_line(&mut self) -> String {
        loop {
            if let Some(line) = self.line() {
                return line;
            }
            let Some(source) = &self.source else {
                return std::future::pending().await;
            };
            let Ok(mut ready) = source.readable().await else {
                self.source = None;
                continue;
            };
            if !has_input(source.get_ref()) {
                ready.clear_ready();
                continue;
            }
            let mut bytes = [0; 4 << 10];
            match rustix::io::read(source.get_ref(), &mut bytes) {
                Ok(count) if count > 0 => self.partial.extend_from_slice(&bytes[..count]),
                Err(Errno::INTR | Errno::AGAIN) => {}
                Ok(_) | Err(_) => self.source = None,
            }
        }
    }

    /// A whole line, or the rest at the end of the input; `None` for a line that is too long for a
    /// URL.
    fn line(&mut self) -> Option<String> {
        let is_over = self.source.is_none() || self.partial.len() > PASTED_BYTES;
        let end = self.partial.iter().position(|byte| *byte == b'\n');
        let end = end.map_or(self.partial.len(), |end| end + 1);
        let is_whole = self.partial[..end].ends_with(b"\n");
        if !is_whole && (!is_over || self.partial.is_empty()) {
            return None;
        }
        let line: Vec<u8> = self.partial.drain(..end).collect();
        Some(String::from_utf8_lossy(&line).trim().to_owned())
    }
}

/// True if a read would not block. The descriptor stays a blocking one, since the shell shares it.
fn has_input(fd: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(fd, PollFlags::IN)];
    let now = Timespec::default();
    poll(&mut asked, Some(&now)).is_ok() && !asked[0].revents().is_empty()
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[tokio::test]
    async fn lines_come_one_by_one_and_the_last_needs_no_end() {
        let (mut writer, mut pasted) = PastedLines::from_test_pipe();
        writer.write_all(b" one \ntw").unwrap();
        assert_eq!(pasted.next_line().await, "one");
        writer.write_all(b"o\r\nthree").unwrap();
        assert_eq!(pasted.next_line().await, "two");
        drop(writer);
        assert_eq!(pasted.next_line().await, "three");
        assert!(pasted.source.is_none());
    }

    #[tokio::test]
    async fn a_file_and_an_endless_line_are_no_danger() {
        let nothing = std::fs::File::open("/dev/null").unwrap();
        assert!(PastedLines::from(&nothing).source.is_none());
        let (mut writer, mut pasted) = PastedLines::from_test_pipe();
        let writing = std::thread::spawn(move || writer.write_all(&vec![b'x'; PASTED_BYTES * 2]));
        let first = pasted.next_line().await;
        assert!(first.len() <= PASTED_BYTES + (4 << 10), "{}", first.len());
        drop(pasted);
        // Either all of it fitted into the pipe, or the reader was closed.
        let _ = writing.join().unwrap();
    }
}
