//! The response of a node to `facts collect`: `{"facts": {…}, "environment": "production", …}`.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::NodeRecord;
use crate::defaults::ENVIRONMENT_BYTES;

/// The keys that this version reads; other keys are for newer servers.
#[derive(Deserialize)]
struct FactsResponse {
    facts: Map<String, Value>,
    #[serde(default)]
    environment: Option<String>,
}

/// Checks a name by Puppet's rules, because it comes from the node.
fn is_environment(name: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=ENVIRONMENT_BYTES).contains(&name.len()) && name.bytes().all(word)
}

/// The response as a record with the current time, because a node's clock may be wrong.
pub(super) fn parse_record(
    answer: Value,
    trusted: Map<String, Value>,
) -> Result<NodeRecord, String> {
    let answer: FactsResponse = decode_errors::json::from_value(answer)
        .map_err(|error| format!("the answer is not as it should be: {error}"))?;
    if answer.facts.is_empty() {
        return Err("the answer has no facts".to_owned());
    }
    Ok(NodeRecord {
        facts: answer.facts.into(),
        trusted: trusted.into(),
        environment: answer.environment.filter(|name| is_environment(name)),
        timestamp: Timestamp::now(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_environment_that_is_no_name_is_not_kept() {
        let long = "x".repeat(ENVIRONMENT_BYTES + 1);
        for (told, kept) in [
            ("production", true),
            ("a_1", true),
            ("", false),
            ("../x", false),
            ("a\0b", false),
            (long.as_str(), false),
        ] {
            let answer = json!({"facts": {"kernel": "Linux"}, "environment": told});
            let record = parse_record(answer, Map::new()).unwrap();
            assert_eq!(record.environment.is_some(), kept, "{told:?}");
        }
    }
}
