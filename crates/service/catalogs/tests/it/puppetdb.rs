//! Answers of a PuppetDB in a catalog.

use std::time::{Duration, Instant};

use inventory::PuppetDbConfig;
use serde_json::{Value as Json, json};

use crate::fake_puppetdb::{Behaviour, FakePuppetdb};
use crate::site::{compile, compile_with, resource};

const COLLECT: &str = "Notify <<| |>>";

fn row(certname: &str, type_name: &str, title: &str, parameters: Json) -> Json {
    json!({"certname": certname, "type": type_name, "title": title, "parameters": parameters})
}

#[test]
fn resources_of_other_nodes_are_collected() {
    let puppetdb = FakePuppetdb::answering(&json!([
        row(
            "b",
            "Notify",
            "from b",
            json!({"message": "hello", "tag": "x"})
        ),
        row("a", "Notify", "from a", json!({})),
    ]));
    let manifest = "Notify <<| tag == 'X' and message != 'no' |>> { withpath => true }";
    let document = compile(manifest, &puppetdb.url()).unwrap();
    let collected = resource(&document, "Notify", "from b").unwrap();
    assert_eq!(
        collected["parameters"],
        json!({"message": "hello", "tag": "x", "withpath": true})
    );
    assert_eq!(collected["exported"], json!(false));
    let titles: Vec<&Json> = document["resources"].as_array().unwrap().iter().collect();
    assert_eq!(titles[titles.len() - 2]["title"], "from a");
    // one request, though the collector is evaluated again and again
    let conditions = json!([
        "and",
        ["=", "type", "Notify"],
        ["=", "exported", true],
        ["not", ["=", "certname", "here"]],
        [
            "and",
            ["=", "tag", "x"],
            ["not", ["=", ["parameter", "message"], "no"]]
        ]
    ]);
    let columns = json!(["certname", "type", "title", "parameters"]);
    let query = json!(["from", "resources", ["extract", columns, conditions]]);
    assert_eq!(puppetdb.requests(), [json!({"query": query})]);
}

#[test]
fn rows_are_plain_data() {
    let rows = json!([{"certname": "a", "value": {"n": 1, "f": 1.5, "list": [null, true, "ü"]}}]);
    let puppetdb = FakePuppetdb::answering(&rows);
    let manifest = "
        $rows = puppetdb_query('inventory { }')
        notify { $rows[0]['certname']: message => $rows[0]['value'] }
        notify { 'again': message => puppetdb_query(['from', 'nodes', ['=', 'certname', 'a']]).length }";
    let document = compile(manifest, &puppetdb.url()).unwrap();
    let shown = resource(&document, "Notify", "a").unwrap();
    assert_eq!(shown["parameters"]["message"], rows[0]["value"]);
    let again = resource(&document, "Notify", "again").unwrap();
    assert_eq!(again["parameters"]["message"], json!(1));
    assert_eq!(
        puppetdb.requests(),
        [
            json!({"query": "inventory { }"}),
            json!({"query": ["from", "nodes", ["=", "certname", "a"]]})
        ]
    );
}

#[test]
fn wrong_arguments_of_a_query_are_puppets_error() {
    let puppetdb = FakePuppetdb::answering(&json!([]));
    for argument in ["1", "''", "[]", "undef"] {
        let manifest = format!("puppetdb_query({argument})");
        let error = compile(&manifest, &puppetdb.url()).unwrap_err();
        assert!(
            error.contains("'puppetdb_query' parameter 'query'"),
            "{error}"
        );
    }
    let error = compile("puppetdb_query([Sensitive('x')])", &puppetdb.url()).unwrap_err();
    assert!(!error.contains("'x'"), "{error}");
    assert_eq!(puppetdb.requests(), [] as [Json; 0]);
}

#[test]
fn without_puppetdb_the_function_is_unknown() {
    let error = compile_with("puppetdb_query('nodes { }')", None).unwrap_err();
    assert_eq!(
        error,
        "Evaluation Error: Unknown function: 'puppetdb_query'. (file: /manifests/site.pp, line: 1, \
         column: 1) on node here [it needs a PuppetDB: name one with --puppetdb, or in the configuration \
         of the server]"
    );
}

#[test]
fn an_answer_that_is_none_is_an_error_with_server_and_cause() {
    let refused = json!({"error": "Query too \u{1b}[31mwide"}).to_string();
    for (behaviour, cause) in [
        (
            Behaviour::Answer(200, "<html>".to_owned()),
            "the answer cannot be read",
        ),
        (
            Behaviour::Answer(200, "{}".to_owned()),
            "not a list of rows",
        ),
        (Behaviour::Answer(200, "[1]".to_owned()), "`type`"),
        (
            Behaviour::Answer(200, "[{\"certname\":".to_owned()),
            "cannot be read",
        ),
        (
            Behaviour::Answer(200, "[".repeat(100_000)),
            "cannot be read",
        ),
        (
            Behaviour::Answer(500, "no\r\nluck".to_owned()),
            "HTTP 500: no",
        ),
        (Behaviour::Answer(400, refused), "Query too"),
        (Behaviour::Short, "broke off"),
        (Behaviour::Silence, "no answer within"),
    ] {
        let puppetdb = FakePuppetdb::start(behaviour);
        let url = puppetdb.url();
        let error = compile(COLLECT, &url).unwrap_err();
        let begin = format!("Could not retrieve resources from the PuppetDB at {url}/: ");
        assert!(error.contains(&begin), "{error}");
        assert!(error.contains(cause), "{cause}: {error}");
        assert!(!error.contains('\u{1b}'), "{error:?}");
        let error = compile("puppetdb_query('nodes { }')[0].length", &url).unwrap_err();
        assert!(error.len() < 3_000, "{error}");
    }
}

