//! Commands, scripts and files by modules of agents; and agents that have none.

use std::collections::BTreeMap;
use std::sync::Arc;

use jobs::{FileContent, JobSpec, JobWork, NativeAction, RunJobError, TreeItem};
use pcp::Certname;
use pxp::action::ActionResult;
use serde_json::{Value, json};

use crate::sim::Manner;
use crate::world::{World, params, patient, quick, request, with_task};

/// The action, with a task that stands in for it.
fn native(action: NativeAction, (name, given): (&str, Value), nodes: &[Certname]) -> JobSpec {
    let spec = with_task(request(nodes), |task| {
        task.name = name.parse().unwrap();
        task.params = params(given);
    });
    let task = spec.work.task().unwrap().clone();
    JobSpec {
        work: JobWork::Native { action, task },
        ..spec
    }
}

fn command(line: &str, nodes: &[Certname]) -> JobSpec {
    let action = NativeAction::Command {
        line: line.to_owned(),
        env: BTreeMap::new(),
    };
    native(action, ("test::command", json!({"command": line})), nodes)
}

/// The job as another user.
fn as_user(spec: JobSpec, user: &str) -> JobSpec {
    with_task(spec, |task| task.run_as = Some(user.to_owned()))
}

fn ends_with(exitcode: i64, stdout: &str) -> Manner {
    Manner {
        result: Some(ActionResult {
            exitcode,
            stdout: Some(stdout.to_owned()),
            ..ActionResult::default()
        }),
        ..Manner::default()
    }
}

/// What the task that stands in for a command says.
fn told_by_task(exit_code: i64, stdout: &str) -> String {
    json!({"stdout": stdout, "stderr": "", "exit_code": exit_code}).to_string()
}

#[tokio::test]
async fn a_command_is_the_agents_own_and_has_bolts_form() {
    let world = World::new().await;
    let nodes = world.agents(1, &ends_with(3, "half\n"));
    let job = world.run(command("exit 3", &nodes)).await;
    world.over(job).await;
    let asked = ("command run".to_owned(), json!({"command": "exit 3"}));
    assert_eq!(world.sim.seen_actions(), [asked]);
    let (state, result) = world.only_run(job).await;
    assert_eq!(state, "failed");
    let error = json!({
        "kind": "puppetlabs.tasks/command-error", "issue_code": "COMMAND_ERROR",
        "msg": "The command failed with exit code 3", "details": {"exit_code": 3},
    });
    let expected = json!({
        "stdout": "half\n", "stderr": "", "merged_output": "half\n", "exit_code": 3,
        "_error": error,
    });
    assert_eq!(result, expected);
    let row = world.store.job(job).await.unwrap().unwrap();
    assert_eq!(
        (row.command.as_str(), row.kind.as_str()),
        ("command", "command")
    );
    let options: Value = serde_json::from_str(&row.options).unwrap();
    assert_eq!(options["params"], json!({"command": "exit 3"}));
}

#[tokio::test]
async fn scripts_and_files_are_served_by_their_hash() {
    let world = World::new().await;
    let nodes = world.agents(1, &ends_with(0, "downloaded"));
    let file = || FileContent {
        name: "m/say.sh".to_owned(),
        bytes: Arc::from(*b"abc"),
    };
    let script = NativeAction::Script {
        file: file(),
        arguments: vec!["a b".to_owned()],
        env: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
    };
    let upload = NativeAction::Upload {
        file: file(),
        destination: "/etc/motd".to_owned(),
    };
    for action in [script, upload] {
        let task = ("test::script", json!({"content": "YWJj"}));
        let job = world.run(native(action, task, &nodes)).await;
        world.over(job).await;
        assert_eq!(world.state(job).await, "finished");
    }
    // SHA-256 of `abc`, from FIPS 180-2.
    let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let uri = json!({
        "path": format!("/puppet/v3/file_content/modules/plan/{sha256}"),
        "params": {"environment": "production", "sha256": sha256},
    });
    let script = json!({
        "run": {
            "script": {"filename": "say.sh", "sha256": sha256, "uri": uri}, "arguments": ["a b"],
        },
        "env": {"A": "b"},
    });
    let entry = json!({
        "destination": "/etc/motd", "link_source": "", "uri": uri, "sha256": sha256, "kind": "file",
    });
    let expected = [
        ("script run_with".to_owned(), script),
        (
            "file download".to_owned(),
            json!({"files": [entry], "mode": 0o644}),
        ),
    ];
    assert_eq!(world.sim.seen_actions(), expected);
    let kept = world.dir.path().join("blobs/ba").join(sha256);
    assert_eq!(std::fs::read(kept).unwrap(), b"abc");
}

