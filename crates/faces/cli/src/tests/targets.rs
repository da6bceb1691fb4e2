//! How nodes are selected: `-n`, `-t`, patterns, short names, and who may use them.

use serde_json::{Value, json};

use super::fake::{Answers, Fake};
use super::jobs::DEPLOY;

const SELECT: &str = "POST /orchestrator/v1/selected_nodes";
const INVENTORY: &str = "GET /orchestrator/v1/inventory";

fn answers(select: (u16, Value)) -> Answers {
    let connected = json!({"items": [{"name": "web1", "connected": true}], "returning": ["web2"]});
    vec![
        (DEPLOY, 202, json!({"job": {"id": "", "name": "81"}})),
        (SELECT, select.0, select.1),
        (INVENTORY, 200, connected),
    ]
}

fn selected(nodes: &[&str]) -> (u16, Value) {
    (200, json!({"nodes": nodes}))
}

async fn run(fake: &Fake, words: &[&str]) -> u8 {
    let words = [&["tutti", "job", "run", "--no-wait"], words].concat();
    let ran = fake.run(&words).await;
    assert_eq!(ran.error, "", "{words:?}");
    ran.code
}

#[tokio::test]
async fn what_was_typed_is_resolved_by_the_server() {
    for flag in ["-n", "--nodes", "-t", "--targets"] {
        let fake = Fake::start(answers(selected(&["web1.example.com", "web2.example.com"]))).await;
        assert_eq!(run(&fake, &[flag, "web*,/^db[0-9]{1,2}/,mail"]).await, 0);
        let typed = json!({"nodes": ["web*", "/^db[0-9]{1,2}/", "mail"]});
        assert_eq!(fake.body(SELECT), typed);
        let nodes = json!(["web1.example.com", "web2.example.com"]);
        assert_eq!(fake.body(DEPLOY)["scope"], json!({"nodes": nodes}));
    }
}

#[tokio::test]
async fn all_means_connected_and_returning_nodes() {
    let fake = Fake::start(answers(selected(&[]))).await;
    assert_eq!(run(&fake, &["-t", "all"]).await, 0);
    assert_eq!(
        fake.body(DEPLOY)["scope"],
        json!({"nodes": ["web1", "web2"]})
    );
    assert!(fake.asked().iter().all(|asked| asked.what != SELECT));
}

#[tokio::test]
async fn a_name_that_is_not_there_starts_nothing() {
    let msg = "no node is named `wbe1` (did you mean `web1.example.com`?); 4 nodes are known here";
    let refused = json!({"kind": "tutti/unknown-node", "msg": msg, "details": {}});
    let fake = Fake::start(answers((404, refused))).await;
    let ran = fake.run(&["tutti", "job", "run", "-n", "wbe1"]).await;
    assert_eq!((ran.code, ran.error.starts_with(msg)), (2, true), "{ran:?}");
    assert!(fake.asked().iter().all(|asked| asked.what != DEPLOY));
}

#[tokio::test]
async fn without_the_right_to_see_nodes_names_work_and_patterns_do_not() {
    let refused = json!({"kind": "puppetlabs.rbac/permission-denied", "msg": "you may not",
        "details": {"permission": "nodes:view_data"}});
    let fake = Fake::start(answers((403, refused.clone()))).await;
    assert_eq!(run(&fake, &["-n", "web1"]).await, 0);
    assert_eq!(fake.body(DEPLOY)["scope"], json!({"nodes": ["web1"]}));

    for pattern in ["web*", "web1,/x/", "web?", "web[12]"] {
        let fake = Fake::start(answers((403, refused.clone()))).await;
        let ran = fake.run(&["tutti", "job", "run", "-n", pattern]).await;
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.error.contains("you may not"), "{ran:?}");
        assert!(
            fake.asked().iter().all(|asked| asked.what != DEPLOY),
            "{pattern}"
        );
    }
}

#[tokio::test]
async fn puppets_tools_keep_t_for_the_token_file() {
    let fake = Fake::start(Vec::new()).await;
    let token = fake.path("token").display().to_string();
    for words in [
        &["puppet-access", "show", "-t", &token][..],
        &["tutti", "access", "show", "-T", &token],
    ] {
        let ran = fake.run_alone(words).await;
        assert_eq!(ran.printed.trim(), super::fake::TOKEN, "{ran:?}");
    }
}
