//! Bounds the bytes that a client may send before its TLS handshake is done: [`HandshakeLimit`].
//!
//! Invariant: until the limit is lifted, a stream ends once it has delivered that many bytes;
//! rustls alone would buffer 64 KB for each connection.

use std::io;

use crate::policy_stream::StreamPolicy;

/// Fails the reads of a stream once the limit is used up.
#[derive(Debug)]
pub(crate) struct HandshakeLimit {
    /// Bytes that may still be read; `None` when the handshake is done.
    left: Option<usize>,
}

impl HandshakeLimit {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { left: Some(bytes) }
    }

    /// Lifts the limit: any number of bytes may be read from now on.
    pub(crate) fn lift(&mut self) {
        self.left = None;
    }
}

impl StreamPolicy for HandshakeLimit {
    fn before_read(&mut self) -> io::Result<()> {
        if self.left == Some(0) {
            let error = "the client sent too many bytes before the handshake was done";
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(())
    }

    fn after_read(&mut self, bytes: usize) {
        self.left = self.left.map(|left| left.saturating_sub(bytes));
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::policy_stream::PolicyStream;

    #[tokio::test]
    async fn reading_fails_at_the_limit_until_it_is_lifted() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        theirs.write_all(b"12345678").await.unwrap();
        let mut stream = PolicyStream::new(ours, HandshakeLimit::new(4));
        let mut four = [0; 4];
        stream.read_exact(&mut four).await.unwrap();
        let error = stream.read_exact(&mut four).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        stream.policy_mut().lift();
        stream.read_exact(&mut four).await.unwrap();
        assert_eq!(&four, b"5678");
    }
}
