//! `catalog show`, `history` and `why`: what is requested, what is printed.

use clap::Parser as _;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answers, Fake};
use crate::client::ApiClient;
use crate::node_catalog::{NodeCatalogVerb, run};
use crate::{ConnectionFlags, say};

const NODE: &str = "web1.example";

#[derive(clap::Parser)]
struct Line {
    #[command(subcommand)]
    verb: NodeCatalogVerb,
}

fn compilation() -> Value {
    json!({"catalog_uuid": "5252ad04-dc6b-4000-8000-000000000001", "environment": "production",
    "code_id": "urn:puppet:code-id:1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa;production",
    "time": "2026-11-28T04:32:33.250Z", "milliseconds": 1_234, "bytes": 50_123, "volatile": null, "ahead": true,
    "causes": [
        {"kind": "code", "text": "the version of the code changed; before: urn:x", "names": [], "further": 0},
        {"kind": "facts", "text": "facts that the code reads changed",
            "names": ["os.family", "evil\u{1b}[2J"], "further": 3},
    ]})
}

async fn printed(words: &[&str], answers: Answers) -> String {
    let fake = Fake::start(answers).await;
    let (cacert, token) = (fake.path("ca.pem"), fake.path("token"));
    let flags = ConnectionFlags::from_values(|id| match id {
        "service_url" => Some(&fake.url),
        "cacert" => cacert.to_str(),
        "token_file" => token.to_str(),
        _ => None,
    });
    let line = Line::try_parse_from([&["catalog"], words].concat()).unwrap();
    let client = ApiClient::with_token(&flags).unwrap();
    say::capture();
    let code = run(&line.verb, &client).await;
    let printed = say::captured();
    assert_eq!(code.unwrap(), 0, "{:?}", fake.asked());
    printed
}

fn answer(path: &'static str, answer: Value) -> Answers {
    vec![(path, 200, answer)]
}

#[tokio::test]
async fn a_catalog_is_shown_with_what_its_code_read() {
    let document = json!({"node": NODE, "compilation": compilation(), "kept": {
        "used": null, "compressed_bytes": 5_012, "contents": 7, "facts": ["all facts", "os.family"],
        "hiera_keys": ["profile::web::port"], "queries": ["File <<| tag == \"x\" |>>"], "outside_files": ["/etc/puppetlabs/code/hiera.yaml"]}});
    let path = "GET /tutti/v1/catalogs/web1.example";
    let text = printed(&["show", NODE], answer(path, document.clone())).await;
    assert_snapshot!(text);
    let text = printed(&["show", NODE, "--format", "json"], answer(path, document)).await;
    let read: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(read["kept"]["contents"], 7);
}

#[tokio::test]
async fn compilations_are_listed_and_explained() {
    let history = json!({"node": NODE, "items": [compilation(), compilation()]});
    let path = "GET /tutti/v1/catalogs/web1.example/history";
    assert_snapshot!(printed(&["history", NODE], answer(path, history.clone())).await);
    assert_snapshot!(printed(&["why", NODE], answer(path, history)).await);
}
