//! A stream whose reads and writes are subject to a policy: [`PolicyStream`] and [`StreamPolicy`].
//!
//! Invariant: only the stream accesses the socket; a policy sees how many bytes were read and that
//! a write has to wait, and can only turn that into an error.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A limit on a stream. By default every method permits everything.
pub(crate) trait StreamPolicy: Unpin {
    /// Called before a read; an error makes the read fail.
    fn before_read(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Called after a read of `bytes` bytes.
    fn after_read(&mut self, _bytes: usize) {}

    /// Called with the result of a write; returns the result for the writer.
    fn after_write(
        &mut self,
        _cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        written
    }
}

/// The stream `inner` under the policy `policy`.
#[derive(Debug)]
pub(crate) struct PolicyStream<S, P> {
    inner: S,
    policy: P,
}

impl<S, P> PolicyStream<S, P> {
    pub(crate) fn new(inner: S, policy: P) -> Self {
        Self { inner, policy }
    }

    pub(crate) fn policy_mut(&mut self) -> &mut P {
        &mut self.policy
    }
}

impl<S: AsyncRead + Unpin, P: StreamPolicy> AsyncRead for PolicyStream<S, P> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Err(refused) = self.policy.before_read() {
            return Poll::Ready(Err(refused));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        self.policy.after_read(buf.filled().len() - before);
        read
    }
}

impl<S: AsyncWrite + Unpin, P: StreamPolicy> AsyncWrite for PolicyStream<S, P> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, buf);
        self.policy.after_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(cx, bufs);
        self.policy.after_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A TCP socket has nothing to flush, so a flush is not progress.
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
