//! Connection to a process: frames with a time budget, and the text that the process prints. Main type:
//! [`Channel`].
//!
//! Invariants: printed text is read while frames are awaited, so a process that prints never blocks, and
//! one that prints more than its bound is noticed; the end of the process is noticed even if another process
//! holds its socket; an interruption ends every wait.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::defaults::READ_SIZE;
use crate::frame::FrameBuffer;
use crate::interrupt::RubyInterrupt;

/// Frames of one process. The socket is non-blocking.
#[derive(Debug)]
pub(crate) struct Channel {
    socket: UnixStream,
    output: Option<PrintedOutput>,
    /// Readable when the process has ended; `None` if only the socket shows it.
    process: Option<OwnedFd>,
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
pub(crate) struct TimeBudget {
    left: Duration,
    /// Ends the time early.
    interrupt: Option<RubyInterrupt>,
}

/// The descriptors of a channel that are ready.
#[derive(Debug, Default, Clone, Copy)]
struct Ready {
    socket: bool,
    output: bool,
    process: bool,
    interrupt: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ChannelError {
    #[error("it ended")]
    Closed,
    #[error("it did not answer in time")]
    TimedOut,
    #[error("the wait for it was interrupted")]
    Interrupted,
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
        Self {
            left: time,
            interrupt: None,
        }
    }

    /// A time that `interrupt` ends early.
    pub(crate) fn interruptible(time: Duration, interrupt: Option<&RubyInterrupt>) -> Self {
        Self {
            left: time,
            interrupt: interrupt.cloned(),
        }
    }

    pub(crate) const fn left(&self) -> Duration {
        self.left
    }

    pub(crate) const fn set_left(&mut self, left: Duration) {
        self.left = left;
    }

    fn spend(&mut self, since: Instant) -> Result<(), ChannelError> {
        self.left = self.left.saturating_sub(since.elapsed());
        if self.left.is_zero() {
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
            process: None,
            received: FrameBuffer::default(),
            buffer: vec![0; READ_SIZE].into_boxed_slice(),
            frame_max,
        })
    }

    /// The channel with a descriptor of the process, which may end while others hold its socket.
    pub(crate) fn with_process(self, process: Option<OwnedFd>) -> Self {
        Self { process, ..self }
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
            let ready = self.poll_once(flags, budget)?;
            if ready.output
                && let Some(output) = &mut self.output
            {
                output.read(&mut self.buffer)?;
            }
            if ready.interrupt {
                return Err(ChannelError::Interrupted);
            }
            budget.spend(since)?;
            if ready.socket {
                return Ok(());
            }
            if ready.process {
                // what it sent before its end may have come after the socket was looked at
                let now = TimeBudget::new(Duration::ZERO);
                return match self.poll_once(flags, &now)?.socket {
                    true => Ok(()),
                    false => Err(ChannelError::Closed),
                };
            }
        }
    }

    fn poll_once(&self, flags: PollFlags, budget: &TimeBudget) -> Result<Ready, ChannelError> {
        let output = self.output.as_ref().filter(|output| !output.is_closed);
        let output = output.map(|output| output.pipe.as_fd());
        let process = self.process.as_ref().map(OwnedFd::as_fd);
        let interrupt = budget.interrupt.as_ref().map(RubyInterrupt::event);
        let mut polled = Vec::with_capacity(4);
        polled.push(PollFd::from_borrowed_fd(self.socket.as_fd(), flags));
        for fd in [output, process, interrupt].into_iter().flatten() {
            polled.push(PollFd::from_borrowed_fd(fd, PollFlags::IN));
        }
        let timeout = Timespec::try_from(budget.left).ok();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let mut is_ready = polled.iter().map(|fd| !fd.revents().is_empty());
        let mut next = |is_polled: bool| is_polled && is_ready.next().unwrap_or(false);
        Ok(Ready {
            socket: next(true),
            output: next(output.is_some()),
            process: next(process.is_some()),
            interrupt: next(interrupt.is_some()),
        })
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
