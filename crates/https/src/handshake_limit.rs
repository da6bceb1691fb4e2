//! Bounds what a client may send before its TLS handshake is done: [`HandshakeLimit`].
//!
//! The rule: until it is lifted, the limit ends a stream that has brought so many bytes; rustls
//! alone would collect 64 KB for each connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose reads fail once its limit is used up.
#[derive(Debug)]
pub(crate) struct HandshakeLimit<S> {
    inner: S,
    /// Bytes that may still be read; `None` when the handshake is done.
    left: Option<usize>,
}

impl<S> HandshakeLimit<S> {
    pub(crate) fn new(inner: S, bytes: usize) -> Self {
        Self {
            inner,
            left: Some(bytes),
        }
    }

    /// From now on any number of bytes may be read.
    pub(crate) fn lift(&mut self) {
        self.left = None;
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HandshakeLimit<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == Some(0) {
            let error = "the client sent too many bytes before the handshake was done";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, buf);
        let bytes = buf.filled().len() - before;
        self.left = self.left.map(|left| left.saturating_sub(bytes));
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HandshakeLimit<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
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

    #[tokio::test]
    async fn reading_fails_at_the_limit_until_it_is_lifted() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        theirs.write_all(b"12345678").await.unwrap();
        let mut stream = HandshakeLimit::new(ours, 4);
        let mut four = [0; 4];
        stream.read_exact(&mut four).await.unwrap();
        let error = stream.read_exact(&mut four).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        stream.lift();
        stream.read_exact(&mut four).await.unwrap();
        assert_eq!(&four, b"5678");
    }
}
