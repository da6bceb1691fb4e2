//! Arguments of `tutti audit verify`. Main type: [`AuditVerifyOptions`].

use std::path::{Path, PathBuf};

use crate::Result;
use crate::present::OutputOptions;
use crate::settings::ConnectionFlags;

/// Arguments of `tutti audit verify`.
#[derive(Debug, clap::Args)]
pub struct AuditVerifyOptions {
    /// Head printed by an earlier check, SEQ:HASH or HASH: that entry must still be there
    #[arg(long, value_name = "HEAD", value_parser = head)]
    pub expect_head: Vec<RecordedHead>,
    /// Check a file written by `tutti audit export` instead of the service
    #[arg(long, value_name = "FILE", conflicts_with = "offline")]
    pub file: Option<PathBuf>,
    /// Check the database itself, beside a running server or without one; it is only read
    #[arg(long)]
    pub offline: bool,
    /// With --offline: the server's configuration, which names the database
    #[arg(
        long,
        env = "TUTTI_CONFIG",
        hide_env_values = true,
        default_value = "/etc/tutti/tutti.toml",
        value_name = "FILE"
    )]
    pub config: PathBuf,
    #[command(flatten)]
    pub shown: OutputOptions,
}

/// A head that was noted down after an earlier check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedHead {
    /// Number of the entry; `None` if only its hash was noted down.
    pub seq: Option<i64>,
    /// Hash of the entry.
    pub hash: [u8; HASH_BYTES],
}

const HASH_BYTES: usize = 32;

/// A check of the audit log, with the server that has it.
#[derive(Debug)]
pub struct AuditVerification {
    /// Arguments of the command.
    pub options: AuditVerifyOptions,
    /// Server to check, unless a file or the database is to be checked.
    pub connection: ConnectionFlags,
}

// === impl AuditVerification ===

impl AuditVerification {
    /// The server's configuration file, if the database itself is to be checked.
    pub fn offline(&self) -> Option<&Path> {
        let AuditVerifyOptions {
            offline, config, ..
        } = &self.options;
        offline.then_some(config.as_path())
    }
}

/// Parses `SEQ:HASH` or `HASH`, as `tutti audit verify` prints it.
fn head(text: &str) -> Result<RecordedHead, String> {
    let parsed = match text.split_once(':') {
        Some((seq, hash)) => seq.parse().ok().map(Some).zip(hash_of_hex(hash)),
        None => Some(None).zip(hash_of_hex(text)),
    };
    let (seq, hash) =
        parsed.ok_or("expected SEQ:HASH or HASH, as `tutti audit verify` prints it")?;
    Ok(RecordedHead { seq, hash })
}

fn hash_of_hex(digits: &str) -> Option<[u8; HASH_BYTES]> {
    let is_hash = digits.len() == 2 * HASH_BYTES && digits.bytes().all(|it| it.is_ascii_hexdigit());
    let byte = |at: usize| u8::from_str_radix(digits.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Vec<u8> = (0..HASH_BYTES).map_while(byte).collect();
    bytes.try_into().ok().filter(|_| is_hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_is_printed() {
        let hash = "0f".repeat(32);
        let noted = |seq| RecordedHead {
            seq,
            hash: [15; HASH_BYTES],
        };
        assert_eq!(head(&hash), Ok(noted(None)));
        assert_eq!(head(&format!("7:{hash}")), Ok(noted(Some(7))));
        for bad in ["", "7", "7:", ":0f", "x:0f", "0g"] {
            assert!(head(bad).is_err(), "{bad}");
        }
    }
}
