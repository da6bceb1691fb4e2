//! A connection attempt that ends before a session begins: [`probe`], for `tutti-agent doctor`.
//!
//! Invariant: the probe never requests a WebSocket that the broker would open, because a second one
//! of the same name ends the first.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;

use super::ConnectionConfig;
use super::brokers::BrokerUri;
use super::dial::{BrokerDialError, connect_tls};
use crate::defaults;
use error_causes::chain;

/// The first step of an attempt that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProbeStep {
    /// Reading the node's own files.
    Certificates,
    /// Resolution of the broker's name.
    Name,
    /// The TCP connection to its port.
    Tcp,
    /// The proxy's tunnel.
    Proxy,
    /// The TLS handshake.
    Tls,
    /// The check of the certname in the broker's certificate.
    Certname,
    /// The answer to an HTTP request.
    Answer,
}

/// A step that failed, and the cause in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProbeFault {
    pub(crate) step: ProbeStep,
    pub(crate) cause: String,
}

/// HTTP status with which `broker` refuses a WebSocket of a version that does not exist: 426 or 400
/// if it is a PCP broker at this path.
pub(crate) async fn probe(
    config: &ConnectionConfig,
    broker: &BrokerUri,
) -> Result<u16, ProbeFault> {
    if config.proxy.is_none() {
        resolve(config.connection_timeout, broker).await?;
    }
    let connected = timeout(config.connection_timeout, connect_tls(config, broker)).await;
    let connected = connected.unwrap_or(Err(BrokerDialError::Timeout(config.connection_timeout)));
    let mut stream = connected.map_err(fault)?;
    let answer = timeout(config.connection_timeout, ask(&mut stream, broker)).await;
    let answer = answer.unwrap_or_else(|_| Err("no answer in time".to_owned()));
    answer.map_err(|cause| ProbeFault {
        step: ProbeStep::Answer,
        cause,
    })
}

async fn resolve(limit: Duration, broker: &BrokerUri) -> Result<(), ProbeFault> {
    let found = timeout(limit, lookup_host((broker.host(), broker.port()))).await;
    let cause = match found {
        Ok(Ok(mut addresses)) => match addresses.next() {
            Some(_) => return Ok(()),
            None => "the answer has none".to_owned(),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", limit.as_secs()),
    };
    Err(ProbeFault {
        step: ProbeStep::Name,
        cause,
    })
}

fn fault(error: BrokerDialError) -> ProbeFault {
    let step = match &error {
        BrokerDialError::Tls(_) | BrokerDialError::Certificate(_) => ProbeStep::Certificates,
        BrokerDialError::HostName(_) => ProbeStep::Name,
        BrokerDialError::Connect { .. }
        | BrokerDialError::Timeout(_)
        | BrokerDialError::Cancelled => ProbeStep::Tcp,
        BrokerDialError::Proxy { .. } => ProbeStep::Proxy,
        BrokerDialError::Handshake { .. } => ProbeStep::Tls,
        BrokerDialError::OtherServer { .. } => ProbeStep::Certname,
        BrokerDialError::Upgrade(_) | BrokerDialError::Answer(_) => ProbeStep::Answer,
    };
    ProbeFault {
        step,
        cause: chain(&error).to_string(),
    }
}

async fn ask(stream: &mut TlsStream<TcpStream>, broker: &BrokerUri) -> Result<u16, String> {
    // The only existing version is 13.
    let request = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 0\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        broker.path_with_type(defaults::CLIENT_TYPE),
        broker.authority()
    );
    let failed = |error: std::io::Error| error.to_string();
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    stream.flush().await.map_err(failed)?;
    let mut answer = Vec::with_capacity(defaults::READ_CHUNK_BYTES);
    while !answer.contains(&b'\n') && answer.len() < defaults::READ_CHUNK_BYTES {
        if stream.read_buf(&mut answer).await.map_err(failed)? == 0 {
            break;
        }
    }
    status_of(&answer).ok_or_else(|| "it is no HTTP".to_owned())
}

/// Parses the status of `HTTP/1.1 426 Upgrade Required`.
fn status_of(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_whitespace();
    words
        .next()
        .filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_in_the_first_line() {
        for (answer, status) in [
            (&b"HTTP/1.1 426 Upgrade Required\r\nx: y"[..], Some(426)),
            (b"HTTP/1.0 404\r\n", Some(404)),
            (b"HTTP/1.1 x\r\n", None),
            (b"SSH-2.0-OpenSSH\r\n", None),
            (b"\xff\xfe", None),
            (b"", None),
        ] {
            assert_eq!(status_of(answer), status);
        }
    }

    #[tokio::test]
    async fn a_name_without_an_address_and_a_closed_port_are_told_apart() {
        let broker = |uri: &str| uri.parse::<BrokerUri>().unwrap();
        let config = ConnectionConfig::default();
        let step = async |uri: &str| probe(&config, &broker(uri)).await.unwrap_err().step;
        assert_eq!(
            step("wss://no-such-host.invalid:8142/pcp2/").await,
            ProbeStep::Name
        );
        // The default files do not exist, and they are read before anything is sent.
        assert_eq!(
            step("wss://127.0.0.1:1/pcp2/").await,
            ProbeStep::Certificates
        );
    }
}
