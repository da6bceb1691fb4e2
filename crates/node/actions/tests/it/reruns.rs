//! The files of requested reruns: what is listed, canceled and refused.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use actions::reruns::{RerunError, Reruns};
use serde_json::{Value, json};

struct StateDirectory {
    directory: tempfile::TempDir,
}

impl StateDirectory {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("again")).unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("again").join(name)
    }

    fn reruns(&self) -> Reruns {
        Reruns::below(self.directory.path())
    }

    fn write(&self, state: &Value) {
        std::fs::write(self.path("state.json"), state.to_string()).unwrap();
    }

    fn read(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.path("state.json")).unwrap()).unwrap()
    }
}

fn request(due: Option<f64>) -> Value {
    json!({
        "delta": 120, "wait": 130.5, "jitter": 0.5, "max_delay": 1800, "max_runs": 10, "due": due,
        "due_at": 0.0, "requested_at": 0.0, "run": {"pid": 1, "start": 2.5},
    })
}

fn state() -> Value {
    json!({
        "format": 1, "boot_id": boot_id(),
        "scopes": {
            "agent production": {
                "origin": {"arguments": ["agent"]}, "reruns": 2, "requested": true,
                "requests": {"again": request(Some(1e9)), "peers \u{1F980}": request(None)},
                "last": {"at": 1_795_880_863.413, "outcome": "changed"},
            },
            "agent dev": {
                "reruns": 0, "requested": true, "requests": {"again": request(Some(0.0))}, "later": [1],
            },
        },
    })
}

fn boot_id() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    text.trim().to_owned()
}

#[test]
fn a_node_without_requests_has_none() {
    let empty = tempfile::tempdir().unwrap();
    let reruns = Reruns::below(empty.path());
    let listing = reruns.list().unwrap();
    assert_eq!(listing.to_string(), "no rerun is requested\n");
    assert!(reruns.cancel(&[]).unwrap().is_empty());
    let refused = reruns.cancel(&["again".to_owned()]).unwrap_err();
    assert!(
        matches!(refused, RerunError::UnknownKey { .. }),
        "{refused}"
    );
    // nothing is made where Puppet has made nothing
    assert!(!reruns.directory().exists());
}

#[test]
fn the_requests_of_another_user_are_listed_and_not_changed() {
    let node = StateDirectory::new();
    node.write(&state());
    let directory = node.reruns().directory().to_owned();
    if std::os::unix::fs::chown(&directory, Some(65_534), None).is_err() {
        eprintln!("SKIPPED: only root can give a directory away");
        return;
    }
    assert_eq!(node.reruns().list().unwrap().requests.len(), 3);
    let refused = node.reruns().cancel(&[]).unwrap_err();
    assert!(
        matches!(refused, RerunError::Foreign { owner: 65_534, .. }),
        "{refused}"
    );
    assert_eq!(node.read(), state());
}

#[test]
fn requests_are_listed_with_their_time() {
    let node = StateDirectory::new();
    node.write(&state());
    let listing = node.reruns().list().unwrap();
    let text = listing.to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        "RUN               KEY      DUE               RERUN"
    );
    assert!(
        lines[1].starts_with("agent production  again    in "),
        "{text}"
    );
    assert!(lines[1].ends_with("  3 of 10"), "{text}");
    assert_eq!(
        lines[2],
        "agent production  peers \u{1F980}  131 s after run   3 of 10"
    );
    assert_eq!(
        lines[3],
        "agent dev         again    now               1 of 10"
    );
    assert_eq!(
        lines[4],
        "no process waits; the next run with the module common starts one"
    );
    assert_eq!(
        lines[5],
        "agent production: 2 reruns in a row; last, at 2026-11-28T15:47:43Z: changed"
    );
    // without a rerun there is nothing to say
    assert_eq!(lines.len(), 6, "{text}");
    let document: Value = serde_json::from_str(&listing.to_json()).unwrap();
    assert_eq!(document["requests"][1]["due_in_s"], Value::Null);
    assert_eq!(document["requests"][2]["due_in_s"], 0.0);
    assert_eq!(document["waiter"], Value::Null);
}

#[test]
fn times_before_a_restart_of_the_machine_count_by_the_date() {
    let node = StateDirectory::new();
    let mut state = state();
    state["boot_id"] = json!("another");
    let later = jiff::Timestamp::now().as_duration().as_secs_f64() + 1e6;
    state["scopes"]["agent dev"]["requests"]["again"]["due_at"] = json!(later);
    node.write(&state);
    let listing = node.reruns().list().unwrap();
    assert_eq!(listing.requests[0].due_in_s, Some(0.0));
    // and never prolong the pause
    assert_eq!(listing.requests[2].due_in_s, Some(130.5));
}