#[tokio::test]
async fn a_directory_is_one_request_with_modes_and_no_task_stands_in_for_it() {
    let world = World::new().await;
    let nodes = world.agents(1, &ends_with(0, "downloaded"));
    let sha256: environments::Sha256 =
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
            .parse()
            .unwrap();
    let item = |path: &str, sha256, is_executable| TreeItem {
        path: path.to_owned(),
        sha256,
        is_executable,
    };
    let asked = |nodes: &[Certname]| {
        let tree = NativeAction::UploadTree {
            name: "m/app".to_owned(),
            items: vec![item("bin", None, false), item("bin/x", Some(sha256), true)],
            destination: "/opt/app/".to_owned(),
        };
        native(tree, ("test::script", json!({"content": ""})), nodes)
    };
    let job = world.run(asked(&nodes)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    let actions = world.sim.seen_actions();
    assert_eq!(actions[0].0, "file download");
    let files = actions[0].1["files"].as_array().unwrap();
    let told: Vec<Value> = files
        .iter()
        .map(|file| json!([file["destination"], file["kind"], file["mode"]]))
        .collect();
    let expected = json!([
        ["/opt/app", "directory", 0o755],
        ["/opt/app/bin", "directory", 0o755],
        ["/opt/app/bin/x", "file", 0o755],
    ]);
    assert_eq!(json!(told), expected);
    assert_eq!(files[2]["sha256"], sha256.to_string());

    let lacks: Certname = "old.example.com".parse().unwrap();
    let old = Manner {
        stock: true,
        lacks: Some("file"),
        ..Manner::default()
    };
    world.sim.add(&lacks, old);
    let job = world.run(asked(&[lacks])).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    let words = result["_error"]["msg"].as_str().unwrap();
    assert_eq!(state, "errored");
    assert!(words.contains("takes a current tutti-agent"), "{words}");

    let refused = world.jobs().run(as_user(asked(&nodes), "web")).await;
    assert!(matches!(refused, Err(RunJobError::RunAs { .. })));
}

#[tokio::test]
async fn an_agent_without_the_module_gets_the_task_and_the_events_say_so() {
    let world = World::new().await;
    let has = world.agents(1, &ends_with(0, "hi\n"));
    let lacks: Certname = "old.example.com".parse().unwrap();
    let old = Manner {
        stock: true,
        lacks: Some("command"),
        ..ends_with(0, &told_by_task(0, "hi\n"))
    };
    world.sim.add(&lacks, old);
    let job = world
        .run(command("echo hi", &[has[0].clone(), lacks.clone()]))
        .await;
    let events = world.over(job).await;
    let told: Vec<_> = events
        .iter()
        .filter(|it| it.kind == "node_as_task")
        .collect();
    assert_eq!(told.len(), 1, "{events:?}");
    assert_eq!(told[0].certname.as_deref(), Some(lacks.as_str()));
    let details: Value = serde_json::from_str(&told[0].details).unwrap();
    assert_eq!(details["detail"]["task"], "test::command");
    assert_eq!(details["detail"]["message"], "unknown module: command");
    let expected = json!({"stdout": "hi\n", "stderr": "", "merged_output": "hi\n", "exit_code": 0});
    for run in world.runs(job).await {
        let result: Value = serde_json::from_str(&run.result.unwrap()).unwrap();
        assert_eq!((run.state.as_str(), &result), ("finished", &expected));
    }
    let executions = world.sim.executions();
    assert_eq!(executions.len(), 2);
    assert!(executions.values().all(|count| *count == 1));
    let tasks = world.sim.seen_params();
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].input["command"], "echo hi");
}

#[tokio::test]
async fn a_node_that_got_the_task_is_read_rightly_after_a_restart() {
    let mut world = World::with(quick()).await;
    let old = Manner {
        held: true,
        lacks: Some("command"),
        ..ends_with(0, &told_by_task(4, "half\n"))
    };
    let nodes = world.agents(1, &old);
    let job = world.run(command("exit 4", &nodes)).await;
    world.executing(1).await;
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(
        (state.as_str(), &result["exit_code"]),
        ("failed", &json!(4))
    );
    assert_eq!(result["stdout"], "half\n");
    assert!(world.sim.executions().values().all(|count| *count == 1));
}

#[tokio::test]
async fn a_user_is_asked_for_by_another_action_which_has_no_other_way() {
    let world = World::with(patient()).await;
    let able = world.agents(1, &ends_with(0, "web\n"));
    let lacks: Certname = "old.example.com".parse().unwrap();
    let old = Manner {
        stock: true,
        lacks: Some("run_with"),
        ..Manner::default()
    };
    world.sim.add(&lacks, old);
    let asked = |nodes: &[Certname]| as_user(command("id -un", nodes), "web");
    let job = world.run(asked(&able)).await;
    world.over(job).await;
    assert_eq!(world.state(job).await, "finished");
    let params = json!({"run": {"command": "id -un"}, "run_as": "web"});
    assert_eq!(
        world.sim.seen_actions(),
        [("command run_with".to_owned(), params)]
    );

    let nodes = [lacks];
    for asked in [asked(&nodes), as_user(request(&nodes), "web")] {
        let job = world.run(asked).await;
        world.over(job).await;
        let (state, result) = world.only_run(job).await;
        let words = result["_error"]["msg"].as_str().unwrap();
        assert_eq!(state, "errored");
        assert!(
            words.contains("cannot run anything as another user"),
            "{words}"
        );
    }
    assert_eq!(world.sim.executions().len(), 1, "nothing ran as root");
}

#[tokio::test]
async fn what_can_be_no_user_is_refused() {
    let world = World::new().await;
    let nodes = world.agents(1, &Manner::default());
    for user in ["", "-u", "#0", "a b", "a\nb", "a:b"] {
        let refused = world.jobs().run(as_user(request(&nodes), user)).await;
        assert!(
            matches!(refused, Err(RunJobError::RunAs { .. })),
            "{user:?}"
        );
    }
}
