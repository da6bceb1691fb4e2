//! Commands of PuppetDB: [`PuppetDbCommand`], `POST /pdb/cmd/v1`.
//!
//! Invariant: a command that is submitted twice has the same bytes, so that PuppetDB stores it once.

use http_client::excerpt;
use jiff::Timestamp;
use pcp::Certname;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use serde_json::Value;

use crate::QueryError;
use crate::defaults::SHOWN_BYTES;

/// A command that gives PuppetDB data of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PuppetDbCommand {
    /// Name of the command, such as `store report`.
    pub name: String,
    /// Version of the payload's format.
    pub version: i64,
    /// The node that the payload is about.
    pub certname: Certname,
    /// Time at which the command was made.
    pub produced: Timestamp,
    /// The payload: JSON, as a gzip stream.
    pub payload_gzip: Vec<u8>,
}

// === impl PuppetDbCommand ===

impl PuppetDbCommand {
    /// `base`: URL of the server, without a slash at its end.
    pub(super) fn to_http(&self, http: &reqwest::Client, base: &str) -> reqwest::RequestBuilder {
        let parameters = [
            ("command", self.name.replace(' ', "_")),
            ("version", self.version.to_string()),
            ("certname", self.certname.to_string()),
            ("producer-timestamp", format!("{:.3}", self.produced)),
        ];
        let request = http.post(format!("{base}/pdb/cmd/v1")).query(&parameters);
        let request = match uncompressed_length(&self.payload_gzip) {
            Some(length) => request.header("X-Uncompressed-Length", length),
            None => request,
        };
        request
            .header(CONTENT_TYPE, "application/json")
            .header(CONTENT_ENCODING, "gzip")
            .body(self.payload_gzip.clone())
    }

    /// Checks that an answer is PuppetDB's: it names the command by a UUID. Another program at the
    /// address must not make the command disappear.
    pub(super) fn check_reply(url: &str, body: &[u8]) -> Result<(), QueryError> {
        let reply: Value = serde_json::from_slice(body).unwrap_or_default();
        match reply.get("uuid") {
            Some(Value::String(_)) => Ok(()),
            _ => Err(QueryError::Garbage {
                url: url.to_owned(),
                what: format!(
                    "the answer to a command has no uuid: {}",
                    excerpt(body, SHOWN_BYTES / 8)
                ),
            }),
        }
    }
}

/// The length that a gzip stream of less than 4 GiB has in its last four bytes.
fn uncompressed_length(gzip: &[u8]) -> Option<u32> {
    let (_, length) = gzip.split_last_chunk()?;
    Some(u32::from_le_bytes(*length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_in_the_query_string_and_its_payload_is_compressed() {
        let command = PuppetDbCommand {
            name: "replace facts".to_owned(),
            version: 5,
            certname: "web1.example".parse().unwrap(),
            produced: "2026-11-28T03:08:29.5Z".parse().unwrap(),
            payload_gzip: vec![1, 2, 3, 4, 5, 44, 1, 0, 0],
        };
        let http = http_client::without_tls().build().unwrap();
        let request = command
            .to_http(&http, "http://localhost:1")
            .build()
            .unwrap();
        assert_eq!(
            request.url().as_str(),
            "http://localhost:1/pdb/cmd/v1?command=replace_facts&version=5&certname=web1.example\
             &producer-timestamp=2026-11-28T03%3A08%3A29.500Z"
        );
        assert_eq!(request.headers()["x-uncompressed-length"], "300");
        assert_eq!(request.headers()["content-encoding"], "gzip");
        assert_eq!(uncompressed_length(&[1, 2]), None);
    }

    #[test]
    fn an_answer_without_a_uuid_is_not_puppetdbs() {
        assert!(PuppetDbCommand::check_reply("u", b"{\"uuid\": \"1\"}").is_ok());
        for other in ["", "ok", "[]", "{\"uuid\": 1}", "<html>"] {
            PuppetDbCommand::check_reply("u", other.as_bytes()).unwrap_err();
        }
    }
}
