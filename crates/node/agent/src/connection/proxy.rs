//! Connection to a broker through an HTTP proxy.
//!
//! [`connect`] requests a tunnel from the proxy and leaves the stream exactly after the proxy's
//! answer. Invariant: the answer is bounded in size, and no byte of the tunnel is read together
//! with it.

use std::fmt;
use std::str::FromStr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use crate::authority;
use crate::defaults::MAX_PROXY_HEAD_BYTES;

/// Address of a proxy: `[http://]host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUri {
    host: String,
    port: u16,
}

/// Reason for which the proxy opened no tunnel.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The connection to the proxy broke.
    #[error("the connection to the proxy broke")]
    Io(#[from] std::io::Error),
    /// The proxy answered with a status other than 2xx.
    #[error("the proxy refused the tunnel: {0}")]
    Refused(String),
    /// The answer is not HTTP, or is too long.
    #[error("the proxy's answer is not HTTP")]
    Malformed,
}

// === impl ProxyUri ===

impl ProxyUri {
    /// Host name or address of the proxy.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port of the proxy.
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for ProxyUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}", authority::format(&self.host, self.port))
    }
}

impl FromStr for ProxyUri {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("http://").unwrap_or(text);
        let form = || format!("'{text}' is not of the form [http://]HOST:PORT");
        if rest.contains('@') {
            // The text is not repeated: it contains a password.
            return Err("a proxy with user name and password is not supported".to_owned());
        }
        if rest.contains("://") {
            return Err(form());
        }
        match authority::parse(rest) {
            Some((host, Some(port))) => Ok(Self { host, port }),
            _ => Err(form()),
        }
    }
}

// === tunnel ===

/// Requests a tunnel to `target` (`host:port`).
pub async fn connect<S>(stream: &mut S, target: &str) -> Result<(), ProxyError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let head = read_head(stream).await?;
    let status_line = head.lines().next().unwrap_or_default();
    let mut words = status_line.split_ascii_whitespace();
    match (words.next(), words.next()) {
        (Some(version), Some(status)) if version.starts_with("HTTP/1.") => {
            if status.len() == 3 && status.starts_with('2') {
                Ok(())
            } else {
                Err(ProxyError::Refused(status_line.to_owned()))
            }
        }
        _ => Err(ProxyError::Malformed),
    }
}

/// Reads the head of the answer byte by byte: this happens once per connection, and any byte after
/// the empty line already belongs to the tunnel.
async fn read_head<S: AsyncRead + Unpin>(stream: &mut S) -> Result<String, ProxyError> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= MAX_PROXY_HEAD_BYTES {
            return Err(ProxyError::Malformed);
        }
        head.push(stream.read_u8().await?);
    }
    String::from_utf8(head).map_err(|_| ProxyError::Malformed)
}
