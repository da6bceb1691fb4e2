//! Ends connections whose client does not read: [`WriteStall`].
//!
//! The rule: only a socket that takes nothing at all for the whole timeout is given up; any byte
//! that it takes starts the time anew, so slow clients are served.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A stream whose writes fail with [`io::ErrorKind::TimedOut`] when they stall.
#[derive(Debug)]
pub(crate) struct WriteStall<S> {
    inner: S,
    timeout: Duration,
    /// Made by the first write that has to wait: most connections never have one.
    timer: Option<Pin<Box<Sleep>>>,
    stalled: bool,
}

impl<S> WriteStall<S> {
    pub(crate) fn new(inner: S, timeout: Duration) -> Self {
        Self {
            inner,
            timeout,
            timer: None,
            stalled: false,
        }
    }

    /// Passes on what the inner stream said of a write, or fails it when its time is over.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
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

impl<S: AsyncRead + Unpin> AsyncRead for WriteStall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteStall<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.watch(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.watch(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A TCP socket has nothing to flush, so a flush is no progress.
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(60);

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stops_fails_the_write() {
        let (ours, _theirs) = tokio::io::duplex(4);
        let mut stream = WriteStall::new(ours, TIMEOUT);
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
        let mut stream = WriteStall::new(ours, TIMEOUT);
        stream.write_all(b"hello").await.unwrap();
        assert_eq!(reading.await.unwrap(), b"hello");
    }
}
