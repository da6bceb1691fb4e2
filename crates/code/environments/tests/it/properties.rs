//! Properties of task metadata and parameter types that hold for all inputs.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::entry;

/// Texts that look like types, valid or not.
fn type_text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "String",
            "Integer",
            "Float",
            "Any",
            "Data",
            "Boolean",
            "Undef",
            "Numeric",
            "Scalar",
            "Enum['a',\"b\"]",
            "Pattern[/a+/]",
            "String[1,5]",
            "Integer[-3]",
            "Float[0.5,1e3]",
            "Boolean[true]",
            "Array[2]",
            "TargetSpec",
            "Collection[1,2]",
        ])
        .prop_map(str::to_owned),
        "[A-Z][a-z]{0,6}",
        "Enum\\['[ -~]{0,6}'\\]",
        "Pattern\\[/[ -~]{0,6}/\\]",
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        (
            prop::sample::select(vec![
                "Optional",
                "Array",
                "Hash",
                "Variant",
                "Tuple",
                "Sensitive",
                "NotUndef",
                "Struct",
            ]),
            vec(inner, 0..3),
        )
            .prop_map(|(name, arguments)| match name {
                "Struct" => {
                    let entries = arguments.iter().enumerate();
                    let entries: Vec<String> = entries
                        .map(|(index, inner)| format!("k{index} => {inner}"))
                        .collect();
                    format!("Struct[{{{}}}]", entries.join(", "))
                }
                name => format!("{name}[{}]", arguments.join(", ")),
            })
    })
}

proptest! {
    #[test]
    fn types_check_any_value(text in type_text()) {
        entry::parameter_type(text.as_bytes());
    }

    #[test]
    fn metadata_survives_writing(
        types in vec(type_text(), 0..4),
        noop: bool,
        description: String,
        extra in "[a-z]{1,8}",
    ) {
        let parameters: serde_json::Map<_, _> = types
            .into_iter()
            .enumerate()
            .map(|(index, text)| (format!("p{index}"), serde_json::json!({"type": text})))
            .collect();
        let file = serde_json::json!({
            "description": description,
            "supports_noop": noop,
            "parameters": parameters,
            extra: 1,
        });
        entry::task_metadata(file.to_string().as_bytes());
    }

    #[test]
    fn arbitrary_input_never_panics(data in vec(any::<u8>(), 0..200), text: String) {
        for data in [&data[..], text.as_bytes()] {
            entry::task_metadata(data);
            entry::parameter_type(data);
        }
    }

    #[test]
    fn nearly_good_types_never_panic(text in "[A-Za-z0-9\\[\\]{}',=>/\\\\\"$. -]{0,60}") {
        entry::parameter_type(text.as_bytes());
    }
}
