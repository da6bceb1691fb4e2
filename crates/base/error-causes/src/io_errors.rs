//! Errors of the operating system while connecting to a peer: [`describe`].

use std::io::{self, ErrorKind};

use crate::error::{ConnectionError, ConnectionErrorKind};

/// The standard library's text before the resolver's message.
const LOOKUP: &str = "failed to lookup address information";

/// Contained in the resolver's message if no name server answered.
const TEMPORARY: &str = "Temporary";

/// The cause in plain words.
pub(crate) fn describe(error: &io::Error) -> ConnectionError {
    let text = match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused: no program listens there".to_owned(),
        ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe
        | ErrorKind::UnexpectedEof => "the connection broke off".to_owned(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable => {
            "there is no route to the host".to_owned()
        }
        ErrorKind::TimedOut => {
            return ConnectionError::new(ConnectionErrorKind::Timeout, "no answer in time");
        }
        _ => match describe_unknown_host(error) {
            Some(text) => return ConnectionError::new(ConnectionErrorKind::Name, text),
            None => error.to_string(),
        },
    };
    ConnectionError::new(ConnectionErrorKind::Io, text)
}

fn describe_unknown_host(error: &io::Error) -> Option<&'static str> {
    let text = error.to_string();
    text.contains(LOOKUP)
        .then(|| match text.contains(TEMPORARY) {
            true => "the name of the host cannot be resolved: the name server does not answer",
            false => "the name of the host is unknown to the name server",
        })
}
