//! Connection to a process: frames with a time budget, and the text that the process prints. Main type:
//! [`Channel`].
//!
//! Invariant: printed text is read while frames are awaited, so a process that prints never blocks, and
//! one that prints more than its bound is noticed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::defaults::READ_SIZE;
use crate::frame::FrameBuffer;

/// Frames of one process. The socket is non-blocking.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: UnixStream,
    output: Option<PrintedOutput>,
    received: FrameBuffer,
    buffer: Box<[u8]>,
    frame_max: usize,
}

/// Text that a process prints to stdout and stderr.
#[derive(Debug)]
struct PrintedOutput {
    pipe: OwnedFd,
    text: Vec<u8>,
    max: usize,
    is_closed: bool,
}

/// Time that is left for a process, without the time that the caller takes.
#[derive(Debug)]
pub(crate) struct TimeBudget(Duration);

#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("it ended")]
    Closed,
    #[error("it did not answer in time")]
    TimedOut,
    #[error("its message is too long")]
    TooLong,
    #[error("it printed too much")]
    TooMuchOutput,
    #[error(transparent)]
    Io(#[from] io::Error),
}

// === impl TimeBudget ===

impl TimeBudget {
    pub(crate) const fn new(time: Duration) -> Self {
        Self(time)
    }

    fn spend(&mut self, since: Instant) -> Result<(), ChannelError> {
        self.0 = self.0.saturating_sub(since.elapsed());
        if self.0.is_zero() {
            return Err(ChannelError::TimedOut);
        }
        Ok(())
    }
}

// === impl Channel ===

impl Channel {
    /// A connection, with the pipe of the process's output and its greatest length.
    pub(crate) fn new(
        socket: UnixStream,
        output: Option<(OwnedFd, usize)>,
        frame_max: usize,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let output = match output {
            Some((pipe, max)) => {
                rustix::io::ioctl_fionbio(&pipe, true)?;
                Some(PrintedOutput {
                    pipe,
                    text: Vec::new(),
                    max,
                    is_closed: false,
                })
            }
            None => None,
        };
        Ok(Self {
            socket,
            output,
            received: FrameBuffer::default(),
            buffer: vec![0; READ_SIZE].into_boxed_slice(),
            frame_max,
        })
    }

    pub(crate) fn socket(&self) -> &UnixStream {
        &self.socket
    }

    /// Sends a frame.
    pub(crate) fn send(
        &mut self,
        mut frame: &[u8],
        budget: &mut TimeBudget,
    ) -> Result<(), ChannelError> {
        while !frame.is_empty() {
            match send(&self.socket, frame, SendFlags::NOSIGNAL) {
                Ok(sent) => frame = &frame[sent.min(frame.len())..],
                Err(Errno::AGAIN) => self.wait(PollFlags::OUT, budget)?,
                Err(Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => return Err(ChannelError::Closed),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
        Ok(())
    }

    /// Awaits the next frame.
    pub(crate) fn receive(&mut self, budget: &mut TimeBudget) -> Result<Vec<u8>, ChannelError> {
        loop {
            let frame = self.received.take(self.frame_max);
            if let Some(frame) = frame.map_err(|_| ChannelError::TooLong)? {
                return Ok(frame);
            }
            self.wait(PollFlags::IN, budget)?;
            match rustix::io::read(&self.socket, &mut self.buffer[..]) {
                Ok(0) | Err(Errno::CONNRESET) => return Err(ChannelError::Closed),
                Ok(length) => self.received.extend(&self.buffer[..length]),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }

    /// Takes the printed text, read as UTF-8 with replacement characters.
    pub(crate) fn take_output(&mut self) -> Result<Option<String>, ChannelError> {
        let Some(output) = &mut self.output else {
            return Ok(None);
        };
        let read = output.read(&mut self.buffer);
        let text = std::mem::take(&mut output.text);
        read?;
        Ok((!text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned()))
    }

    /// The last printed bytes that were not taken.
    pub(crate) fn output_tail(&mut self, max: usize) -> String {
        let Some(output) = &mut self.output else {
            return String::new();
        };
        // the process is dead: its last lines are wanted, and errors change nothing
        let _ = output.read(&mut self.buffer);
        let start = output.text.len().saturating_sub(max);
        String::from_utf8_lossy(&output.text[start..]).into_owned()
    }

    /// Waits until the socket is ready, and reads printed text meanwhile.
    fn wait(&mut self, flags: PollFlags, budget: &mut TimeBudget) -> Result<(), ChannelError> {
        loop {
            let since = Instant::now();
            let (is_socket_ready, has_output) = self.poll_once(flags, budget.0)?;
            if has_output && let Some(output) = &mut self.output {
                output.read(&mut self.buffer)?;
            }
            budget.spend(since)?;
            if is_socket_ready {
                return Ok(());
            }
        }
    }

    fn poll_once(&self, flags: PollFlags, time: Duration) -> Result<(bool, bool), ChannelError> {
        let mut polled = Vec::with_capacity(2);
        polled.push(PollFd::from_borrowed_fd(self.socket.as_fd(), flags));
        if let Some(output) = self.output.as_ref().filter(|output| !output.is_closed) {
            polled.push(PollFd::from_borrowed_fd(output.pipe.as_fd(), PollFlags::IN));
        }
        let timeout = Timespec::try_from(time).ok();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let is_ready = |index: usize| {
            let fd: Option<&PollFd<'_>> = polled.get(index);
            fd.is_some_and(|fd| !fd.revents().is_empty())
        };
        Ok((is_ready(0), is_ready(1)))
    }
}

// === impl PrintedOutput ===

impl PrintedOutput {
    /// Reads the text that the pipe has.
    fn read(&mut self, buffer: &mut [u8]) -> Result<(), ChannelError> {
        loop {
            match rustix::io::read(&self.pipe, &mut *buffer) {
                Ok(0) => {
                    self.is_closed = true;
                    return Ok(());
                }
                Ok(length) => {
                    self.text.extend_from_slice(&buffer[..length]);
                    if self.text.len() > self.max {
                        self.text.truncate(self.max);
                        return Err(ChannelError::TooMuchOutput);
                    }
                }
                Err(Errno::INTR) => {}
                Err(_) => return Ok(()),
            }
        }
    }
}
