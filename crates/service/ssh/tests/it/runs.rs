//! Tasks, commands and scripts, with their results.

use pxp::action::TransactionStatus;
use serde_json::{Value, json};

use crate::world::World;

#[tokio::test]
async fn a_command_runs_and_leaves_nothing_behind() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let result = world
        .command(&connection, "echo out; echo err >&2; exit 7")
        .await;
    let result = result.result();
    assert_eq!(result.exitcode, 7);
    assert_eq!(result.stdout.as_deref(), Some("out\n"));
    assert_eq!(result.stderr.as_deref(), Some("err\n"));
    assert!(!result.cancelled && !result.stdout_truncated);
    world.runner.wait_idle().await;
    assert_eq!(world.left_behind(), Vec::<String>::new());
}

#[tokio::test]
async fn a_task_gets_its_parameters_by_every_method() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let script = "#!/bin/sh\nprintf '%s|' \"$PT_name\" \"$PT__task\"\ncat";
    let read = |text: Option<String>| {
        let text = text.unwrap();
        let (name, rest) = text.split_once('|').unwrap();
        let (task, stdin) = rest.split_once('|').unwrap();
        let stdin = match stdin {
            "" => Value::Null,
            stdin => serde_json::from_str::<Value>(stdin).unwrap()["name"].clone(),
        };
        (name.to_owned(), task.to_owned(), stdin)
    };
    let all = [
        ("stdin", "", "", json!("x")),
        ("environment", "x", "probe", Value::Null),
        ("both", "x", "probe", json!("x")),
    ];
    for tty in [false, true] {
        let connection = if tty {
            world.connection(json!({"tty": true}))
        } else {
            connection.clone()
        };
        for (method, name, task, stdin) in &all {
            let input = json!({"name": "x"});
            let outcome = world.run_task(&connection, script, input, method).await;
            let result = outcome.result();
            assert_eq!(result.exitcode, 0, "{result:?}");
            let got = read(result.stdout);
            let expected = ((*name).to_owned(), (*task).to_owned(), stdin.clone());
            assert_eq!(got, expected, "{method}, tty {tty}");
        }
    }
}

#[tokio::test]
async fn a5_no_parameter_is_ever_read_as_a_command() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let script = "#!/bin/sh\nprintf '%s' \"$PT_value\"";
    let stray = world.sshd.tmp().join("stray");
    for value in [
        format!("'; touch {}; '", stray.display()),
        format!("$(touch {0}) `touch {0}`", stray.display()),
        format!("\"\n touch {}\n\"", stray.display()),
        "${IFS}&|;<>(){}[]*?~!#\\ \t\u{7f}\u{1b}[31m ünïcode \u{202e}".to_owned(),
        "-n".to_owned(),
        "'".repeat(50),
    ] {
        let input = json!({"value": value, "other": {"a": [value, 1, null]}});
        let outcome = world.run_task(&connection, script, input, "both").await;
        let result = outcome.result();
        assert_eq!(result.stdout.as_deref(), Some(value.as_str()));
        assert_eq!(result.stderr, None);
    }
    assert!(!stray.exists());
    let weird = json!({"x; touch y": "z"});
    let error = world
        .run_task(&connection, script, weird, "both")
        .await
        .error();
    assert!(error.contains("environment variable"), "{error}");
    let nul = json!({"value": "a\u{0}b"});
    let error = world
        .run_task(&connection, script, nul, "both")
        .await
        .error();
    assert!(error.contains("NUL"), "{error}");
}

#[tokio::test]
async fn a_task_with_files_is_told_where_they_are() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let script = "#!/bin/sh\ncat \"$PT__installdir/probe/files/it's here.txt\"";
    let sha256 = world
        .blobs
        .store_stream(&mut script.as_bytes(), "a test")
        .unwrap();
    let data = vec![b'x'; 300_000];
    let other = world
        .blobs
        .store_stream(&mut data.as_slice(), "a test")
        .unwrap();
    let file = |name: &str, sha256: String| json!({"filename": name, "sha256": sha256, "uri": {"path": "/x", "params": {}}});
    let params = json!({
        "task": "probe", "input": {},
        "metadata": {"input_method": "environment", "files": ["probe/files/"]},
        "files": [
            file("probe.sh", sha256.to_string()),
            file("probe/files/it's here.txt", other.to_string()),
        ],
    });
    let transaction = world.ask(&connection, "task", params).await;
    let result = world.outcome(&transaction).await.result();
    assert_eq!(result.exitcode, 0, "{result:?}");
    assert_eq!(result.stdout.map(|text| text.len()), Some(data.len()));
}

