//! Properties that hold for every input.

use proptest::prelude::*;
use serde_json::{Map, Value};

fn json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>()
            .prop_filter("JSON has no other", |f| f.is_finite())
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec((any::<String>(), inner), 0..8)
                .prop_map(|fields| Value::from(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Text that looks like HOCON far more often than random text does.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "a", "b.c", "=", ":", "+=", "{", "}", "[", "]", ",", "\n", " ", "${a}", "${?b.c}",
            "${", "\"", "\"\"\"", "\\", "#", "//", "1e+5", "-", "include ", "true", "é", "\u{0}",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn every_json_document_is_read_as_json_reads_it(
        values in prop::collection::vec(json(), 0..4),
        pretty: bool,
    ) {
        for root in [
            Value::from(values.clone()),
            Value::from(values.iter().cloned().enumerate()
                .map(|(i, value)| (format!("k.{i}"), value)).collect::<Map<_, _>>()),
        ] {
            let text = if pretty {
                serde_json::to_string_pretty(&root).unwrap()
            } else {
                root.to_string()
            };
            let expected: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(hocon::parse(&text).map_err(|e| TestCaseError::fail(e.to_string()))?, expected);
        }
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = hocon::parse(&text);
    }

    #[test]
    fn nothing_that_looks_like_hocon_panics(text in pieces()) {
        if let Err(error) = hocon::parse(&text) {
            prop_assert!(error.line >= 1 && error.column >= 1);
        }
    }
}
