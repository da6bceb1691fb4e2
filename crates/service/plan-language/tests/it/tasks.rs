//! `run_task` and the other functions that run actions on nodes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::world::{World, body, failure, value, write};

#[tokio::test]
async fn a_task_runs_on_its_targets_and_gives_their_results() {
    let given = value(
        body(
            "$r = run_task('m::echo', 'b,a', 'say it', word => 'hi', nothing => undef)\n\
             return({ ok => $r.ok, names => $r.names, first => $r.first.value, all => $r })",
        )
        .await,
    );
    assert_eq!(given["ok"], true);
    assert_eq!(given["names"], json!(["b", "a"]));
    assert_eq!(
        given["first"],
        json!({"node": "b", "input": {"word": "hi"}})
    );
    let second = json!({
        "target": "a", "action": "task", "object": "m::echo", "status": "success",
        "value": {"node": "a", "input": {"word": "hi"}},
    });
    assert_eq!(given["all"][1], second);
}

#[tokio::test]
async fn a_failure_ends_the_plan_unless_it_is_caught() {
    let ended = body("run_task('m::fails', ['a', 'b'])").await;
    let details = ended.1["details"].clone();
    let (kind, msg) = failure(ended);
    assert_eq!(kind, "bolt/run-failure");
    assert_eq!(msg, "run_task 'm::fails' failed on 2 targets");
    assert_eq!(details["action"], "run_task");
    assert_eq!(details["line"], 2);
    assert_eq!(
        details["result_set"][0]["value"]["_error"]["kind"],
        "m/broken"
    );

    let given = value(
        body(
            "$r = run_task('m::half', 'a,b,c', _catch_errors => true)\n\
             return [$r.ok, $r.ok_set.names, $r.error_set.names, $r.find('b').error.kind, $r[1]['was']]",
        )
        .await,
    );
    assert_eq!(
        given,
        json!([false, ["a", "c"], ["b"], "puppetlabs.tasks/task-error", "b"])
    );
}

/// The nodes hold their tasks, so all runs that start at once stay running.
#[tokio::test]
async fn concurrency_bounds_how_many_nodes_run_at_once() {
    for (option, at_once) in [
        (", _concurrency => 1", 1),
        (", _concurrency => 2", 2),
        ("", 3),
    ] {
        let plan = format!("plan m::p() {{ return run_task('m::hold', 'a,b,c'{option}).count }}");
        let world = World::new(&[("m/plans/p.pp", &plan)]).await;
        let plan = world.launch("m::p", json!({})).await;
        let all_sent = async || (world.nodes.ran().len() == at_once).then_some(());
        world.until("as many as may run do", all_sent).await;
        let states = world.states_of_runs().await;
        let running = states.iter().filter(|state| **state == "running").count();
        assert_eq!(
            (states.len(), running),
            (3, at_once),
            "{option}: {states:?}"
        );
        world.nodes.let_go();
        assert_eq!(value(world.over(plan).await), 3);
        assert_eq!(world.nodes.ran().len(), 3);
    }
    let (kind, msg) = failure(body("run_task('m::echo', 'a', _concurrency => 0)").await);
    assert_eq!(kind, "bolt/validation-error");
    assert_eq!(msg, "_concurrency is a number of nodes from 1, not 0");
}

#[tokio::test]
async fn no_targets_are_no_job() {
    let given = value(body("return run_task('nowhere::nothing', []).empty").await);
    assert_eq!(given, true);
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    for name in ["m::nothing", "No::Name"] {
        let (kind, msg) = failure(body(&format!("run_task('{name}', 'a')")).await);
        assert_eq!(kind, "bolt/unknown-task");
        assert!(msg.contains(name), "{msg}");
    }
    let (kind, msg) = failure(body("run_task('m::echo', 'a/../b')").await);
    assert_eq!(kind, "bolt.inventory/validation-error", "{msg}");
    let (kind, msg) = failure(body("run_task('m::echo', 'a', at => Timestamp.new(0))").await);
    assert_eq!(kind, "bolt/pal-error");
    let expected = "the parameter 'at' is of type Timestamp, which is not Data (file: ";
    assert!(msg.starts_with(expected), "{msg}");
}

