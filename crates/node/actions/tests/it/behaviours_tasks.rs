//! Tasks: input methods, implementations, files. `docs/stock-peers.md` has the numbers of these
//! behaviours.

use std::fs::{File, FileTimes};
use std::os::unix::fs::PermissionsExt;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::fake::{Node, until};
use super::tasks::{cached, run};

/// Prints the ways by which its input arrived.
const WAYS: &str =
    "#!/bin/sh\n[ -n \"$(cat)\" ] && echo stdin\n[ -n \"$PT_a\" ] && echo environment\ntrue\n";

const STDIN: &str = "stdin\n";
const ENVIRONMENT: &str = "environment\n";
const BOTH: &str = "stdin\nenvironment\n";

#[tokio::test]
async fn the_method_may_stand_in_three_places() {
    let node = Node::start().await;
    let file = cached(&node, "init.sh", WAYS);
    let implementation = |method: Value| json!([{"name": "init.sh", "input_method": method}]);
    for (top_level, metadata, expected) in [
        (json!("stdin"), Value::Null, STDIN),
        (json!("environment"), Value::Null, ENVIRONMENT),
        (json!("both"), Value::Null, BOTH),
        (Value::Null, Value::Null, BOTH),
        (json!(""), Value::Null, BOTH),
        (Value::Null, json!({"input_method": "stdin"}), STDIN),
        (
            Value::Null,
            json!({"input_method": "environment"}),
            ENVIRONMENT,
        ),
        (Value::Null, json!({"input_method": "both"}), BOTH),
        (Value::Null, json!({}), BOTH),
        (
            Value::Null,
            json!({"input_method": "stdin", "implementations": implementation(json!("environment"))}),
            ENVIRONMENT,
        ),
    ] {
        let task = json!({
            "task": "m", "input": {"a": 1}, "files": [file],
            "input_method": top_level, "metadata": metadata,
        });
        let result = run(&node, &task).await;
        assert_eq!(result.stdout.as_deref(), Some(expected), "{task}");
    }
}

#[tokio::test]
async fn other_methods_are_refused_before_anything_runs() {
    let node = Node::start().await;
    let shell = cached(&node, "init.sh", WAYS);
    let powershell = cached(&node, "init.ps1", "exit 0\n");
    for (file, method, named) in [
        (&shell, json!("powershell"), "powershell"),
        (&powershell, Value::Null, "powershell"),
        (&powershell, json!(""), "powershell"),
        (&shell, json!("telepathy"), "telepathy"),
        (&shell, json!("STDIN"), "STDIN"),
    ] {
        for place in ["top level", "metadata", "implementation"] {
            let mut task = json!({"task": "m", "input": {"a": 1}, "files": [file]});
            match place {
                "metadata" => task["metadata"] = json!({"input_method": method}),
                "implementation" => {
                    let one = json!({"name": file["filename"], "input_method": method});
                    task["metadata"] = json!({"implementations": [one]});
                }
                _ => task["input_method"] = method.clone(),
            }
            let id = node.non_blocking("task", "run", &task);
            let error = node.broker.error().await;
            let expected = format!("unsupported task input method: {named}");
            assert!(error.ends_with(&expected), "{place}: {error}");
            assert!(!node.entry(&id).exists(), "{place}");
        }
    }
}

#[tokio::test]
async fn what_stands_beside_the_metadata_counts_where_that_is_silent() {
    let node = Node::start().await;
    let file = cached(&node, "init.sh", WAYS);
    for (metadata, expected) in [
        (json!({}), STDIN),
        (json!({"input_method": "environment"}), ENVIRONMENT),
        (json!({"implementations": [{"name": "init.sh"}]}), STDIN),
        (
            json!({"implementations": [{"name": "init.sh", "input_method": "both"}]}),
            BOTH,
        ),
        (
            json!({"implementations": [{"name": "init.sh", "requirements": ["outside"]}]}),
            STDIN,
        ),
    ] {
        let task = json!({
            "task": "m", "input": {"a": 1}, "files": [file], "metadata": metadata,
            "input_method": "stdin", "features": ["outside"],
        });
        let result = run(&node, &task).await;
        assert_eq!(result.stdout.as_deref(), Some(expected), "{metadata}");
    }
}

#[tokio::test]
async fn a_hit_in_the_cache_is_noted_on_its_directory() {
    let node = Node::start().await;
    let file = cached(&node, "m/tasks/init.sh", "#!/bin/sh\necho hit\n");
    let sha256 = file["sha256"].as_str().unwrap();
    let directory = node.config.task_cache_dir.join(sha256);
    assert!(
        directory.join("init.sh").exists(),
        "<cache>/<sha256>/<basename>"
    );
    // Not old enough for the purge.
    let hour = std::time::Duration::from_secs(3600);
    let earlier = SystemTime::now() - hour;
    let times = FileTimes::new().set_modified(earlier);
    File::open(&directory).unwrap().set_times(times).unwrap();
    // No primary server is configured: only a cache hit can answer.
    let result = run(&node, &json!({"task": "m", "input": {}, "files": [file]})).await;
    assert_eq!(result.stdout.as_deref(), Some("hit\n"));
    let used = std::fs::metadata(&directory).unwrap().modified().unwrap();
    assert!(used > earlier + hour / 2, "its use was noted");
}

