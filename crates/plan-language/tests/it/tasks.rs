//! `run_task` and its kin.

use serde_json::json;

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
    assert_eq!(details["action"], "task");
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

#[tokio::test]
async fn no_targets_are_no_job() {
    let given = value(body("return run_task('nowhere::nothing', []).empty").await);
    assert_eq!(given, true);
}

#[tokio::test]
async fn what_cannot_be_run_says_why() {
    let (kind, msg) = failure(body("run_task('m::nothing', 'a')").await);
    assert_eq!(kind, "bolt/unknown-task");
    assert!(msg.contains("m::nothing"), "{msg}");
    let (kind, msg) = failure(body("run_task('m::echo', 'a/../b')").await);
    assert_eq!(kind, "bolt.inventory/validation-error", "{msg}");
    let (kind, msg) = failure(body("run_task('m::echo', 'a', at => Timestamp.new(0))").await);
    assert_eq!(kind, "bolt/validation-error");
    assert_eq!(
        msg,
        "the parameter 'at' is of type Timestamp, which is not Data"
    );
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

#[tokio::test]
async fn commands_scripts_and_files_go_to_nodes() {
    let script = ("m/files/s.sh", "#!/bin/sh\necho hi\n");
    let plan = "plan m::p() {\n\
                $c = run_command('echo', 'a', _env_vars => { 'A' => \"it's\" })\n\
                $f = run_command('exit 3', 'a', _catch_errors => true)\n\
                $s = run_script('m/s.sh', 'a', arguments => ['x'])\n\
                $u = upload_file('m/s.sh', '/tmp/s.sh', 'a')\n\
                $w = write_file('text', '/tmp/t', 'a')\n\
                return [$c.first['stdout'], $f.first.error.message, $s.first['stdout'], \
                $u.first.message, $w.first['content']]\n}";
    let world = World::new(&[script, ("m/plans/p.pp", plan)]).await;
    let given = value(world.run("m::p", json!({})).await);
    let expected = json!([
        "A='it'\\''s'; export A; echo\n",
        "The command failed with exit code 3",
        "IyEvYmluL3NoCmVjaG8gaGkK",
        "Uploaded to '/tmp/s.sh'",
        "dGV4dA==",
    ]);
    assert_eq!(given, expected);
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
        assert_eq!(kind, "bolt/validation-error", "{call}");
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
