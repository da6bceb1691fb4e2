//! Tasks: input methods, files, implementations.

use std::fmt::Write as _;
use std::path::Path;

use pxp::PxpMessageBody;
use pxp::action::{ActionResult, TransactionStatus};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fake::{Node, PATIENCE, request};

pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
}

/// Adds a file to the node's cache, as a download would, and describes it.
pub(super) fn cached(node: &Node, filename: &str, content: &str) -> Value {
    let sha256 = sha256(content.as_bytes());
    let directory = node.config.task_cache_dir.join(&sha256);
    std::fs::create_dir_all(&directory).unwrap();
    let basename = Path::new(filename).file_name().unwrap();
    std::fs::write(directory.join(basename), content).unwrap();
    json!({
        "filename": filename,
        "sha256": sha256,
        "uri": {"path": "/puppet/v3/file_content/tasks/m/x", "params": {"environment": "production"}},
    })
}

pub(super) async fn run(node: &Node, task: &Value) -> ActionResult {
    node.blocking("task", "run", task);
    node.broker.result().await
}

const SHELL: &str = "#!/bin/sh\necho \"stdin=$(cat)\"\necho \"env=$PT_name/$PT__task/$PT_deep\"\n";

#[tokio::test]
async fn input_comes_as_the_method_says() {
    let node = Node::start().await;
    let file = cached(&node, "init.sh", SHELL);
    let input = json!({"name": "wörld", "deep": {"a": [1, null]}});
    let stdin = r#"{"name":"wörld","deep":{"a":[1,null]},"_task":"m"}"#;
    let env = r#"wörld/m/{"a":[1,null]}"#;
    for (method, expected) in [
        (json!("stdin"), format!("stdin={stdin}\nenv=//\n")),
        (json!("environment"), format!("stdin=\nenv={env}\n")),
        (json!("both"), format!("stdin={stdin}\nenv={env}\n")),
        (Value::Null, format!("stdin={stdin}\nenv={env}\n")),
    ] {
        let task = json!({
            "task": "m", "input": input, "files": [file], "input_method": method,
        });
        let result = run(&node, &task).await;
        assert_eq!(
            result.stdout.as_deref(),
            Some(expected.as_str()),
            "{method}: {result:?}"
        );
    }
}

