//! Server side of a TLS connection over TCP: [`TlsSocket`].
//!
//! It drives rustls' unbuffered state machine with the thread's [scratch buffers](super::scratch).
//! Invariant: between two calls it keeps only the tail of an incomplete record and the bytes that
//! the kernel did not take, both empty on an idle connection.

use std::io;
use std::sync::Arc;

use admission::AdmissionPermit;
use bytes::{Buf, BytesMut};
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls_pki_types::CertificateDer;
use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::scratch::{INPUT_BYTES, RECORD_PLAIN_BYTES, with_scratch};
use crate::defaults::HANDSHAKE_BYTES;

/// Cause of the end of a connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsError {
    #[error("the connection broke")]
    Io(#[from] io::Error),
    #[error("TLS failed: {0}")]
    Tls(#[from] rustls::Error),
    #[error("the client closed the connection before the handshake was done")]
    ClosedEarly,
    #[error("the client sent more than {HANDSHAKE_BYTES} bytes before the handshake was done")]
    HandshakeTooLarge,
    #[error("the TLS session cannot encrypt any more")]
    Exhausted,
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsReadOutcome {
    /// Bytes were received, possibly without plaintext.
    Some,
    /// No bytes are available now.
    Nothing,
    /// The connection has ended.
    End,
}

pub(crate) struct TlsSocket {
    tcp: TcpStream,
    tls: UnbufferedServerConnection,
    /// Ciphertext of an incomplete record or flight.
    partial: Vec<u8>,
    /// Ciphertext that the kernel did not take yet.
    unsent: BytesMut,
    ended: bool,
}

// === impl TlsSocket ===

impl TlsSocket {
    pub(crate) fn new(tcp: TcpStream, config: Arc<rustls::ServerConfig>) -> Result<Self, TlsError> {
        let tls = UnbufferedServerConnection::new(config)?;
        Ok(Self {
            tcp,
            tls,
            partial: Vec::new(),
            unsent: BytesMut::new(),
            ended: false,
        })
    }

    /// Runs the handshake. Only its computation holds a turn of its network and a permit of
    /// `turns`, so that a slow client does not delay others, and networks alternate. Bytes that the
    /// client sent after its handshake are appended to `plain`.
    pub(crate) async fn handshake(
        &mut self,
        admission: &AdmissionPermit,
        turns: &Semaphore,
        plain: &mut BytesMut,
    ) -> Result<(), TlsError> {
        while self.tls.is_handshaking() || !self.unsent.is_empty() {
            let interest = if self.unsent.is_empty() {
                Interest::READABLE
            } else {
                Interest::WRITABLE
            };
            self.tcp.ready(interest).await?;
            if !self.flush()? {
                continue;
            }
            if !self.tls.is_handshaking() {
                break;
            }
            let network_turn = admission.acquire_handshake_turn().await;
            let turn = turns
                .acquire()
                .await
                .expect("the broker never closes its turns");
            let step = self.receive(plain);
            drop((turn, network_turn));
            // An alert with the cause is sent if the kernel takes it at once.
            self.flush().ok();
            if step? == TlsReadOutcome::End {
                return Err(TlsError::ClosedEarly);
            }
            if self.partial.len() > HANDSHAKE_BYTES {
                return Err(TlsError::HandshakeTooLarge);
            }
        }
        Ok(())
    }

    /// The verified certificate of the client, without its chain; `None` if the client has none.
    pub(crate) fn peer_leaf(&self) -> Option<&CertificateDer<'static>> {
        self.tls.peer_certificates().and_then(<[_]>::first)
    }

    pub(crate) fn is_tls13(&self) -> bool {
        self.tls.protocol_version() == Some(rustls::ProtocolVersion::TLSv1_3)
    }

    /// Waits until reading (`read`) or writing (`write`) can make progress. Cancel-safe.
    pub(crate) async fn ready(&self, read: bool, write: bool) -> io::Result<()> {
        let interest = match (read, write) {
            (true, true) => Interest::READABLE | Interest::WRITABLE,
            (false, true) => Interest::WRITABLE,
            _ => Interest::READABLE,
        };
        self.tcp.ready(interest).await.map(|_| ())
    }

    /// Reads the available bytes once and appends the decrypted ones to `plain`.
    pub(crate) fn receive(&mut self, plain: &mut BytesMut) -> Result<TlsReadOutcome, TlsError> {
        if self.ended {
            return Ok(TlsReadOutcome::End);
        }
        with_scratch(|scratch| {
            let held = self.partial.len();
            if held >= INPUT_BYTES {
                return Err(TlsError::HandshakeTooLarge);
            }
            let read = match self.tcp.try_read(&mut scratch.input[held..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(TlsReadOutcome::End);
                }
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(TlsReadOutcome::Nothing);
                }
                Err(error) => return Err(error.into()),
            };
            scratch.input[..held].copy_from_slice(&self.partial);
            let input = &mut scratch.input[..held + read];
            let used = self.process(input, plain)?;
            self.partial = input[used..].to_vec();
            Ok(if self.ended {
                TlsReadOutcome::End
            } else {
                TlsReadOutcome::Some
            })
        })
    }

    /// Encrypts and sends as much of `plain` as the kernel takes, and removes it from there.
    /// Encrypted bytes that the kernel did not take are kept here. Returns true if everything was
    /// sent.
    pub(crate) fn send(&mut self, plain: &mut BytesMut) -> Result<bool, TlsError> {
        while self.flush()? && !plain.is_empty() {
            let length = plain.len().min(RECORD_PLAIN_BYTES);
            with_scratch(|scratch| self.send_record(&plain[..length], &mut scratch.record))?;
            plain.advance(length);
        }
        Ok(self.unsent.is_empty() && plain.is_empty())
    }

    /// Sends all of `plain`, waiting for the kernel.
    pub(crate) async fn send_all(&mut self, plain: &mut BytesMut) -> Result<(), TlsError> {
        while !self.send(plain)? {
            self.ready(false, true).await?;
        }
        Ok(())
    }

    /// True if encrypted bytes wait for the kernel.
    pub(crate) fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// Sends a close notification, as far as the kernel takes it at once.
    pub(crate) fn send_close_notify(&mut self) {
        if !matches!(self.flush(), Ok(true)) {
            return;
        }
        with_scratch(|scratch| {
            let status = self.tls.process_tls_records(&mut []);
            if let Ok(ConnectionState::WriteTraffic(mut traffic)) = status.state
                && let Ok(written) = traffic.queue_close_notify(&mut scratch.record)
            {
                // The connection ends either way.
                let _ = self.tcp.try_write(&scratch.record[..written]);
            }
        });
    }

    /// Sends waiting ciphertext; returns true if none is left.
    fn flush(&mut self) -> Result<bool, TlsError> {
        while !self.unsent.is_empty() {
            match self.tcp.try_write(&self.unsent) {
                Ok(written) => self.unsent.advance(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(error.into()),
            }
        }
        self.unsent = BytesMut::new();
        Ok(true)
    }

    /// Passes ciphertext to rustls; returns the number of bytes that were processed.
    fn process(&mut self, input: &mut [u8], plain: &mut BytesMut) -> Result<usize, TlsError> {
        let mut used = 0;
        loop {
            let UnbufferedStatus { discard, state, .. } =
                self.tls.process_tls_records(&mut input[used..]);
            let mut discard = discard;
            let mut waits = false;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record?;
                        discard += record.discard;
                        plain.extend_from_slice(record.payload);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(data)) => encode(data, &mut self.unsent),
                // The data is in `unsent`, which is sent before anything else.
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => self.ended = true,
                Ok(_) => waits = true,
                Err(error) => {
                    self.take_alert();
                    return Err(error.into());
                }
            }
            used += discard;
            if waits {
                return Ok(used);
            }
        }
    }

    /// Encodes rustls' alert for the peer after an error.
    fn take_alert(&mut self) {
        if let Ok(ConnectionState::EncodeTlsData(data)) =
            self.tls.process_tls_records(&mut []).state
        {
            encode(data, &mut self.unsent);
        }
    }

    fn send_record(&mut self, plain: &[u8], record: &mut [u8]) -> Result<(), TlsError> {
        loop {
            match self.tls.process_tls_records(&mut []).state? {
                ConnectionState::EncodeTlsData(data) => encode(data, &mut self.unsent),
                ConnectionState::TransmitTlsData(data) => data.done(),
                ConnectionState::WriteTraffic(mut traffic) => {
                    let written = match traffic.encrypt(plain, record) {
                        Ok(written) => written,
                        Err(EncryptError::EncryptExhausted) => return Err(TlsError::Exhausted),
                        Err(EncryptError::InsufficientSize(size)) => {
                            unreachable!("a record buffer of {size:?} has room for one record")
                        }
                    };
                    return self.write_or_keep(&record[..written]);
                }
                ConnectionState::PeerClosed => self.ended = true,
                _ => return Err(TlsError::ClosedEarly),
            }
        }
    }

    fn write_or_keep(&mut self, record: &[u8]) -> Result<(), TlsError> {
        let taken = if self.unsent.is_empty() {
            match self.tcp.try_write(record) {
                Ok(taken) => taken,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(error.into()),
            }
        } else {
            0
        };
        self.unsent.extend_from_slice(&record[taken..]);
        Ok(())
    }
}

fn encode<Data>(mut data: rustls::unbuffered::EncodeTlsData<'_, Data>, out: &mut BytesMut) {
    let start = out.len();
    let mut room = 0;
    loop {
        out.resize(start + room, 0);
        match data.encode(&mut out[start..]) {
            Ok(written) => return out.truncate(start + written),
            Err(EncodeError::InsufficientSize(size)) => room = size.required_size,
            Err(EncodeError::AlreadyEncoded) => return out.truncate(start),
        }
    }
}
