//! `code …`: what is asked, what is printed, how it ends.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::Fake;

const DEPLOYS: &str = "POST /code-manager/v1/deploys";
const STATUS: &str = "GET /code-manager/v1/deploys/status";
const HISTORY: &str = "GET /tutti/v1/code/history";
const VERSIONS: &str = "GET /tutti/v1/code/versions";
const DIFF: &str = "GET /tutti/v1/code/diff";
const ROLLBACK: &str = "POST /tutti/v1/code/rollback";
const PROMOTE: &str = "POST /tutti/v1/code/promote";
const PIN: &str = "POST /tutti/v1/code/pin";
const UNPIN: &str = "POST /tutti/v1/code/unpin";
const GC: &str = "POST /tutti/v1/code/gc";
const VERIFY: &str = "POST /tutti/v1/code/verify";

const OLD: &str = "c43836e58e0000000000000000000000000000aa";
const NEW: &str = "49adb9610ca144a1fa3f7983324c1d1d8ffc8b41";

fn deployment(action: &str) -> Value {
    json!({
        "id": 7, "environment": "production", "action": action, "dry_run": false,
        "state": "synced", "owner": "anna", "reason": "the new web tier",
        "queued_timestamp": "2026-11-22T10:00:00Z", "started_timestamp": "2026-11-22T10:00:00Z",
        "finished_timestamp": "2026-11-22T10:00:02Z", "served_by": 7,
        "version": NEW, "version_before": OLD,
        "control_commit": "d1f6cb94820000000000000000000000000000bb", "modules": 20,
        "changes": {"control": null, "modules": [
            {"directory": "modules/apt", "from": OLD, "to": NEW},
            {"directory": "modules/ntp\u{1b}[2J", "from": null, "to": "9.1.0"}]},
        "notes": ["site of the control repository is left out"], "error": null,
    })
}

fn complete() -> Value {
    json!({"environment": "production", "id": 7, "status": "complete",
        "deploy-signature": "d1f6cb94820000000000000000000000000000bb",
        "deployment": deployment("deploy")})
}

fn failed() -> Value {
    json!({"environment": "broken", "id": 8, "status": "failed", "error": {
        "kind": "puppetlabs.code-manager/deploy-failure",
        "msg": "nova: manifests that do not parse: manifests/init.pp:2:1\nntp: no tag v1"}})
}

#[tokio::test]
async fn a_deployment_that_went_well_and_one_that_did_not() {
    let answers = vec![(DEPLOYS, 200, json!([complete(), failed()]))];
    let fake = Fake::start(answers).await;
    let ran = fake
        .run(&[
            "tutti",
            "code",
            "deploy",
            "production",
            "broken",
            "--reason",
            "x",
        ])
        .await;
    assert_eq!(ran.code, 1, "{}", ran.error);
    assert_snapshot!(ran.printed);
    assert_eq!(
        fake.asked()[0].body,
        json!({"environments": ["production", "broken"], "deploy-all": false, "wait": true,
            "dry-run": false, "reason": "x"})
    );
}

#[tokio::test]
async fn nobody_waits_who_does_not_want_to() {
    let queued = json!([{"environment": "production", "id": 7, "status": "queued"}]);
    let fake = Fake::start(vec![(DEPLOYS, 200, queued)]).await;
    let ran = fake
        .run(&["tutti", "code", "deploy", "--all", "--no-wait"])
        .await;
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert_snapshot!(ran.printed, @"… production: queued as 7; `tutti code status` tells how it ends");
    // Puppet Enterprise's client waits only if it is told to, and prints JSON.
    let ran = fake.run(&["puppet-code", "deploy", "production"]).await;
    assert_eq!(ran.code, 0, "{}", ran.error);
    let printed: Value = serde_json::from_str(&ran.printed).unwrap();
    assert_eq!(printed[0]["status"], "queued");
    fake.run(&["puppet-code", "deploy", "production", "-w"])
        .await;
    let waits: Vec<_> = fake
        .asked()
        .iter()
        .map(|asked| asked.body["wait"].clone())
        .collect();
    assert_eq!(waits, [false, false, true]);
}