#[tokio::test]
async fn huge_output_is_cut_as_an_agents_is_and_its_size_said() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let line = "head -c 20000000 /dev/zero | tr '\\0' x; echo end >&2";
    let result = world.command(&connection, line).await.result();
    let kept = ssh::defaults::MAX_OUTPUT_BYTES;
    assert_eq!(result.stdout.map(|text| text.len()), Some(kept));
    assert!(result.stdout_truncated);
    assert_eq!(result.stdout_bytes, Some(20_000_000));
    assert_eq!(result.stderr.as_deref(), Some("end\n"));
    assert_eq!(result.exitcode, 0);
}

#[tokio::test]
async fn a_process_that_stays_behind_does_not_hold_up_the_result() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let begun = std::time::Instant::now();
    let line = "sleep 30 & echo started";
    let result = world.command(&connection, line).await.result();
    assert_eq!(result.stdout.as_deref(), Some("started\n"));
    assert!(begun.elapsed().as_secs() < 20);
}

#[tokio::test]
async fn two_runs_at_once_on_one_host_do_not_meet() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let meet = world.sshd.tmp().join("meet");
    std::fs::create_dir(&meet).unwrap();
    std::os::unix::fs::chown(
        &meet,
        owner(&world.sshd.tmp()).0,
        owner(&world.sshd.tmp()).1,
    )
    .unwrap();
    // Each waits for the other, so one after the other would never complete.
    let line = |own: &str, other: &str| {
        let meet = meet.display();
        json!({"command": format!(
            "touch {meet}/{own}; until [ -e {meet}/{other} ]; do sleep 0.05; done; echo {own}"
        )})
    };
    let one = world.ask(&connection, "command", line("one", "two")).await;
    let two = world.ask(&connection, "command", line("two", "one")).await;
    let mut said = Vec::new();
    while said.len() < 2 {
        if let pxp::PxpMessageBody::NonBlockingResponse(response) = world.hear().await {
            let result: pxp::action::ActionResult = pxp::action::decode(&response.results).unwrap();
            let name = if response.transaction_id == one {
                "one"
            } else {
                "two"
            };
            assert_eq!(result.stdout, Some(format!("{name}\n")));
            said.push(response.transaction_id);
        }
    }
    assert!(said.contains(&one) && said.contains(&two));
}

fn owner(path: &std::path::Path) -> (Option<u32>, Option<u32>) {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = std::fs::metadata(path).unwrap();
    (Some(metadata.uid()), Some(metadata.gid()))
}

#[tokio::test]
async fn a_run_is_asked_about_and_never_run_twice() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let count = world.sshd.tmp().join("count");
    let line = format!("echo x >> {}", count.display());
    let params = json!({"command": line});
    let transaction = world.ask(&connection, "command", params.clone()).await;
    world.outcome(&transaction).await.result();
    assert_eq!(
        world.status(&transaction).await.status,
        TransactionStatus::Success
    );
    // The same request once more.
    let mut again = crate::world::map(params);
    let sealed = world.connections.seal(&connection);
    again.insert(fabric::CONNECTION_KEY.to_owned(), sealed.into());
    let body = pxp::PxpMessageBody::NonBlockingRequest(pxp::PxpRequest {
        transaction_id: transaction.clone(),
        module: "command".to_owned(),
        action: "run".to_owned(),
        params: pxp::action::encode(&again),
        notify_outcome: Some(true),
        extended: None,
        file_servers: Vec::new(),
    });
    world.send(&crate::world::certname(), body).await;
    world.runner.wait_idle().await;
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "x\n");
    let never = pxp::TransactionId::random();
    assert_eq!(
        world.status(&never).await.status,
        TransactionStatus::Unknown
    );
}

#[tokio::test]
async fn a_puppet_run_needs_an_agent_and_says_so() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let transaction = world.ask(&connection, "pxp-module-puppet", json!({})).await;
    let error = world.outcome(&transaction).await.error();
    assert!(error.contains("needs an agent"), "{error}");
}

#[tokio::test]
async fn live_output_comes_as_far_as_it_was_granted() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let go = world.sshd.tmp().join("go");
    let line = format!(
        "printf 0123456789; until [ -e {} ]; do sleep 0.05; done; printf abc >&2",
        go.display()
    );
    let transaction = world
        .ask(&connection, "command", json!({"command": line}))
        .await;
    let credit = |until| pxp::PxpMessageBody::OutputCredit {
        transaction_id: transaction.clone(),
        until,
    };
    let name = crate::world::certname();
    world.send(&name, credit(4)).await;
    let mut told = Vec::new();
    loop {
        match world.hear().await {
            pxp::PxpMessageBody::Output(output) => {
                told.push((output.stream.as_str(), output.offset, output.data.clone()));
                match told.len() {
                    1 => world.send(&name, credit(12)).await,
                    2 => std::fs::write(&go, "").unwrap(),
                    _ => {}
                }
            }
            pxp::PxpMessageBody::NonBlockingResponse(_) => break,
            _ => {}
        }
    }
    let told: Vec<_> = told
        .iter()
        .map(|(stream, offset, data)| (*stream, *offset, &data[..]))
        .collect();
    assert_eq!(
        told,
        [
            ("stdout", 0, &b"0123"[..]),
            ("stdout", 4, b"456789"),
            ("stderr", 0, b"ab"),
        ]
    );
}