#[tokio::test]
async fn a_python_task_reads_its_parameters_and_knows_its_name() {
    let node = Node::start().await;
    let python = "#!/usr/bin/env python3\nimport json, os, sys\n\
                  p = json.load(sys.stdin)\n\
                  print(json.dumps({'sum': p['a'] + p['b'], 'name': os.path.basename(sys.argv[0])}))\n";
    let file = cached(&node, "add.py", python);
    let task = json!({"task": "m::add", "input": {"a": 2, "b": 3}, "files": [file]});
    let result = run(&node, &task).await;
    assert_eq!(
        result.stdout.as_deref(),
        Some("{\"sum\": 5, \"name\": \"add.py\"}\n"),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_script_without_an_interpreter_runs_by_sh_and_what_it_lacks_is_named() {
    let node = Node::start().await;
    let file = cached(
        &node,
        "plain.sh",
        "echo \"$PT_text by $0\" | sed 's| by .*/| by |'\n",
    );
    let input = json!({"text": "run"});
    let task =
        json!({"task": "m::plain", "input": input, "files": [file], "input_method": "environment"});
    let result = run(&node, &task).await;
    assert_eq!(
        (result.exitcode, result.stdout.as_deref()),
        (0, Some("run by plain.sh\n")),
        "{result:?}"
    );
    for (name, content, code, expected) in [
        (
            "absent.rb",
            "#!/opt/absent/ruby\nputs 1\n",
            127,
            "cannot run absent.rb: its interpreter /opt/absent/ruby is not on this node; install Ruby",
        ),
        (
            "by_env.rb",
            "#!/usr/bin/env absent-ruby\nputs 1\n",
            127,
            "cannot run by_env.rb: its interpreter absent-ruby is not in the PATH of this node",
        ),
        (
            "dos.sh",
            "#!/bin/sh\r\necho\r\n",
            127,
            "ends with a carriage return",
        ),
        (
            "dosarg.sh",
            "#!/bin/sh -e\r\necho\r\n",
            2,
            "ends with a carriage return",
        ),
        (
            "marked.py",
            "\u{feff}#!/usr/bin/python3\n",
            126,
            "byte order mark",
        ),
        (
            "foreign",
            "\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0\x16\0",
            126,
            "cannot run foreign: it is a program for s390x",
        ),
    ] {
        let file = cached(&node, name, content);
        let task = json!({"task": "m::absent", "input": {}, "files": [file]});
        let result = run(&node, &task).await;
        let told = result.stderr.unwrap_or_default();
        assert_eq!(result.exitcode, code, "{name}: {told}");
        assert!(told.contains(expected), "{name}: {told}");
    }
}

#[tokio::test]
async fn input_that_nobody_reads_does_no_harm() {
    let node = Node::start().await;
    let file = cached(&node, "init.sh", "#!/bin/sh\necho done\n");
    let input = json!({"big": "x".repeat(1024 * 1024)});
    let task = json!({"task": "m", "input": input, "files": [file], "input_method": "stdin"});
    for _ in 0..10 {
        let result = run(&node, &task).await;
        assert_eq!(
            (result.exitcode, result.stdout.as_deref()),
            (0, Some("done\n"))
        );
    }
}

#[tokio::test]
async fn a_parameter_too_large_for_the_environment_says_so() {
    let node = Node::start().await;
    let file = cached(&node, "init.sh", SHELL);
    let input = json!({"big": "x".repeat(1024 * 1024)});
    let task = json!({"task": "m", "input": input, "files": [file], "input_method": "both"});
    let result = run(&node, &task).await;
    assert_eq!(result.exitcode, 126);
    let stderr = result.stderr.unwrap();
    assert!(
        stderr.contains("larger than the system takes")
            && stderr.contains("\"input_method\": \"stdin\""),
        "{stderr}"
    );
}

#[tokio::test]
async fn a_multi_file_task_finds_its_files() {
    let node = Node::start().await;
    let main = cached(
        &node,
        "main.sh",
        "#!/bin/sh\ncd \"$PT__installdir\" && find . -type f | sort\ncat m/files/a.txt\n",
    );
    let files = json!([
        main,
        cached(&node, "m/files/a.txt", "A\n"),
        cached(&node, "other/lib/x/b.rb", "B\n"),
        cached(&node, "unused/files/c", "C\n"),
    ]);
    let task = json!({
        "task": "m::main", "input": {}, "files": files,
        "metadata": {"files": ["m/files/a.txt", "other/lib/"]},
    });
    let result = run(&node, &task).await;
    let expected = "./m/files/a.txt\n./m/tasks/main.sh\n./other/lib/x/b.rb\nA\n";
    assert_eq!(result.stdout.as_deref(), Some(expected), "{result:?}");
}

#[tokio::test]
async fn the_implementation_follows_the_features() {
    let node = Node::start().await;
    let files = json!([
        cached(&node, "m_ruby.sh", "#!/bin/sh\necho special\n"),
        cached(&node, "m_shell.sh", "#!/bin/sh\necho plain $(cat)\n"),
    ]);
    let task = |features: Value| {
        json!({
            "task": "m", "input": {}, "files": files, "features": features,
            "metadata": {"implementations": [
                {"name": "m_ruby.sh", "requirements": ["special-feature"]},
                {"name": "m_shell.sh", "requirements": ["shell"], "input_method": "environment"},
            ]},
        })
    };
    let plain = run(&node, &task(json!([]))).await;
    assert_eq!(plain.stdout.as_deref(), Some("plain\n"));
    let special = run(&node, &task(json!(["special-feature"]))).await;
    assert_eq!(
        special.stdout.as_deref(),
        Some("special\n"),
        "top-level features count too"
    );
}

#[tokio::test]
async fn bad_tasks_are_refused_before_anything_is_written() {
    let node = Node::start().await;
    let good = cached(&node, "init.sh", SHELL);
    let mut traversal = good.clone();
    traversal["filename"] = json!("../../init.sh");
    let mut digest = good.clone();
    digest["sha256"] = json!("../../etc/passwd");
    for (task, expected) in [
        (
            json!({"task": "m", "input": {}, "files": [traversal]}),
            "file name",
        ),
        (
            json!({"task": "m", "input": {}, "files": [digest]}),
            "SHA-256",
        ),
        (
            json!({"task": "../m", "input": {}, "files": [good]}),
            "task",
        ),
        (
            json!({"task": "m", "input": {"a=b": 1}, "files": [good]}),
            "\"a=b\"",
        ),
        (
            json!({"task": "m", "input": {"a": "\0"}, "files": [good]}),
            "NUL",
        ),
        (
            json!({"task": "m", "input": {}, "files": [good], "input_method": "telepathy"}),
            "telepathy",
        ),
        (
            json!({"task": "m", "input": {}, "files": [good], "metadata": {"files": ["m/x"]}}),
            "m/x",
        ),
        (
            json!({"task": "m", "input": {}, "files": [good], "metadata": {"implementations": [
                {"name": "init.sh", "requirements": ["powershell"]}]}}),
            "no implementations match",
        ),
    ] {
        let id = node.non_blocking("task", "run", &task);
        let error = node.broker.error().await;
        assert!(error.contains(expected), "{error}");
        assert!(!node.entry(&id).exists());
    }
}

#[tokio::test]
async fn secrets_stay_out_of_the_spool() {
    let node = Node::start().await;
    let file = cached(
        &node,
        "init.sh",
        "#!/bin/sh\ncat >/dev/null; echo done; sleep 0.2\n",
    );
    let canary = "canary-5f0c1d";
    let task = json!({"task": "m", "input": {"password": canary}, "files": [file]});
    let request = request("task", "run", &task, Some(true));
    let entry = node.entry(&request.transaction_id);
    node.handle(PxpMessageBody::NonBlockingRequest(request));
    node.broker.provisional().await;
    node.broker.result().await;
    let found = std::process::Command::new("grep")
        .args(["-r", canary])
        .arg(&node.config.spool_dir)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    assert!(entry.join("metadata").exists());
}

#[tokio::test]
async fn a_file_that_cannot_be_had_fails_the_task_and_its_status() {
    let node = Node::start().await;
    let file = json!({
        "filename": "init.sh", "sha256": "ab".repeat(32), "uri": {"path": "/x", "params": {}},
    });
    let task = json!({"task": "m", "input": {}, "files": [file]});
    let id = node.non_blocking("task", "run", &task);
    node.broker.provisional().await;
    let error = node.broker.error().await;
    let expected = format!(
        "Failed to execute the task for the non blocking 'task run' request (transaction {id})"
    );
    assert!(error.starts_with(&expected), "{error}");
    let status = tokio::time::timeout(PATIENCE, node.status(&id))
        .await
        .unwrap();
    assert_eq!(status.status, TransactionStatus::Failure);
    let told: Value = serde_json::from_str(&status.stdout.unwrap()).unwrap();
    assert_eq!(
        told["_error"]["kind"],
        "puppetlabs.pxp-agent/execution-error"
    );
}

#[tokio::test]
async fn an_upper_case_digest_is_the_same_file() {
    let node = Node::start().await;
    let mut file = cached(&node, "init.sh", "#!/bin/sh\necho fine\n");
    file["sha256"] = json!(file["sha256"].as_str().unwrap().to_uppercase());
    let result = run(&node, &json!({"task": "m", "input": {}, "files": [file]})).await;
    assert_eq!(result.stdout.as_deref(), Some("fine\n"));
}

#[tokio::test]
async fn a_script_gets_its_arguments_as_they_are() {
    let node = Node::start().await;
    let script = cached(&node, "s.sh", "#!/bin/sh\nfor a; do echo \"[$a]\"; done\n");
    let params = json!({"script": script, "arguments": ["a b", "", "$(id)", "ü"]});
    node.blocking("script", "run", &params);
    let result = node.broker.result().await;
    assert_eq!(result.stdout.as_deref(), Some("[a b]\n[]\n[$(id)]\n[ü]\n"));
}
