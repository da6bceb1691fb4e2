//! Ends connections whose client does not read: [`WriteStall`].
//!
//! Invariant: a connection ends only if its socket accepts nothing for the whole timeout; any
//! accepted byte restarts the timeout, so slow clients are served.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep};

use crate::policy_stream::StreamPolicy;

/// Makes the writes of a stream fail with [`io::ErrorKind::TimedOut`] if they stall.
#[derive(Debug)]
pub(crate) struct WriteStall {
    timeout: Duration,
    /// Created by the first write that has to wait: most connections never have one.
    timer: Option<Pin<Box<Sleep>>>,
    stalled: bool,
}

impl WriteStall {
    pub(crate) fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            timer: None,
            stalled: false,
        }
    }
}

impl StreamPolicy for WriteStall {
    fn after_write(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled = false;
            return written;
        }
        let timeout = self.timeout;
        let timer = self
            .timer
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
        if !self.stalled {
            self.stalled = true;
            timer.as_mut().reset(Instant::now() + timeout);
        }
        ready!(timer.as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the client does not read its answer",
        )))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::policy_stream::PolicyStream;

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_fails_the_write() {
        let (ours, _theirs) = tokio::io::duplex(4);
        let mut stream = PolicyStream::new(ours, WriteStall::new(TIMEOUT));
        let before = Instant::now();
        let error = stream.write_all(b"more than four").await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(before.elapsed() >= TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_served_however_long_it_takes() {
        let (ours, mut theirs) = tokio::io::duplex(1);
        let reading = tokio::spawn(async move {
            let mut read = Vec::new();
            for _ in 0..5 {
                tokio::time::sleep(TIMEOUT - Duration::from_secs(1)).await;
                read.push(theirs.read_u8().await.unwrap());
            }
            read
        });
        let mut stream = PolicyStream::new(ours, WriteStall::new(TIMEOUT));
        stream.write_all(b"hello").await.unwrap();
        assert_eq!(reading.await.unwrap(), b"hello");
    }
}