#[test]
fn one_key_is_canceled_and_everything_else_stays() {
    let node = StateDirectory::new();
    node.write(&state());
    let unknown = node
        .reruns()
        .cancel(&["peers \u{1F980}".to_owned(), "none".to_owned()]);
    assert!(matches!(unknown, Err(RerunError::UnknownKey { key }) if key == "none"));
    assert_eq!(node.read(), state());

    let canceled = node.reruns().cancel(&["again".to_owned()]).unwrap();
    let scopes: Vec<_> = canceled.iter().map(|it| it.run.as_str()).collect();
    assert_eq!(scopes, ["agent production", "agent dev"]);
    let mut expected = state();
    for scope in ["agent production", "agent dev"] {
        let requests = expected["scopes"][scope]["requests"]
            .as_object_mut()
            .unwrap();
        requests.remove("again");
    }
    assert_eq!(node.read(), expected);
    let mode = node
        .path("state.json")
        .metadata()
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    assert_eq!(node.reruns().cancel(&[]).unwrap().len(), 1);
    assert!(node.reruns().cancel(&[]).unwrap().is_empty());
}

#[test]
fn a_damaged_file_is_named_and_stays() {
    let deep = "[".repeat(100_000);
    let huge = format!("{{\"format\":1,{}\"scopes\":{{}}}}", " ".repeat(3_000_000));
    for text in [
        "",
        "garbage",
        "[]",
        "7",
        "\0\0",
        "{\"format\":2}",
        &deep,
        &huge,
        r#"{"format":1,"scopes":{"a":7}}"#,
        r#"{"format":1,"scopes":{"a":{"reruns":-1,"requests":{}}}}"#,
        r#"{"format":1,"scopes":{"a":{"reruns":0,"requests":{"k":{"due":"x"}}}}}"#,
    ] {
        let node = StateDirectory::new();
        std::fs::write(node.path("state.json"), text).unwrap();
        let begin = text.chars().take(40).collect::<String>();
        for refused in [
            node.reruns().list().map(|_| ()),
            node.reruns().cancel(&[]).map(|_| ()),
        ] {
            let refused = refused.unwrap_err();
            assert!(
                matches!(refused, RerunError::Damaged { .. }),
                "{begin}: {refused}"
            );
            assert!(
                refused.to_string().contains("again/state.json"),
                "{refused}"
            );
        }
        assert_eq!(
            std::fs::read(node.path("state.json")).unwrap(),
            text.as_bytes()
        );
    }
}

#[test]
fn links_pipes_and_directories_are_not_followed() {
    let node = StateDirectory::new();
    let precious = node.directory.path().join("precious");
    std::fs::write(&precious, state().to_string()).unwrap();
    symlink(&precious, node.path("state.json")).unwrap();
    assert!(matches!(
        node.reruns().list(),
        Err(RerunError::Damaged { .. })
    ));
    assert!(matches!(
        node.reruns().cancel(&[]),
        Err(RerunError::Damaged { .. })
    ));
    assert_eq!(
        std::fs::read_to_string(&precious).unwrap(),
        state().to_string()
    );

    std::fs::remove_file(node.path("state.json")).unwrap();
    make_pipe(&node.path("state.json"));
    assert!(matches!(
        node.reruns().list(),
        Err(RerunError::Damaged { .. })
    ));

    std::fs::remove_file(node.path("state.json")).unwrap();
    std::fs::create_dir(node.path("state.json")).unwrap();
    assert!(matches!(
        node.reruns().list(),
        Err(RerunError::Damaged { .. })
    ));

    // locks, too
    std::fs::remove_dir(node.path("state.json")).unwrap();
    node.write(&state());
    symlink(&precious, node.path("waiter.lock")).unwrap();
    assert!(matches!(node.reruns().list(), Err(RerunError::Read { .. })));
}

fn make_pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_waiting_process_is_found_by_its_lock_and_woken() {
    let node = StateDirectory::new();
    node.write(&state());
    // a process id without the lock belongs to another process by now
    std::fs::write(
        node.path("waiter.lock"),
        format!("{}\n", std::process::id()),
    )
    .unwrap();
    assert_eq!(node.reruns().list().unwrap().waiter, None);

    let file = std::fs::File::open(node.path("waiter.lock")).unwrap();
    file.lock().unwrap();
    let mut waiter = Command::new("sleep").arg("600").spawn().unwrap();
    std::fs::write(node.path("waiter.lock"), format!("{}\n", waiter.id())).unwrap();
    assert_eq!(node.reruns().list().unwrap().waiter, Some(waiter.id()));
    assert_eq!(node.reruns().cancel(&[]).unwrap().len(), 3);
    // the signal ends a process that does not expect it
    let status = waiter.wait().unwrap();
    assert!(!status.success());
}
