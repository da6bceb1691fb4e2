//! Properties that hold for all inputs.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::entry;

proptest! {
    #[test]
    fn bodies_survive_writing(id in "[a-z0-9.]{1,9}", text: String, offset: u64, flag: bool) {
        for json in [
            serde_json::json!({"transaction_id": id}),
            serde_json::json!({"transaction_id": id, "results": {"stdout": text}}),
            serde_json::json!({"transaction_id": id, "until": offset}),
            serde_json::json!({"transaction_id": id, "force": flag}),
            serde_json::json!({"transaction_id": id, "module": text, "action": text}),
            serde_json::json!({
                "transaction_id": id, "module": text, "action": text, "notify_outcome": flag,
            }),
            serde_json::json!({
                "transaction_id": id, "stream": "stdout", "offset": offset, "data": text,
            }),
        ] {
            entry::bodies(json.to_string().as_bytes());
        }
    }

    #[test]
    fn arbitrary_input_never_panics(data in vec(any::<u8>(), 0..200), text: String) {
        for data in [&data[..], text.as_bytes()] {
            entry::bodies(data);
            entry::capabilities(data);
        }
    }

    #[test]
    fn nearly_good_headers_never_panic(text in "((version|cancel|spool_id|x)=?[ -~]{0,6},? ?){0,5}") {
        entry::capabilities(text.as_bytes());
    }
}
