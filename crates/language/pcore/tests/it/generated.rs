//! Random types and values for the properties.

use proptest::prelude::*;

/// The text of a type. Bare `Optional`, `NotUndef` and `Variant` are left out: Puppet contradicts
/// itself about them, and the oracle covers them.
pub(crate) fn type_text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "Any",
        "Undef",
        "Default",
        "Scalar",
        "ScalarData",
        "Numeric",
        "Integer",
        "Integer[1, 5]",
        "Integer[default, 3]",
        "Float",
        "Float[0.5, 2.5]",
        "Boolean",
        "Boolean[true]",
        "String",
        "String[1]",
        "String[2, 4]",
        "Enum['a', 'b']",
        "Enum['a', true]",
        "Pattern[/^a/]",
        "Regexp",
        "Regexp[/a/]",
        "Collection",
        "Collection[1, 2]",
        "Array",
        "Hash",
        "Tuple",
        "Struct",
        "Binary",
        "SemVer",
        "SemVer['1.x']",
        "SemVerRange",
        "Timespan",
        "Timestamp",
        "URI",
        "Type",
        "Callable",
        "Iterable",
        "Iterator",
        "CatalogEntry",
        "Resource",
        "File",
        "File['/x']",
        "Class['foo']",
        "Sensitive",
        "Callable[0, 0]",
        "Hash[0, 0]",
        "Array[0, 0]",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(|ty| format!("Array[{ty}]")),
            inner.clone().prop_map(|ty| format!("Array[{ty}, 1, 3]")),
            inner.clone().prop_map(|ty| format!("Optional[{ty}]")),
            inner.clone().prop_map(|ty| format!("NotUndef[{ty}]")),
            inner.clone().prop_map(|ty| format!("Type[{ty}]")),
            inner.clone().prop_map(|ty| format!("Sensitive[{ty}]")),
            inner.clone().prop_map(|ty| format!("Iterable[{ty}]")),
            inner.clone().prop_map(|ty| format!("Hash[String, {ty}]")),
            pair.clone().prop_map(|(a, b)| format!("Variant[{a}, {b}]")),
            pair.clone()
                .prop_map(|(a, b)| format!("Tuple[{a}, {b}, 1, 4]")),
            pair.clone()
                .prop_map(|(a, b)| format!("Struct[{{'a' => {a}, Optional['b'] => {b}}}]")),
            // a callable as the last parameter is the block
            pair.prop_filter("a block", |(a, _)| !a.contains("Callable"))
                .prop_map(|(a, b)| format!("Callable[[{a}], {b}]")),
        ]
    })
}

/// The text of a value.
pub(crate) fn value_text() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "undef",
        "default",
        "true",
        "false",
        "0",
        "-7",
        "42",
        "1.5",
        "-0.25",
        "''",
        "'a'",
        "'Abc'",
        "'it\\'s'",
        "\"a\\nb\"",
        "/a/",
        "Integer",
        "File['/x']",
        "String[1]",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|values| format!("[{}]", values.join(", "))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{'a' => {a}, 1 => {b}}}")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{'a' => {a}, 'b' => {b}}}")),
        ]
    })
}
