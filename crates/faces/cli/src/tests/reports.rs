//! `report list` and `report show`: what is asked, what is printed, how it ends.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::fake::{Answers, Fake};

const LIST: &str = "GET /tutti/v1/reports";
const ID: &str = "9f86d081884c7d659a2feaa0c55ad015";

fn item(status: &str) -> Value {
    json!({"id": ID, "node": "web1.example", "status": status, "noop": status == "unchanged",
        "corrective_change": true, "environment": "production",
        "start_time": "2026-11-21T20:00:00.250Z", "end_time": "2026-11-21T20:00:04.750Z",
        "receive_time": "2026-11-21T20:00:05.000Z", "transaction_uuid": "u-1", "job": "81",
        "code_id": "c-1", "cached_catalog_status": "on_failure", "puppet_version": "8.10.0"})
}

fn document() -> Value {
    let mut report = item("failed");
    let event = |status: &str, property: &str, from: &str, to: &str, message: &str| {
        json!({"status": status, "property": property, "previous_value": from, "desired_value": to,
            "message": message})
    };
    report["metrics"] = json!([
        {"category": "resources", "name": "total", "value": 12},
        {"category": "resources", "name": "failed_to_restart", "value": 0},
        {"category": "resources", "name": "out_of_sync", "value": 3},
        {"category": "time", "name": "total", "value": 4.5},
    ]);
    report["resources"] = json!([
        {"type": "Exec", "title": "reload", "status": "skipped", "events": []},
        {"type": "File", "title": "/etc/motd", "status": "corrective", "file": "/site.pp", "line": 3,
         "events": [event("success", "mode", "0600", "0644", "mode changed '0600' to '0644'")]},
        {"type": "Service", "title": "web\u{1b}[2J", "status": "failed", "file": "/site.pp", "line": 7,
         "events": [event("failure", "ensure", "stopped", "running", "no such unit\nsee the journal")]},
        {"type": "File", "title": "/etc/issue", "status": "noop",
         "events": [event("noop", "content", "", "{sha256}ab", "current_value '{sha256}cd', should be '{sha256}ab' (noop)")]},
    ]);
    report["logs"] = json!([
        {"level": "debug", "message": "loading facts", "source": "Puppet"},
        {"level": "notice", "message": "mode changed", "source": "/Stage[main]/File[/etc/motd]",
         "time": "2026-11-21T20:00:01.000Z"},
        {"level": "err", "message": "no such unit\nsee the journal", "source": "Puppet",
         "time": "2026-11-21T20:00:02.000Z"},
    ]);
    report["notes"] = json!(["15 log messages were left out"]);
    report
}

fn answers(status: u16, answer: Value) -> Answers {
    vec![(LIST, status, answer)]
}

#[tokio::test]
async fn reports_are_listed_with_filters() {
    let list = json!({"items": [item("failed"), item("changed"), item("unchanged")]});
    let fake = Fake::start(answers(200, list)).await;
    let arguments = [
        "tutti", "report", "list", "--status", "failed", "--job", "81", "--limit", "3",
    ];
    let ran = fake.run(&arguments).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    assert_snapshot!(ran.printed);
    let query = &fake.asked()[0].query;
    assert_eq!(query, "limit=3&status=failed&job=81");
    let list = json!({"items": [item("failed")], "source": "puppetdb"});
    let ran = Fake::start(answers(200, list)).await;
    let ran = ran.run(&["tutti", "report", "list"]).await;
    assert!(
        ran.printed
            .ends_with("from PuppetDB; this server has no such reports\n"),
        "{ran:?}"
    );
    let none = Fake::start(answers(200, json!({"items": []}))).await;
    let ran = none.run(&["tutti", "report", "list"]).await;
    assert!(ran.printed.starts_with("No reports yet"), "{ran:?}");
}

#[tokio::test]
async fn a_report_is_shown_with_what_went_wrong_first() {
    let one = format!("GET /tutti/v1/reports/{}", &ID[..8]);
    let fake = Fake::start(vec![(one.leak(), 200, document())]).await;
    let ran = fake.run(&["tutti", "report", "show", &ID[..8]]).await;
    assert_eq!((ran.code, ran.error.as_str()), (1, ""), "{ran:?}");
    assert_snapshot!(ran.printed);
    let ran = fake
        .run(&["tutti", "report", "show", &ID[..8], "--logs", "all"])
        .await;
    assert!(ran.printed.contains("loading facts"), "{ran:?}");
    let ran = fake
        .run(&["tutti", "report", "show", &ID[..8], "--logs", "none"])
        .await;
    assert!(!ran.printed.contains("Messages"), "{ran:?}");
    let ran = fake
        .run(&["tutti", "report", "show", &ID[..8], "--format", "json"])
        .await;
    let printed: Value = serde_json::from_str(&ran.printed).unwrap();
    assert_eq!(printed["resources"][2]["status"], "failed");
}
