//! Heads of HTTP requests and responses, incrementally.

use bytes::{Buf as _, BytesMut};
use memchr::memmem;

use crate::defaults::{MAX_HEAD_BYTES, MAX_HEADERS};

/// The head of an HTTP request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequestHead {
    /// HTTP method, such as `GET`.
    pub method: String,
    /// Path and query as sent, undecoded: `/pcp2/agent`.
    pub target: String,
    /// True for HTTP/1.1, `false` for HTTP/1.0.
    pub is_http_1_1: bool,
    /// Headers, in the order sent.
    pub headers: HttpHeaders,
}

/// The head of an HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponseHead {
    /// HTTP status, such as `101`.
    pub status: u16,
    /// Reason phrase, such as `Switching Protocols`; may be empty.
    pub reason: String,
    /// Headers, in the order sent.
    pub headers: HttpHeaders,
}

/// Header lines in the order sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpHeaders(Vec<(String, String)>);

/// Reason for which bytes are not a valid head. Never quotes the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeadError {
    /// No end within [`MAX_HEAD_BYTES`], or too many header lines.
    #[error("the head has more than {MAX_HEAD_BYTES} bytes or {MAX_HEADERS} headers")]
    TooLarge,
    /// The bytes are not HTTP.
    #[error("not HTTP: {0}")]
    NotHttp(&'static str),
    /// A header value is not UTF-8.
    #[error("a header's value is not UTF-8")]
    NotUtf8,
}

impl HttpRequestHead {
    /// Takes a request's head off the front of `buf`. `None`: more bytes are needed.
    pub fn read(buf: &mut BytesMut) -> Result<Option<Self>, HeadError> {
        let Some(head_bytes) = head_bytes(buf)? else {
            return Ok(None);
        };
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        complete(parsed.parse(&buf[..head_bytes]), head_bytes)?;
        let request = Self {
            method: parsed.method.unwrap_or_default().to_owned(),
            target: parsed.path.unwrap_or_default().to_owned(),
            is_http_1_1: parsed.version == Some(1),
            headers: HttpHeaders::of(parsed.headers)?,
        };
        buf.advance(head_bytes);
        Ok(Some(request))
    }
}

impl HttpResponseHead {
    /// Takes a response's head off the front of `buf`. `None`: more bytes are needed.
    pub fn read(buf: &mut BytesMut) -> Result<Option<Self>, HeadError> {
        let Some(head_bytes) = head_bytes(buf)? else {
            return Ok(None);
        };
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut parsed = httparse::Response::new(&mut headers);
        complete(parsed.parse(&buf[..head_bytes]), head_bytes)?;
        let response = Self {
            status: parsed.code.unwrap_or_default(),
            reason: parsed.reason.unwrap_or_default().to_owned(),
            headers: HttpHeaders::of(parsed.headers)?,
        };
        buf.advance(head_bytes);
        Ok(Some(response))
    }
}

// === impl HttpHeaders ===

impl HttpHeaders {
    /// The first value of a header; names are compared without regard to case.
    pub fn get<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next()
    }

    /// The value of a header that must occur exactly once; `None` otherwise.
    pub fn single<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let mut values = self.all(name);
        values.next().filter(|_| values.next().is_none())
    }

    /// All values of a header.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = move |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        self.0.iter().filter(named).map(|(_, value)| value.as_str())
    }

    /// True if a header that is a list, such as `Connection`, contains the token.
    pub fn has_token(&self, name: &str, token: &str) -> bool {
        self.all(name)
            .flat_map(|value| value.split(','))
            .any(|candidate| candidate.trim().eq_ignore_ascii_case(token))
    }

    /// Names and values, in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    fn of(headers: &[httparse::Header<'_>]) -> Result<Self, HeadError> {
        let owned = |header: &httparse::Header<'_>| {
            let value = std::str::from_utf8(header.value).map_err(|_| HeadError::NotUtf8)?;
            Ok((header.name.to_owned(), value.to_owned()))
        };
        headers
            .iter()
            .map(owned)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

/// The length of the head at the front, including its final empty line; `None` if it is incomplete.
fn head_bytes(buf: &[u8]) -> Result<Option<usize>, HeadError> {
    let window = &buf[..buf.len().min(MAX_HEAD_BYTES)];
    match memmem::find(window, b"\r\n\r\n") {
        Some(end) => Ok(Some(end + 4)),
        None if buf.len() >= MAX_HEAD_BYTES => Err(HeadError::TooLarge),
        // Detected early, so that the server does not wait for a peer that uses another protocol.
        None if buf.iter().take(8).any(|byte| !matches!(byte, b' '..=b'~')) => {
            Err(HeadError::NotHttp("it begins with bytes that are not text"))
        }
        None => Ok(None),
    }
}

/// If the parser stopped early, the head contains an empty line with a bare line feed. It is
/// refused, because other parsers on the way may find another end.
fn complete(
    parsed: Result<httparse::Status<usize>, httparse::Error>,
    head_bytes: usize,
) -> Result<(), HeadError> {
    match parsed {
        Ok(httparse::Status::Complete(length)) if length == head_bytes => Ok(()),
        Ok(_) => Err(HeadError::NotHttp("a line ends without a carriage return")),
        Err(httparse::Error::TooManyHeaders) => Err(HeadError::TooLarge),
        Err(httparse::Error::Token) => Err(HeadError::NotHttp("the first line is malformed")),
        Err(httparse::Error::Version) => Err(HeadError::NotHttp("the version is not HTTP/1.x")),
        Err(httparse::Error::Status) => Err(HeadError::NotHttp("the status is malformed")),
        Err(_) => Err(HeadError::NotHttp("a header is malformed")),
    }
}