#[tokio::test]
async fn secrets_go_to_the_node_and_nowhere_else() {
    let plan = "plan m::p(Sensitive[String] $pw) {\n\
                $r = run_task('m::echo', 'a', pw => $pw)\n\
                $s = run_task('m::secret', 'a')\n\
                out::message($s.first.sensitive)\n\
                return [$r.ok, $s.first.sensitive =~ Sensitive]\n}";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let plan = world.launch("m::p", json!({"pw": "s3cret"})).await;
    let given = value(world.over(plan).await);
    assert_eq!(given[0], true);
    assert_eq!(given[1], true);
    let kept = world.plans().journal(plan).await.unwrap();
    let kept = format!(
        "{given} {kept:?} {:?}",
        world.told(plan, "out_message").await
    );
    assert!(
        !kept.contains("s3cret") && !kept.contains("hunter2"),
        "{kept}"
    );
}

#[tokio::test]
async fn what_a_task_tells_in_secret_is_for_the_plan_alone() {
    let plan = "plan m::p() {\n\
                $r = run_task('m::secret', 'a,b')\n\
                $s = $r.first.sensitive\n\
                out::message($s)\n\
                out::message(\"${r} ${r.first} ${r.first.value} ${r.first.to_data}\")\n\
                out::verbose($r)\n\
                $t = run_task('m::takes', 'c', it => $s)\n\
                $f = catch_errors() || { fail_plan('no', 'm/no', { 'result' => $r.first }) }\n\
                return [$s.unwrap['password'].length, $r.first['_sensitive'] == $s, $t.first['bytes'], $r, $f]\n}";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let plan = world.launch("m::p", json!({})).await;
    let given = value(world.over(plan).await);
    let sent = json!({"password": "hunter2"}).to_string().len();
    assert_eq!(
        [&given[0], &given[1], &given[2]],
        [&json!(7), &json!(true), &json!(sent)]
    );
    assert_eq!(given[3][1]["value"], json!({"_sensitive": jobs::REDACTED}));
    assert_eq!(given[4]["details"]["result"]["value"], given[3][0]["value"]);
    assert_eq!(
        world.files_with("hunter2"),
        Vec::<std::path::PathBuf>::new()
    );
}

#[tokio::test]
async fn run_task_with_gives_each_target_its_own_parameters() {
    let given = value(
        body(
            "$r = run_task_with('m::echo', 'a,b,c') |$t| { { 'odd' => $t.name != 'b' } }\n\
             return $r.map |$one| { [$one.target.name, $one['input']['odd']] }",
        )
        .await,
    );
    assert_eq!(given, json!([["a", true], ["b", false], ["c", true]]));
}

const SCRIPT: (&str, &str) = ("m/files/s.sh", "#!/bin/sh\necho hi\n");

