//! `command run`, `script run`, `file upload` and `file download`: requests, output, mistakes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::fake::{Answers, Fake, Ran, stream};
use super::jobs::event;

const ACTION: &str = "POST /orchestrator/v1/command/action";
const TASK: &str = "POST /orchestrator/v1/command/task";

fn job(kind: &str, state: &str) -> Value {
    let link = json!({"id": ""});
    json!({
        "id": "", "name": "7", "state": state, "command": kind, "type": kind,
        "options": {"task": "bolt_shim::command", "params": {"command": "uptime"},
            "scope": {"nodes": ["web1"]}},
        "owner": {"login": "anna"}, "description": "", "environment": {"name": "production"},
        "timestamp": "2026-11-21T20:00:09Z", "duration": "1.0", "node_count": 1,
        "node_states": {state: 1}, "nodes": link, "report": link, "events": link, "userdata": {}
    })
}

fn node(state: &str, result: &Value) -> Value {
    let node = json!({"name": "web1", "state": state, "transport": "pcp", "latest-event-id": 2,
        "details": {}, "result": result});
    json!({"next-events": {"id": "", "event": "3"}, "items": [node]})
}

pub(super) fn answers(kind: &str, state: &str, result: Value) -> Answers {
    let created = json!({"job": {"id": "", "name": "7"}});
    let ended = if state == "finished" {
        "node_finished"
    } else {
        "node_failed"
    };
    let events = stream(&[
        event(
            1,
            ended,
            json!({"node": "web1", "detail": {}, "result": result.clone()}),
        ),
        event(2, "job_finished", json!({})),
    ]);
    vec![
        ("GET /orchestrator/v1/tasks/package/init", 200, package()),
        (ACTION, 202, created.clone()),
        (TASK, 202, created),
        ("GET /orchestrator/v1/jobs/7", 200, job(kind, state)),
        (
            "GET /orchestrator/v1/jobs/7/nodes",
            200,
            node(state, &result),
        ),
        ("GET /orchestrator/v1/events/stream", 200, events),
    ]
}

fn package() -> Value {
    json!({"id": "", "name": "package", "environment": {"name": "production"}, "permitted": true,
        "metadata": {}, "files": []})
}

fn ended(code: i64) -> Value {
    let mut result = json!({"stdout": "up 3 days\n", "stderr": "", "merged_output": "up 3 days\n", "exit_code": code});
    if code != 0 {
        let msg = format!("The command failed with exit code {code}");
        result["_error"] = json!({"msg": msg, "kind": "puppetlabs.tasks/command-error"});
    }
    result
}

#[tokio::test]
async fn a_command_is_an_action_and_its_output_is_shown_as_it_is() {
    let fake = Fake::start(answers("command", "finished", ended(0))).await;
    let words = [
        "tutti",
        "command",
        "run",
        "uptime",
        "-t",
        "web1",
        "--run-as",
        "nobody",
        "--timeout",
        "1m",
    ];
    let ran = fake.run(&words).await;
    assert_eq!((ran.code, ran.error.as_str()), (0, ""), "{ran:?}");
    assert!(
        ran.printed.contains("Job 7: command uptime on 1 node\n"),
        "{}",
        ran.printed
    );
    assert!(
        ran.printed
            .contains("✓ web1 finished\n    up 3 days\n\nJob 7 finished"),
        "{}",
        ran.printed
    );
    let asked = fake.body(ACTION);
    assert_eq!(asked["type"], "command");
    assert_eq!(asked["params"], json!({"command": "uptime"}));
    assert_eq!(
        (&asked["run_as"], &asked["timeout"]),
        (&json!("nobody"), &json!(60))
    );
}

#[tokio::test]
async fn a_command_that_fails_ends_with_1() {
    let fake = Fake::start(answers("command", "failed", ended(3))).await;
    let ran = fake
        .run(&["tutti", "command", "run", "uptime", "-t", "web1"])
        .await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.printed
            .contains("    The command failed with exit code 3\n"),
        "{}",
        ran.printed
    );
}