#[tokio::test]
async fn what_is_live_and_under_way_and_failed() {
    let mut broken = deployment("deploy");
    let error = json!({"kind": "k", "msg": "no tag v1\u{1b}[2J\nin modules/ntp"});
    for (key, value) in [
        ("environment", json!("broken")),
        ("id", json!(8)),
        ("state", json!("failed")),
        ("owner", json!("ci")),
        ("control_commit", Value::Null),
        ("error", error),
    ] {
        broken[key] = value;
    }
    let status = json!({
        "deploys-status": {"new": [], "deploying": [],
            "queued": [{"id": 9, "environment": "web", "status": "queued",
                "queued-at": "2026-11-22T10:00:00Z"}],
            "failed": [{"id": 8, "environment": "broken", "status": "failed",
                "queued-at": "2026-11-22T10:00:00Z", "error": {"kind": "k", "msg": "no tag v1"}}]},
        "last-outcomes": [broken, deployment("deploy")],
        "file-sync-storage-status": {"deployed": [{"environment": "production",
            "date": "2026-11-22T10:00:02Z", "deploy-signature": OLD, "version": NEW}]},
        "file-sync-client-status": {"all-synced": true, "file-sync-clients": {}},
    });
    let fake = Fake::start(vec![(STATUS, 200, status.clone())]).await;
    let ran = fake.run(&["tutti", "code", "status"]).await;
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert_snapshot!(ran.printed);
    let ran = fake.run(&["puppet-code", "status"]).await;
    assert_eq!(serde_json::from_str::<Value>(&ran.printed).unwrap(), status);

    let one = status["deploys-status"]["failed"][0].clone();
    let fake = Fake::start(vec![(STATUS, 200, one)]).await;
    let ran = fake.run(&["tutti", "code", "status", "8"]).await;
    assert_eq!(ran.code, 1, "{}", ran.error);
    assert_snapshot!(ran.printed, @r"
    8 broken: failed since 2026-11-22T10:00:00Z
        no tag v1
    ");
    assert_eq!(fake.asked()[0].query, "id=8");
}

#[tokio::test]
async fn the_history_says_who_and_why_and_what() {
    let mut refused = deployment("deploy");
    refused["state"] = json!("failed");
    refused["id"] = json!(6);
    refused["error"] = json!({"kind": "tutti/environment-pinned", "msg": "production is pinned"});
    let history = json!({"items": [deployment("rollback"), refused]});
    let fake = Fake::start(vec![(HISTORY, 200, history)]).await;
    let ran = fake
        .run(&["tutti", "code", "history", "production", "--before", "9"])
        .await;
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert_snapshot!(ran.printed);
    assert_eq!(
        fake.asked()[0].query,
        "limit=20&environment=production&before=9"
    );
}

#[tokio::test]
async fn versions_and_what_is_different_between_them() {
    let versions = json!({"items": [
        {"environment": "production", "version": NEW, "live": true, "branch": "production",
            "control_commit": OLD, "modules": 20, "pinned": {"owner": "ben", "reason": "freeze",
                "timestamp": "2026-11-22T10:00:00Z"}},
        {"environment": "production", "version": OLD, "live": false, "branch": null,
            "control_commit": null, "modules": 0, "pinned": null}]});
    let diff = json!({"from": OLD, "to": NEW, "changes": deployment("deploy")["changes"],
        "files": [{"path": "modules/apt/VERSION", "change": "changed"},
            {"path": "site\n.pp", "change": "added"}], "cut": true});
    let fake = Fake::start(vec![(VERSIONS, 200, versions), (DIFF, 200, diff)]).await;
    let ran = fake.run(&["tutti", "code", "versions"]).await;
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert_snapshot!(ran.printed);
    let ran = fake
        .run(&[
            "tutti",
            "code",
            "diff",
            "staging",
            "c43",
            "--with",
            "production",
        ])
        .await;
    assert_eq!(ran.code, 0, "{}", ran.error);
    assert_snapshot!(ran.printed);
    let query = &fake.asked()[1].query;
    assert_eq!(
        query,
        "environment=staging&from=c43&to_environment=production"
    );
}

#[tokio::test]
async fn switching_without_a_repository() {
    let gone = json!({"versions": [{"environment": "production", "version": OLD}], "objects": 3,
        "bytes": 1_500_000, "left_bytes": 46_000_000, "notes": 5, "repositories": 2,
        "repositories_bytes": 21_000_000});
    let pinned = json!({"environment": "production", "version": NEW});
    let unpinned = json!({"environment": "production", "version": null});
    let fake = Fake::start(vec![
        (ROLLBACK, 200, deployment("rollback")),
        (PROMOTE, 200, deployment("promote")),
        (PIN, 200, pinned),
        (UNPIN, 200, unpinned),
        (GC, 200, gone),
    ])
    .await;
    let mut printed = String::new();
    for words in [
        &["code", "rollback", "production"][..],
        &[
            "code",
            "promote",
            "staging",
            "production",
            "--version",
            "49ad",
        ],
        &["code", "pin", "production", "--reason", "freeze"],
        &["code", "unpin", "production"],
        &["code", "gc", "--dry-run"],
    ] {
        let ran = fake.run(&[&["tutti"], words].concat()).await;
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.error);
        printed.push_str(&ran.printed);
    }
    assert_snapshot!(printed);
    let bodies: Vec<_> = fake.asked().into_iter().map(|asked| asked.body).collect();
    assert_eq!(
        bodies,
        [
            json!({"environment": "production", "reason": ""}),
            json!({"from": "staging", "version": "49ad", "to": "production", "reason": ""}),
            json!({"environment": "production", "reason": "freeze"}),
            json!({"environment": "production"}),
            json!({"dry_run": true}),
        ]
    );
}