#[tokio::test]
async fn commands_scripts_and_files_are_what_agents_do_themselves() {
    let plan = "plan m::p() {\n\
                $c = run_command('echo', 'a', _env_vars => { 'A' => \"it's\" })\n\
                $f = run_command('exit 3', 'a', _catch_errors => true)\n\
                $s = run_script('m/s.sh', 'a', arguments => ['x'])\n\
                $u = upload_file('m/s.sh', '/tmp/s.sh', 'a')\n\
                $w = write_file('text', '/tmp/t', 'a')\n\
                return [$c.first.value, $f.first.error.message, $f.first.error.kind, \
                $s.first['stdout'], $u.first.value, $w.first.message]\n}";
    let world = World::new(&[SCRIPT, ("m/plans/p.pp", plan)]).await;
    let given = value(world.run("m::p", json!({})).await);
    let line = "echo\n";
    let said = json!({"stdout": line, "stderr": "", "merged_output": line, "exit_code": 0});
    assert_eq!(given[0], said);
    assert_eq!(given[1], "The command failed with exit code 3");
    assert_eq!(given[2], "puppetlabs.tasks/command-error");
    let script: Value = serde_json::from_str(given[3].as_str().unwrap()).unwrap();
    assert_eq!(script["script"]["filename"], "s.sh");
    assert_eq!(script["arguments"], json!(["x"]));
    let uploaded = json!({"_output": "Uploaded 'm/s.sh' to 'a:/tmp/s.sh'"});
    assert_eq!(given[4], uploaded);
    assert_eq!(given[5], "Uploaded 'content' to 'a:/tmp/t'");
    let ran = [
        "command run",
        "command run_with",
        "file download",
        "file download",
        "script run",
    ];
    assert_eq!(world.nodes.ran(), ran.map(|it| format!("a {it}")));
    let with = world.nodes.asked("command run_with");
    assert_eq!(
        with[0],
        json!({"run": {"command": "echo"}, "env": {"A": "it's"}})
    );
}

#[tokio::test]
async fn a_node_that_has_tasks_alone_gets_them_and_gives_the_same() {
    let plan = "plan m::p() {\n\
                $c = run_command('exit 3', ['a', 'old'], _catch_errors => true)\n\
                $s = run_script('m/s.sh', 'old')\n\
                $u = upload_file('m/s.sh', '/tmp/s.sh', 'old')\n\
                return [$c.map |$r| { $r.value }, $s.first['stdout'], $u.first.value]\n}";
    let world = World::new(&[SCRIPT, ("m/plans/p.pp", plan)]).await;
    let given = value(world.run("m::p", json!({})).await);
    assert_eq!(given[0][0], given[0][1]);
    assert_eq!(given[0][1]["exit_code"], 3);
    assert_eq!(given[1], "IyEvYmluL3NoCmVjaG8gaGkK");
    assert_eq!(given[2]["_output"], "Uploaded 'm/s.sh' to 'old:/tmp/s.sh'");
}

#[tokio::test]
async fn a_secret_is_written_for_its_owner_alone_and_kept_nowhere() {
    // Split, so that the stored code does not contain it in one piece.
    let plan = "plan m::p() {\n\
                $w = write_file(Sensitive(\"s3${'cret'}\"), '/tmp/t', ['a', 'old'])\n\
                return $w.map |$r| { $r.message }\n}";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let given = value(world.run("m::p", json!({})).await);
    let said = |node: &str| format!("Uploaded 'content' to '{node}:/tmp/t'");
    assert_eq!(given, json!([said("a"), said("old")]));
    assert_eq!(world.nodes.ran(), ["a file place", "old bolt_shim::upload"]);
    let file = json!({"path": "/tmp/t", "content": "czNjcmV0", "mode": 0o600});
    assert_eq!(world.nodes.asked("file place"), [file]);
    let task = &world.nodes.asked("task run")[0]["input"];
    assert_eq!(
        (&task["content"], &task["mode"]),
        (&json!("czNjcmV0"), &json!(0o600))
    );
    for text in ["s3cret", "czNjcmV0"] {
        assert_eq!(
            world.files_with(text),
            [""; 0].map(std::path::PathBuf::from)
        );
    }
}