#[tokio::test]
async fn a_script_goes_with_its_content_and_arguments() {
    let fake = Fake::start(answers("script", "finished", ended(0))).await;
    let script = fake.file("clean.sh", "#!/bin/sh\necho $1\n");
    let words = [
        "tutti",
        "script",
        "run",
        &script,
        "-t",
        "web1",
        "--no-wait",
        "/var/cache",
        "7",
        "--",
    ];
    let ran = fake.run_with(&words, &["--force"]).await;
    assert_eq!((ran.code, ran.printed.as_str()), (0, "7\n"), "{ran:?}");
    let asked = fake.body(ACTION);
    assert_eq!(asked["type"], "script");
    let params = json!({"content": STANDARD.encode("#!/bin/sh\necho $1\n"), "name": "clean.sh",
        "arguments": ["/var/cache", "7", "--force"]});
    assert_eq!(asked["params"], params);
}

#[tokio::test]
async fn a_file_is_uploaded_and_downloaded() {
    let fake = Fake::start(answers("upload", "finished", json!({"_output": "done"}))).await;
    let file = fake.file("motd", "hello\n");
    let ran = fake
        .run(&["tutti", "file", "upload", &file, "/etc/motd", "-t", "web1"])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let params =
        json!({"content": STANDARD.encode("hello\n"), "name": "motd", "path": "/etc/motd"});
    assert_eq!(fake.body(ACTION)["params"], params);

    let told = json!({"is_directory": false, "left_out": 0,
        "items": [{"path": "", "content": STANDARD.encode("hello\n"), "is_executable": false}]});
    let fake = Fake::start(answers("task", "finished", told)).await;
    let place = fake.path("collected").display().to_string();
    let ran = fake
        .run(&[
            "tutti",
            "file",
            "download",
            "/etc/motd",
            &place,
            "-t",
            "web1",
        ])
        .await;
    assert_eq!(ran.code, 0, "{ran:?}");
    let kept = fake.path("collected/web1/motd");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "hello\n");
    assert!(
        ran.printed
            .contains(&format!("✓ web1  /etc/motd -> {}", kept.display())),
        "{}",
        ran.printed
    );
    assert_eq!(fake.body(TASK)["task"], "bolt_shim::download");
}

#[tokio::test]
async fn a_download_that_fails_says_why() {
    let error =
        json!({"_error": {"msg": "cannot read /etc/nothing", "kind": "tutti/download-error"}});
    let fake = Fake::start(answers("task", "failed", error)).await;
    let place = fake.path("collected").display().to_string();
    let ran = fake
        .run(&[
            "tutti",
            "file",
            "download",
            "/etc/nothing",
            &place,
            "-t",
            "web1",
        ])
        .await;
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.printed
            .contains("✗ web1 failed\n    cannot read /etc/nothing\n"),
        "{}",
        ran.printed
    );
    assert!(!fake.path("collected").exists());
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused_before_anything_is_asked() {
    let fake = Fake::start(Vec::new()).await;
    let dir = fake.dir.path().display().to_string();
    let large = fake.path("large");
    let made = std::fs::File::create(&large).unwrap();
    made.set_len(crate::defaults::ACTION_FILE_BYTES + 1)
        .unwrap();
    let (large, file) = (large.display().to_string(), fake.file("f", "x"));
    for (words, part) in [
        (
            &["tutti", "command", "run", " ", "-t", "web1"][..],
            "there is no command",
        ),
        (
            &["tutti", "command", "run", "@/nonexistent", "-t", "web1"],
            "cannot read /nonexistent",
        ),
        (
            &["tutti", "script", "run", "/nonexistent", "-t", "web1"],
            "cannot read /nonexistent",
        ),
        (
            &["tutti", "script", "run", "..", "-t", "web1"],
            "does not end with the name of a file",
        ),
        (
            &["tutti", "file", "upload", &dir, "/x", "-t", "web1"],
            "only single files can be sent",
        ),
        (
            &["tutti", "file", "upload", &large, "/x", "-t", "web1"],
            "larger than 16 MiB",
        ),
        (
            &["tutti", "file", "upload", &file, "x", "-t", "web1"],
            "not an absolute path",
        ),
        (
            &["tutti", "file", "upload", &file, "/etc/", "-t", "web1"],
            "such as /etc/f",
        ),
        (
            &["tutti", "file", "download", "x", &dir, "-t", "web1"],
            "not the absolute path",
        ),
    ] {
        let Ran { code, error, .. } = fake.run(words).await;
        assert!(code == 2 && error.contains(part), "{words:?}: {error}");
    }
    assert!(fake.asked().is_empty(), "{:?}", fake.asked());
}
