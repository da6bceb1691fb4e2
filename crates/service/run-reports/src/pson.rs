//! PSON, the JSON of old agents whose strings may have any bytes: [`pson_to_json`].

use std::borrow::Cow;

/// Text of a document in PSON as JSON. Bytes that are not UTF-8 become U+FFFD: strings of agents
/// are in UTF-8 unless they are contents of binary files, which no report or fact needs exactly.
pub fn pson_to_json(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_replaced_within_their_string() {
        let text = pson_to_json(b"{\"a\": \"x\xff\xc3\xa4\", \"b\xfe\": 1}");
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["a"], "x\u{fffd}ä");
        assert_eq!(value["b\u{fffd}"], 1);
    }
}
