//! The grammar of rules with arbitrary input.

use classifier::{GroupDelta, GroupInput, NodeGroupRule, QueryFormat, parse_import};
use proptest::prelude::*;
use serde_json::{Value, json};

fn any_json() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("and"),
        Just("or"),
        Just("not"),
        Just("="),
        Just("~"),
        Just(">="),
        Just("<"),
        Just("name"),
        Just("fact"),
        Just("trusted"),
        Just("rule"),
        Just("classes"),
        Just("parent"),
        Just("00000000-0000-4000-8000-000000000000"),
        Just("(?"),
        Just("a++"),
        Just("\u{0}"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec(("[a-z_]{0,8}", inner), 0..6)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn any_rule() -> impl Strategy<Value = Value> {
    let step = prop_oneof![
        "[ -~]{1,8}".prop_map(Value::from),
        (0_u32..9).prop_map(Value::from)
    ];
    let path = prop_oneof![
        Just(json!("name")),
        (
            "(fact|trusted)",
            "[ -~]{1,8}",
            prop::collection::vec(step, 0..4)
        )
            .prop_map(|(root, first, rest)| {
                let parts = [json!(root), json!(first)].into_iter().chain(rest);
                Value::Array(parts.collect())
            }),
    ];
    let comparison = prop_oneof![
        ("(=|>|>=|<|<=)", path.clone(), "\\PC{0,12}")
            .prop_map(|(sign, path, value)| json!([sign, path, value])),
        (path, "[a-z.*^$]{0,3}[a-z]").prop_map(|(path, value)| json!(["~", path, value])),
    ];
    comparison.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            ("(and|or)", prop::collection::vec(inner.clone(), 1..4)).prop_map(|(word, rest)| {
                Value::Array(std::iter::once(json!(word)).chain(rest).collect())
            }),
            inner.prop_map(|inner| json!(["not", inner])),
        ]
    })
}

proptest! {
    #[test]
    fn a_rule_is_written_as_it_was_read(json in any_rule()) {
        // Two quantifiers in a row are refused.
        if let Ok(rule) = NodeGroupRule::parse(&json) {
            prop_assert_eq!(rule.to_json(), json);
            prop_assert_eq!(NodeGroupRule::parse(&rule.to_json()), Ok(rule.clone()));
            // A translation must not panic; it may be refused.
            let _ = (rule.to_puppetdb(QueryFormat::Nodes), rule.to_puppetdb(QueryFormat::Inventory));
        }
    }

    #[test]
    fn arbitrary_json_is_read_or_refused(json in any_json()) {
        let _ = NodeGroupRule::parse(&json);
        let _ = GroupInput::parse(&json);
        let _ = GroupDelta::parse(&json);
        let _ = parse_import(&json, 0);
    }

    #[test]
    fn arbitrary_patterns_are_compiled_or_refused(pattern in "[\\[\\](){}*+?|^$.a-cdwsQEZ0-9,<>=!:&~\\\\-]{0,24}") {
        let _ = NodeGroupRule::parse(&json!(["~", "name", pattern]));
    }
}