#[tokio::test]
async fn a_file_without_an_interpreter_runs_by_sh_and_what_it_lacks_is_named() {
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let mut run = async |script: &str| {
        let outcome = world
            .run_task(&connection, script, json!({"name": "x"}), "both")
            .await;
        let result = outcome.result();
        let text = |text: Option<String>| text.unwrap_or_default();
        (result.exitcode, text(result.stdout), text(result.stderr))
    };
    let (code, stdout, _) = run("printf '%s' \"$PT_name\"\n").await;
    assert_eq!((code, &*stdout), (0, "x"));
    for (script, code, told) in [
        (
            "#!/opt/absent/ruby -w\nputs 1\n",
            127,
            "cannot run probe.sh: its interpreter /opt/absent/ruby is not on this node; install Ruby",
        ),
        (
            "#!/usr/bin/env absent-python\nprint(1)\n",
            127,
            "its interpreter absent-python is not in the PATH of this node",
        ),
        ("#!/bin/sh\r\necho\r\n", 127, "ends with a carriage return"),
        (
            "#!/usr/bin/env sh\r\necho\r\n",
            127,
            "ends with a carriage return",
        ),
        ("#!/bin/sh -e\r\necho\r\n", 2, "ends with a carriage return"),
        (
            "\u{feff}#!/usr/bin/python3\nprint(1)\n",
            126,
            "byte order mark",
        ),
        (
            "\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x16\0",
            126,
            "it is a program for s390x, which this node cannot execute",
        ),
    ] {
        let (ended, stdout, stderr) = run(script).await;
        assert_eq!((ended, &*stdout), (code, ""), "{script:?}: {stderr}");
        assert!(stderr.contains(told), "{script:?}: {stderr}");
    }
    let (code, _, stderr) = run("#!/usr/bin/env sh\nexit 127\n").await;
    assert_eq!((code, &*stderr), (127, ""));
}

/// A catalog with one file of this content.
fn catalog(path: &std::path::Path, content: &str) -> Value {
    let resource = |kind: &str, title: &str, parameters: Value| json!({"type": kind, "title": title, "tags": [], "exported": false, "parameters": parameters});
    let title = path.to_str().unwrap();
    let mut file = resource("File", title, json!({"ensure": "file", "content": content}));
    file["kind"] = json!("compilable_type");
    file["sensitive_parameters"] = json!(["content"]);
    let mut stage = resource("Stage", "main", json!({"name": "main"}));
    stage["kind"] = json!("compilable_type");
    let mut main = resource("Class", "main", json!({"name": "main"}));
    main["kind"] = json!("unknown");
    json!({
        "name": "node.test", "version": 1, "code_id": null, "catalog_uuid": "u", "catalog_format": 2,
        "environment": "production", "tags": [], "classes": [],
        "resources": [stage, main, file],
        "edges": [
            {"source": "Stage[main]", "target": "Class[main]"},
            {"source": "Class[main]", "target": format!("File[{title}]")},
        ],
    })
}

#[tokio::test]
async fn a_catalog_is_applied_with_the_puppet_of_the_node() {
    if !std::path::Path::new("/usr/bin/puppet").exists() {
        println!("skipped: there is no Puppet on this machine");
        return;
    }
    let mut world = World::new().await;
    let connection = world.connection(json!({}));
    let module = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../modules");
    let file = |name: &str, path: &str| {
        let mut content = std::fs::File::open(module.join(path)).unwrap();
        let sha256 = world.blobs.store_stream(&mut content, "a test").unwrap();
        json!({"filename": name, "sha256": sha256.to_string(), "uri": {"path": "/x", "params": {}}})
    };
    let helper = "apply_helpers/files/apply_helper.rb";
    let files = [
        file("apply_catalog.sh", "apply_helpers/tasks/apply_catalog.sh"),
        file(helper, helper),
    ];
    let written = world.sshd.tmp().join("applied");
    for (noop, status) in [(true, "unchanged"), (false, "changed")] {
        let params = json!({
            "task": "apply_helpers::apply_catalog",
            "input": {"catalog": catalog(&written, "a secret"), "_noop": noop},
            "metadata": {"input_method": "stdin", "files": [helper]},
            "files": files,
        });
        assert!(!written.exists());
        let transaction = world.ask(&connection, "task", params).await;
        let result = world.outcome(&transaction).await.result();
        assert_eq!(result.exitcode, 0, "{result:?}");
        let text = result.stdout.unwrap_or_default();
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(report["status"], status, "{report:#}");
        assert_eq!(
            (&report["noop"], &report["host"]),
            (&json!(noop), &json!("node.test"))
        );
        assert!(!text.contains("a secret"), "{text}");
    }
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "a secret");
}