#[tokio::test]
async fn whoever_runs_it_is_the_calls_the_plans_or_the_agents_user() {
    let inner = "plan m::inner() {\n\
                 return parallelize(['a', 'b']) |$t| { run_command('id', $t).first['stdout'] }\n}";
    let plan = "plan m::p() {\n\
                $own = run_command('id', 'a', _run_as => 'web').first['stdout']\n\
                $inherited = run_plan('m::inner', _run_as => 'db')\n\
                $after = run_command('id', 'a').first['stdout']\n\
                $task = run_task('m::echo', 'a', _run_as => 'web').first.value\n\
                return [$own, $inherited, $after, $task]\n}";
    let world = World::new(&[("m/plans/inner.pp", inner), ("m/plans/p.pp", plan)]).await;
    let given = value(world.run("m::p", json!({})).await);
    let asked = |text: &Value| -> Value { serde_json::from_str(text.as_str().unwrap()).unwrap() };
    let as_user = |user: &str| json!({"run": {"command": "id"}, "run_as": user});
    assert_eq!(asked(&given[0]), as_user("web"));
    assert_eq!(asked(&given[1][0]), as_user("db"));
    assert_eq!(asked(&given[1][1]), as_user("db"));
    assert_eq!(given[2], "id\n");
    assert_eq!(given[3]["run_as"], "web");
    assert_eq!(given[3]["run"]["task"], "m::echo");
}

#[tokio::test]
async fn a_file_is_put_in_place_by_the_user_who_is_named() {
    let plan = "plan m::p() {\n\
                upload_file('m/s.sh', '/tmp/s.sh', 'a', _run_as => 'web')\n\
                write_file('text', '/tmp/t', 'a', _run_as => 'db')\n}";
    let world = World::new(&[SCRIPT, ("m/plans/p.pp", plan)]).await;
    value(world.run("m::p", json!({})).await);
    let place = |path: &str, content: &str, user: &str| {
        let content = STANDARD.encode(content);
        json!({"path": path, "content": content, "mode": 0o644, "run_as": user})
    };
    let expected = [
        place("/tmp/s.sh", SCRIPT.1, "web"),
        place("/tmp/t", "text", "db"),
    ];
    assert_eq!(world.nodes.asked("file place"), expected);
}

#[tokio::test]
async fn nobody_runs_it_as_somebody_else_than_asked() {
    for (call, said) in [
        (
            "run_command('id', 'old', _run_as => 'web')",
            "cannot run anything as another user",
        ),
        (
            "run_task('m::echo', 'old', _run_as => 'web')",
            "cannot run anything as another user",
        ),
        (
            "write_file('text', '/tmp/t', 'old', _run_as => 'web')",
            "cannot handle files so",
        ),
    ] {
        let plan = format!(
            "plan m::p() {{\nreturn catch_errors() || {{ {call} }}.details['result_set'].first.error.message\n}}"
        );
        let world = World::new(&[("m/plans/p.pp", &plan)]).await;
        let given = value(world.run("m::p", json!({})).await);
        assert!(given.as_str().unwrap().contains(said), "{call}: {given}");
        assert_eq!(world.nodes.ran(), [""; 0], "{call}");
    }
    let (kind, msg) = failure(body("run_command('id', 'a', _run_as => '-u')").await);
    assert_eq!(kind, "puppetlabs.orchestrator/validation-error", "{msg}");
    let (kind, _) = failure(body("run_command('id', 'a', _run_as => 7)").await);
    assert_eq!(kind, "bolt/validation-error");
}

#[tokio::test]
async fn files_of_the_server_are_out_of_reach() {
    for call in [
        "run_script('/etc/passwd', 'a')",
        "upload_file('/etc/passwd', '/tmp/x', 'a')",
        "file::read('/etc/passwd')",
        "file::read('m/../../etc/passwd')",
    ] {
        let (kind, _) = failure(body(call).await);
        assert_eq!(kind, "bolt/pal-error", "{call}");
    }
    for call in [
        "system::env('HOME')",
        "dir::children('/')",
        "file::write('/tmp/x', 'y')",
    ] {
        let (kind, _) = failure(body(call).await);
        assert_eq!(kind, "tutti/not-supported", "{call}");
    }
    let world = World::new(&[(
        "m/plans/p.pp",
        "plan m::p() { return file::read('m/t.txt') }",
    )])
    .await;
    write(&world.module_file("m/files/t.txt"), "hello");
    assert_eq!(value(world.run("m::p", json!({})).await), "hello");
}