#[tokio::test]
async fn what_the_server_refuses_is_its_answer() {
    let off = json!({"kind": "tutti/no-code-manager", "msg": "this server deploys no code",
        "details": {}});
    let fake = Fake::start(vec![(DEPLOYS, 404, off)]).await;
    let ran = fake.run(&["tutti", "code", "deploy", "--all"]).await;
    assert_eq!(ran.code, 2);
    assert!(ran.error.contains("deploys no code"), "{}", ran.error);
}

#[tokio::test]
async fn verification_names_damaged_versions_and_fails_until_they_are_whole() {
    let version = |state: &str, damaged: &[&str], files: usize, why: Value| {
        json!({"environment": "production", "version": OLD, "live": false, "state": state,
            "damaged": damaged, "damaged_files": files, "why": why, "deployment": null})
    };
    let answer = |damaged_contents: usize, versions: Vec<Value>| {
        let verified = json!({"contents": 1_234, "bytes": 12_300_000, "damaged_contents": damaged_contents,
            "versions": versions});
        vec![(VERIFY, 200, verified)]
    };
    let whole = version("whole", &[], 0, Value::Null);
    let cases = [
        (answer(0, vec![whole.clone()]), false, 0),
        (answer(1, vec![whole.clone()]), false, 1),
        (answer(1, vec![whole]), true, 0),
        (
            answer(
                0,
                vec![version("damaged", &["a", "b\u{1b}[2J"], 12, Value::Null)],
            ),
            false,
            1,
        ),
        (
            answer(0, vec![version("repaired", &["a"], 1, Value::Null)]),
            true,
            0,
        ),
        (
            answer(
                0,
                vec![version("damaged", &["a"], 1, json!("no repository"))],
            ),
            true,
            1,
        ),
        (
            answer(
                0,
                vec![version("unknown", &[], 0, json!("no list of files"))],
            ),
            false,
            1,
        ),
    ];
    let mut printed = String::new();
    for (answers, is_repair, code) in cases {
        let fake = Fake::start(answers).await;
        let mut words = vec!["tutti", "code", "verify"];
        if is_repair {
            words.push("--repair");
        }
        let ran = fake.run(&words).await;
        assert_eq!(ran.code, code, "{}{}", ran.printed, ran.error);
        assert_eq!(fake.asked()[0].body, json!({"repair": is_repair}));
        printed.push_str(&ran.printed);
        printed.push('\n');
    }
    assert_snapshot!(printed);
}