#[tokio::test]
async fn the_tree_of_a_multi_file_task_stays_in_its_spool_entry() {
    let node = Node::start().await;
    let main = cached(
        &node,
        "m/tasks/main.sh",
        "#!/bin/sh\npwd; echo \"$PT__installdir\"; cat m/lib/a \"$PT__installdir/m/lib/a\"\n",
    );
    let library = "#!/bin/sh\necho library\n";
    let files = json!([
        cached(&node, "other/tasks/main.sh", "#!/bin/sh\nexit 9\n"),
        main,
        cached(&node, "m/lib/a", library),
        cached(&node, "m/lib/deep/b", "b\n"),
        cached(&node, "unused/c", "c\n"),
    ]);
    let task = json!({
        "task": "m::main", "input": {}, "files": files,
        "metadata": {
            "files": ["m/lib/a"],
            "implementations": [
                {"name": "m/tasks/main.sh", "requirements": ["shell"], "files": ["m/lib/deep/"]},
            ],
        },
    });
    let id = node.non_blocking("task", "run", &task);
    assert_eq!(node.broker.provisional().await, id);
    let result = node.broker.result().await;
    let installdir = node.entry(&id).join("files");
    // The working directory is the root, so the relative name does not exist.
    let expected = format!("/\n{}\n{library}", installdir.display());
    assert_eq!(
        result.stdout.as_deref(),
        Some(expected.as_str()),
        "{result:?}"
    );
    for name in ["m/tasks/main.sh", "m/lib/a", "m/lib/deep/b"] {
        let kept = std::fs::metadata(installdir.join(name)).unwrap();
        let mode = kept.permissions().mode() & 0o777;
        assert_eq!(
            (mode & !0o750, mode & 0o500),
            (0, 0o500),
            "{name}: {mode:o}"
        );
    }
    for name in ["unused", "other"] {
        assert!(!installdir.join(name).exists(), "{name}");
    }
}

#[tokio::test]
async fn an_implementation_needs_all_its_features() {
    let node = Node::start().await;
    let files = json!([
        cached(&node, "a.sh", "#!/bin/sh\necho a\n"),
        cached(&node, "b.sh", "#!/bin/sh\necho b\n"),
    ]);
    let task = |implementations: Value, features: Value| {
        json!({
            "task": "m", "input": {}, "files": files,
            "metadata": {"implementations": implementations, "features": features},
        })
    };
    let both = json!([
        {"name": "b.sh", "requirements": ["shell", "extra", "more"]},
        {"name": "a.sh", "requirements": ["puppet-agent", "shell"]},
    ]);
    for (implementations, features, expected) in [
        (both.clone(), json!([]), "a\n"),
        (both.clone(), json!(["extra"]), "a\n"),
        (both, json!(["more", "extra"]), "b\n"),
        (
            json!([{"name": "b.sh"}, {"name": "a.sh"}]),
            json!([]),
            "b\n",
        ),
        (json!([]), json!([]), "a\n"),
    ] {
        let result = run(&node, &task(implementations, features)).await;
        assert_eq!(result.stdout.as_deref(), Some(expected));
    }
    let windows = json!([{"name": "a.sh", "requirements": ["powershell"]}]);
    let missing = json!([{"name": "c.sh"}]);
    for (implementations, expected) in [
        (
            windows,
            "no implementations match supported features: puppet-agent, shell, extra",
        ),
        (missing, "`files` lacks the implementation \"c.sh\""),
    ] {
        node.blocking("task", "run", &task(implementations, json!(["extra"])));
        let error = node.broker.error().await;
        assert!(error.ends_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_script_is_run_directly_and_its_file_goes_afterwards() {
    let node = Node::start().await;
    let script = cached(
        &node,
        "dir/my script.sh",
        "#!/bin/sh\nbasename \"$0\"; echo $#\nexit 6\n",
    );
    let params = json!({"script": script, "arguments": ["a b", "*", "\n", ""]});
    let id = node.non_blocking("script", "run", &params);
    assert_eq!(node.broker.provisional().await, id);
    let result = node.broker.result().await;
    assert_eq!(
        (result.exitcode, result.stdout.as_deref()),
        (6, Some("my script.sh\n4\n"))
    );
    let copy = node.entry(&id).join("files/my script.sh");
    until("the file is gone", || !copy.exists()).await;
    for bad in [json!(["a\0b"]), json!([1]), json!("a")] {
        let params = json!({"script": script, "arguments": bad});
        node.blocking("script", "run", &params);
        let error = node.broker.error().await;
        assert!(
            error.starts_with("invalid input for blocking 'script run'"),
            "{error}"
        );
    }
}
