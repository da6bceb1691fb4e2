//! The PCP access log: one line for every message received.
//!
//! `[2026-11-21 06:08:12.545391] AUTHORIZATION_SUCCESS wss://broker:8142/pcp2/ pcp://controller/x
//! TYPE ID`, or `DESERIALIZATION_ERROR` with the fields that are known. Invariant: text from the
//! network cannot begin a line of its own.

use std::io::{self, Write};
use std::path::Path;

use crate::logging::{LocalTime, ReopenableFile};

/// Destination of access log lines.
#[derive(Debug, Clone, Default)]
pub enum AccessLog {
    /// No access log is written.
    #[default]
    Off,
    /// Standard output of the process.
    Stdout,
    /// A file, reopened on SIGUSR2.
    File(ReopenableFile),
}

/// Result of decoding a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecodeOutcome {
    /// The message was understood.
    AuthorizationSuccess,
    /// The message was not understood.
    DeserializationError,
}

/// One line of the access log.
#[derive(Debug, Clone, Copy)]
pub struct AccessLogLine<'a> {
    /// Result of decoding the message.
    pub outcome: DecodeOutcome,
    /// URI of the broker that delivered it, as configured.
    pub broker: &'a str,
    /// URI of the sender; `None` if it is not known.
    pub sender: Option<&'a str>,
    /// Message type; `None` if it is not known.
    pub message_type: Option<&'a str>,
    /// Message id; `None` if it is not known.
    pub id: Option<&'a str>,
}

// === impl AccessLog ===

impl AccessLog {
    /// Opens `path`, or standard output for `-`.
    pub fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stdout);
        }
        ReopenableFile::open(path).map(Self::File)
    }

    /// The file to be reopened on SIGUSR2.
    pub fn file(&self) -> Option<&ReopenableFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Off | Self::Stdout => None,
        }
    }

    /// Writes one line for a received message.
    pub fn record(&self, access: &AccessLogLine<'_>) {
        let result = match self {
            Self::Off => return,
            Self::Stdout => io::stdout().write_all(line(access).as_bytes()),
            Self::File(file) => file.append(line(access).as_bytes()),
        };
        if let Err(error) = result {
            tracing::warn!(%error, "cannot write the PCP access log");
        }
    }
}

fn line(access: &AccessLogLine<'_>) -> String {
    let outcome = match access.outcome {
        DecodeOutcome::AuthorizationSuccess => "AUTHORIZATION_SUCCESS",
        DecodeOutcome::DeserializationError => "DESERIALIZATION_ERROR",
    };
    let field = |text: Option<&str>| match text {
        Some(text) if !text.is_empty() => printable(text),
        _ => "unknown".to_owned(),
    };
    format!(
        "[{LocalTime}] {outcome} {} {} {} {}\n",
        access.broker,
        field(access.sender),
        field(access.message_type),
        field(access.id),
    )
}

/// Replaces blanks and newlines, which separate fields and lines.
fn printable(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_control() || c.is_whitespace() {
                '?'
            } else {
                c
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_pxp_agents_fields_in_pxp_agents_order() {
        let text = line(&AccessLogLine {
            outcome: DecodeOutcome::AuthorizationSuccess,
            broker: "wss://b:8142/pcp2/",
            sender: Some("pcp://c/x"),
            message_type: Some("http://puppetlabs.com/rpc_blocking_request"),
            id: Some("11111111-2222-3333-4444-555555555555"),
        });
        let (time, rest) = text.split_once("] ").expect("a time in brackets");
        assert_eq!(time.len(), "[2026-11-21 06:08:12.545391".len());
        assert_eq!(
            rest,
            "AUTHORIZATION_SUCCESS wss://b:8142/pcp2/ pcp://c/x \
             http://puppetlabs.com/rpc_blocking_request 11111111-2222-3333-4444-555555555555\n"
        );
    }

    #[test]
    fn text_from_the_network_stays_one_field_of_one_line() {
        let text = line(&AccessLogLine {
            outcome: DecodeOutcome::DeserializationError,
            broker: "wss://b",
            sender: Some("pcp://a/b\n[2026] AUTHORIZATION_SUCCESS"),
            message_type: Some(""),
            id: None,
        });
        assert_eq!(text.lines().count(), 1);
        assert!(text.ends_with(" unknown unknown\n"), "{text}");
        assert_eq!(text.split(' ').count(), 7, "{text}");
    }
}
