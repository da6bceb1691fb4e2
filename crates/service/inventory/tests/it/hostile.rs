//! Queries of hostile users.

use inventory::{NodeQuery, QueryError};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::site::Site;

testkit::both!(
    depth_size_and_cost_are_bounded,
    a_list_of_50_000_names_is_a_query_like_any_other,
);

/// Words of the query language in any order.
fn soup() -> impl Strategy<Value = String> {
    let words = [
        "nodes",
        "facts",
        "inventory",
        "reports",
        "certname",
        "facts.os.family",
        "value",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        "=",
        "~",
        "<",
        ">=",
        "!",
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "'x'",
        "\"y\"",
        "'",
        "\"",
        "1",
        "-1.5e3",
        "true",
        "order by",
        "limit",
        "offset",
        "group by",
        "count()",
        "\\",
        "\n",
        "é",
        "\u{0}",
        ".",
        "facts.\"a",
        "[0]",
        "~>",
    ];
    let word = prop::sample::select(words.to_vec());
    prop::collection::vec(word, 0..24).prop_map(|words| words.join(" "))
}

/// JSON that looks like an AST.
fn ast() -> impl Strategy<Value = Value> {
    let words = [
        "from",
        "nodes",
        "facts",
        "extract",
        "function",
        "count",
        "=",
        "~",
        ">",
        "in",
        "array",
        "and",
        "or",
        "not",
        "null?",
        "subquery",
        "select_facts",
        "limit",
        "order_by",
        "group_by",
        "certname",
        "value",
        "facts.x",
        "(",
    ];
    let leaf = prop_oneof![
        prop::sample::select(words.to_vec()).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            inner.prop_map(|value| json!({"field": value})),
        ]
    })
}

#[test]
fn any_text_is_answered_or_refused_with_a_place() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let site = runtime.block_on(Site::small());
    let check = |query: NodeQuery| match runtime.block_on(site.inventory.query(&query)) {
        Ok(_) | Err(QueryError::TooLarge { .. }) => Ok(()),
        Err(QueryError::Unsupported(invalid)) => {
            prop_assert!(!invalid.place.is_empty() && !invalid.what.is_empty());
            prop_assert!(!invalid.what.contains('\0'), "{invalid}");
            Ok(())
        }
        Err(other) => Err(TestCaseError::fail(format!("{query:?}: {other}"))),
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner
        .run(&soup(), |text| check(NodeQuery::from_text(text)))
        .unwrap();
    runner
        .run(&soup(), |text| {
            check(NodeQuery::from_text(format!("nodes {{ {text} }}")))
        })
        .unwrap();
    runner
        .run(&".*", |text| check(NodeQuery::from_text(text)))
        .unwrap();
    runner
        .run(&ast(), |ast| check(NodeQuery::from_ast(ast)))
        .unwrap();
    runner
        .run(&ast(), |ast| {
            check(NodeQuery::from_ast(json!(["from", "nodes", ast])))
        })
        .unwrap();
}

async fn depth_size_and_cost_are_bounded() {
    let site = Site::small().await;
    let not = "!".repeat(100_000);
    let many = |part: &str, times: usize| vec![part; times].join(" or ");
    for (query, words) in [
        (format!("nodes {{ {not} certname = 'x' }}"), "nested"),
        (
            format!("nodes {{ {} certname = 'x'", "(".repeat(100_000)),
            "nested",
        ),
        (format!("nodes {{ {}", "nodes {".repeat(1_000)), "nested"),
        (
            format!("nodes {{ certname = '{}' }}", "x".repeat(5 << 20)),
            "longer",
        ),
        (
            format!("nodes {{ {} }}", many("certname ~ 'x'", 65)),
            "regular expressions",
        ),
        (
            format!("nodes {{ {} }}", many("facts { }", 17)),
            "queries inside",
        ),
        (
            "nodes { certname ~ '((x{1000}){1000}){1000}' }".to_owned(),
            "too large",
        ),
        (
            format!("nodes[{}] {{ }}", vec!["certname"; 65].join(", ")),
            "columns",
        ),
        (
            format!("inventory {{ facts{} = 1 }}", ".x".repeat(40)),
            "parts",
        ),
    ] {
        let error = site.error(&query).await.to_string();
        assert!(error.contains(words), "{words}: {error}");
        assert!(error.len() < 500, "{words}: {} bytes", error.len());
    }
    let mut deep = json!(["=", "certname", "x"]);
    for _ in 0..100 {
        deep = json!(["not", deep]);
    }
    let query = NodeQuery::from_ast(json!(["from", "nodes", deep]));
    let error = site.inventory.query(&query).await.unwrap_err().to_string();
    assert!(error.contains("nested"), "{error}");
}

async fn a_list_of_50_000_names_is_a_query_like_any_other() {
    let site = Site::small().await;
    let names: Vec<String> = (0..50_000)
        .map(|i| format!("'node{i}.example.com'"))
        .collect();
    let query = format!("nodes {{ certname in [{}, 'db'] }}", names.join(", "));
    assert_eq!(site.names(&query).await, "db");
}