#[test]
fn an_endless_answer_ends() {
    let puppetdb = FakePuppetdb::start(Behaviour::Endless);
    let mut config = PuppetDbConfig::new([puppetdb.url()], None).unwrap();
    config.max_response_bytes = 1 << 20;
    let error = compile_with(COLLECT, Some(config)).unwrap_err();
    assert!(error.contains("larger than 1 MiB"), "{error}");
}

#[test]
fn a_server_that_is_away_or_silent_is_named_in_time() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let error = compile(COLLECT, &format!("http://{address}")).unwrap_err();
    assert!(error.contains(&address.to_string()), "{error}");
    assert!(error.contains("is PuppetDB running there?"), "{error}");
    let silent = FakePuppetdb::start(Behaviour::Silence);
    let since = Instant::now();
    compile(COLLECT, &silent.url()).unwrap_err();
    assert!(since.elapsed() < Duration::from_secs(20));
}

#[test]
fn resources_of_wrong_types_and_titles_are_errors_of_the_catalog() {
    for (manifest, row, cause) in [
        (
            COLLECT,
            row("a", "Exec", "x", json!({})),
            "a resource of the type \"Exec\"",
        ),
        (COLLECT, row("a", "Notify", "x", json!([])), "not an object"),
        (
            COLLECT,
            row("a", "Notify", "x", json!({"mode": "1"})),
            "no parameter named 'mode'",
        ),
        (
            COLLECT,
            row("a", "Notify", "x", json!({"require": "File[/no]"})),
            "Could not find",
        ),
        (
            COLLECT,
            row("a", "Notify", "x", json!({"require": {"a": 1}})),
            "",
        ),
        (
            COLLECT,
            row("a", "Notify", "x", json!({"tag": "no tag!"})),
            "tag",
        ),
        (
            "notify { 'x': } Notify <<| |>>",
            row("a", "Notify", "x", json!({})),
            "A duplicate resource was found while collecting exported resources, with the type and \
             title Notify[x]",
        ),
        (
            "define d(Integer $n) { } D <<| |>>",
            row("a", "D", "x", json!({"n": "text"})),
            "expects an Integer",
        ),
    ] {
        let puppetdb = FakePuppetdb::answering(&json!([row]));
        let error = compile(manifest, &puppetdb.url()).unwrap_err();
        assert!(error.contains(cause), "{row}: {error}");
    }
}

#[test]
fn titles_of_any_characters_stay_as_they_are() {
    for title in ["\0", "a\0b", "ü€𝄞", "]['\"$x", "\u{202e}", "", "a\nb"] {
        let rows = json!([row("a", "Notify", title, json!({"message": title}))]);
        let puppetdb = FakePuppetdb::answering(&rows);
        match compile(COLLECT, &puppetdb.url()) {
            Ok(document) => {
                let found = resource(&document, "Notify", title).unwrap();
                assert_eq!(found["parameters"]["message"], title);
            }
            Err(error) => assert!(title.is_empty(), "{title:?}: {error}"),
        }
    }
}

#[test]
fn the_same_title_of_two_nodes_is_an_error() {
    let rows = json!([
        row("a", "Notify", "x", json!({})),
        row("b", "Notify", "x", json!({}))
    ]);
    let puppetdb = FakePuppetdb::answering(&rows);
    let error = compile(COLLECT, &puppetdb.url()).unwrap_err();
    assert!(error.contains("A duplicate resource was found"), "{error}");
}

#[test]
fn very_many_resources_are_collected_or_refused() {
    let rows = |number: usize| {
        let rows = (0..number).map(|it| row("a", "Notify", &format!("n{it}"), json!({})));
        Json::Array(rows.collect())
    };
    let puppetdb = FakePuppetdb::answering(&rows(100_000));
    let mut config = PuppetDbConfig::new([puppetdb.url()], None).unwrap();
    config.total_timeout = Duration::from_secs(60);
    let document = compile_with(COLLECT, Some(config.clone())).unwrap();
    assert_eq!(document["resources"].as_array().unwrap().len(), 100_003);
    let puppetdb = FakePuppetdb::answering(&rows(100_001));
    let error = compile(COLLECT, &puppetdb.url()).unwrap_err();
    assert!(error.contains("narrower query"), "{error}");
}
