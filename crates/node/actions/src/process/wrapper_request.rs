//! The agent's order to a wrapper: a [`WrapperRequest`], one JSON line on the wrapper's stdin
//! followed by the bytes for the action's stdin.
//!
//! Invariant: an order that did not arrive completely is not executed, and nothing of it is written
//! to disk (parameters may be secret).

use std::io::{BufRead, Read};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{BECOME, LaidOutFile, PrivateDirectory};
use crate::spool::EntryDurability;

/// One action to run in a spool entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrapperRequest {
    /// Path of the executable; relative to the entry if it is one of the copied files.
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    /// The whole environment of the action; nothing is inherited.
    pub(crate) env: Vec<(String, String)>,
    /// Files copied into the entry, each verified while it is copied.
    pub(crate) layout: Vec<LaidOutFile>,
    /// True if the copies are not needed after the action has ended.
    pub(crate) remove_layout: bool,
    /// Number of bytes that follow the order's line.
    pub(crate) stdin_bytes: u64,
    pub(crate) timeout_ms: Option<u64>,
    /// Maximum output kept, per stream, in bytes.
    pub(crate) max_output_bytes: u64,
    /// Time between SIGTERM and SIGKILL in milliseconds.
    pub(crate) stop_grace_ms: u64,
    /// Durability of the entry's files. An order of an older agent, which has no such key, is
    /// [`EntryDurability::Kept`].
    #[serde(default)]
    pub(crate) durability: EntryDurability,
    /// Directory of the files if another user runs them.
    #[serde(default)]
    pub(crate) private: Option<PrivateDirectory>,
}

/// Reason for which an order was not executed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadRequestError {
    #[error("the agent went away before the order was complete")]
    Incomplete,
    #[error("cannot read the order: {0}")]
    Io(#[from] std::io::Error),
    #[error("cannot understand the order: {0}")]
    Json(#[from] decode_errors::DecodeError),
}

impl WrapperRequest {
    /// The order in the form that the wrapper reads.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).expect("an order holds only strings and numbers");
        line.push(b'\n');
        line
    }

    /// Reads an order and the action's stdin.
    pub(crate) fn read(mut from: impl BufRead) -> Result<(Self, Vec<u8>), ReadRequestError> {
        let mut line = Vec::new();
        from.read_until(b'\n', &mut line)?;
        if line.pop() != Some(b'\n') {
            return Err(ReadRequestError::Incomplete);
        }
        let order: Self = decode_errors::json::from_slice(&line)?;
        let mut stdin = Vec::new();
        from.take(order.stdin_bytes).read_to_end(&mut stdin)?;
        if stdin.len() as u64 != order.stdin_bytes {
            return Err(ReadRequestError::Incomplete);
        }
        Ok((order, stdin))
    }

    /// The file that is executed in the end: after the arguments that switch the user, if there are
    /// any.
    pub(crate) fn resolved_program(&self) -> &str {
        let become_user = self.args.iter().position(|word| word == BECOME);
        // User, group and groups come in between.
        let behind = become_user.and_then(|at| self.args.get(at + 4));
        behind.unwrap_or(&self.program)
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout_ms.map(Duration::from_millis)
    }

    pub(crate) fn stop_grace(&self) -> Duration {
        Duration::from_millis(self.stop_grace_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order() -> WrapperRequest {
        WrapperRequest {
            program: "/bin/cat".into(),
            args: vec!["-".into()],
            env: vec![("PT_x".into(), "line\nbreak".into())],
            layout: vec![],
            remove_layout: false,
            stdin_bytes: 5,
            timeout_ms: None,
            max_output_bytes: 1,
            stop_grace_ms: 1,
            durability: EntryDurability::Scratch,
            private: None,
        }
    }

    #[test]
    fn an_order_survives_the_pipe() {
        let mut wire = order().to_line();
        wire.extend_from_slice(b"a\nb\0c");
        let (read, stdin) = WrapperRequest::read(&wire[..]).unwrap();
        assert_eq!(read, order());
        assert_eq!(stdin, b"a\nb\0c");
    }

    #[test]
    fn no_prefix_of_an_order_is_carried_out() {
        let mut wire = order().to_line();
        wire.extend_from_slice(b"a\nb\0c");
        for cut in 0..wire.len() {
            let read = WrapperRequest::read(&wire[..cut]);
            assert!(
                matches!(read, Err(ReadRequestError::Incomplete)),
                "cut at {cut}: {read:?}"
            );
        }
    }
}
