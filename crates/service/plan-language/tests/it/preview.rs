//! Previews of plans.

use plans::PlanPreviewMode;
use serde_json::{Value, json};

use crate::world::{World, failure, value};

/// The result of a preview of `m::p` with a given body.
pub(crate) struct Seen {
    pub(crate) world: World,
    pub(crate) plan: i64,
    pub(crate) ended: (String, Value),
    pub(crate) effects: Vec<Value>,
}

impl Seen {
    pub(crate) async fn of(body: &str) -> Self {
        Self::files(&[], body, PlanPreviewMode::Show).await
    }

    pub(crate) async fn files(files: &[(&str, &str)], body: &str, kind: PlanPreviewMode) -> Self {
        let plan = format!("plan m::p() {{\n{body}\n}}");
        let mut all = vec![("m/plans/p.pp", plan.as_str())];
        all.extend(files);
        let world = World::new(&all).await;
        Self::launched(world, "m::p", json!({}), kind).await
    }

    async fn launched(world: World, plan: &str, params: Value, kind: PlanPreviewMode) -> Self {
        let plan = world.look(plan, params, kind).await;
        let ended = world.over(plan).await;
        let effects = world.details(plan, "preview").await;
        Self {
            world,
            plan,
            ended,
            effects,
        }
    }

    /// Returns `FUNCTION OBJECT` of each effect shown.
    pub(crate) fn shown(&self) -> Vec<String> {
        let text = |effect: &Value, key: &str| effect[key].as_str().unwrap().to_owned();
        let of =
            |effect: &Value| format!("{} {}", text(effect, "function"), text(effect, "object"));
        self.effects.iter().map(of).collect()
    }

    /// Returns the steps on which an effect depends, and those on which it may depend; numbered
    /// from 1.
    #[track_caller]
    pub(crate) fn depends(&self, number: usize) -> (Value, Value) {
        let effect = self.effects.get(number - 1);
        let effect = effect.unwrap_or_else(|| panic!("{:#?} {:#}", self.shown(), self.ended.1));
        assert_eq!(effect["number"], number);
        (
            effect["depends_on"].clone(),
            effect["may_depend_on"].clone(),
        )
    }

    pub(crate) async fn decisions(&self) -> Vec<String> {
        self.world.told(self.plan, "preview_decision").await
    }
}

pub(crate) fn steps(depends: &[u32], maybe: &[u32]) -> (Value, Value) {
    (json!(depends), json!(maybe))
}

#[tokio::test]
async fn every_effect_is_shown_and_none_is_made() {
    let script = ("m/files/s.sh", "#!/bin/sh\n");
    let body = "$r = run_task('m::echo', 'a,b', 'say it', word => 'hi')\n\
                run_task_with('m::echo', 'a,b') |$t| { { 'me' => $t.name } }\n\
                run_command('rm -rf /', 'a', _env_vars => { 'A' => 'b' })\n\
                run_script('m/s.sh', 'a', arguments => ['x'])\n\
                upload_file('m/s.sh', '/tmp/s.sh', 'a')\n\
                write_file('text', '/tmp/t', 'a')\n\
                ctrl::sleep(3600)\n\
                wait_until_available('gone')\n\
                $yes = prompt('Go on?', 'default' => 'yes')\n\
                out::message(\"${yes} ${r.ok} ${r.count}\")\n\
                return $r.names";
    let seen = Seen::files(&[script], body, PlanPreviewMode::Show).await;
    let given = value(seen.ended.clone());
    let expected = [
        "run_task m::echo",
        "run_task m::echo",
        "run_task m::echo",
        "run_command rm -rf /",
        "run_script m/s.sh",
        "upload_file m/s.sh",
        "upload_file content",
        "ctrl::sleep 3600 s",
        "wait_until_available ",
        "prompt Go on?",
    ];
    assert_eq!(seen.shown(), expected);
    assert_eq!(
        seen.world.nodes.ran(),
        Vec::<String>::new(),
        "nothing reaches a node"
    );
    let first = &seen.effects[0];
    assert_eq!(first["targets"], json!(["a", "b"]));
    assert_eq!(first["parameters"], json!({"word": "hi"}));
    assert_eq!(first["description"], "say it");
    assert_eq!(first["site"], "m/plans/p.pp:2");
    assert_eq!(first["message"], "1. run_task m::echo on 2 targets");
    assert_eq!(seen.effects[1]["parameters"], json!({"me": "a"}));
    assert_eq!(seen.effects[3]["targets"], json!(["a"]));
    let told = seen.world.told(seen.plan, "out_message").await;
    assert_eq!(told, ["yes true 2"], "a success is taken for granted");
    for number in 1..=10 {
        assert_eq!(seen.depends(number), steps(&[], &[]), "{number}");
    }
    assert_eq!(given["result"], json!(["a", "b"]));
    let counted = json!({
        "noop": true, "effects": 10, "sent": 0, "depending": 0, "maybe_depending": 0, "decisions": 0,
    });
    assert_eq!(given["preview"], counted);
}

#[tokio::test]
async fn what_is_made_of_a_result_names_its_steps() {
    let seen = Seen::of(
        "$one = run_command('one', 'a').first['stdout']\n\
         $two = run_command('two', 'a,b').map |$r| { $r['stdout'].strip }\n\
         run_command(\"use ${one}\", 'a')\n\
         run_task('m::echo', 'a', text => \"${two}\", list => [$one, 1], same => 1)\n\
         run_task('m::echo', $one)\n\
         run_task('m::echo', get_targets($one))\n\
         run_task('m::echo', 'a', n => $one + 1, sum => $two.reduce(0) |$m, $x| { $m + Integer($x) })\n\
         run_task('m::echo', 'a', at => { 'x' => 1 }[$one], both => \"${one}${two[1]}\")\n\
         run_task('m::echo', 'a', data => run_command('three', 'a').to_data)\n\
         run_command('other', 'a')\n\
         $one.split(',').each |$part| { run_command(\"part ${part}\", 'a') }\n\
         return [$one, $two]",
    )
    .await;
    let given = value(seen.ended.clone());
    assert_eq!(seen.effects[2]["object"], "use <result of step 1>");
    assert_eq!(seen.depends(3), steps(&[1], &[]));
    let parameters = json!({
        "text": "[<result of step 2>, <result of step 2>]",
        "list": ["<result of step 1>", 1], "same": 1,
    });
    assert_eq!(seen.effects[3]["parameters"], parameters);
    assert_eq!(seen.depends(4), steps(&[1, 2], &[]));
    assert_eq!(seen.effects[4]["targets"], json!(["<result of step 1>"]));
    assert_eq!(seen.depends(5), steps(&[1], &[]));
    assert_eq!(seen.depends(6), steps(&[1], &[]));
    assert_eq!(seen.depends(7), steps(&[1, 2], &[]));
    assert_eq!(seen.depends(8), steps(&[1, 2], &[]));
    assert_eq!(seen.depends(9), steps(&[], &[]));
    assert_eq!(seen.depends(10), steps(&[9], &[]));
    assert_eq!(
        seen.depends(11),
        steps(&[], &[]),
        "nothing was decided so far"
    );
    assert_eq!(seen.effects[11]["object"], "part <result of step 1>");
    assert_eq!(seen.depends(12), steps(&[1], &[]));
    let decisions = seen.decisions().await;
    assert_eq!(decisions.len(), 1, "{decisions:?}");
    assert!(decisions[0].starts_with("m/plans/p.pp:12: the result of step 1 decides here"));
    assert_eq!(given["result"][0], "<result of step 1>");
    assert_eq!(seen.world.nodes.ran(), Vec::<String>::new());
}

#[tokio::test]
async fn a_preview_that_cannot_go_on_says_which_result_it_needs() {
    let seen = Seen::of(
        "$x = run_command('one', 'a').first['stdout']\n\
         upload_file($x, '/tmp/x', 'a')\n\
         run_command('two', 'a')",
    )
    .await;
    let given = value(seen.ended.clone());
    let early = &given["preview"]["ended_early"];
    assert_eq!(early["at"], "m/plans/p.pp:3", "{given:#}");
    assert_eq!(early["depends_on"], json!([1]));
    assert_eq!(early["kind"], "bolt/pal-error");
    assert_eq!(seen.shown(), ["run_command one"]);
}

#[tokio::test]
async fn a_plan_that_fails_in_any_case_fails_in_its_preview() {
    for (body, kind) in [
        ("fail_plan('no', 'm/no')", "m/no"),
        ("run_task('m::nothing', 'a')", "bolt/unknown-task"),
        ("run_task('m::picky', 'a', 'n' => 'x')", "bolt/pal-error"),
        (
            "run_task('m::echo', 'a', '_noop' => true)",
            "bolt/pal-error",
        ),
        ("apply(1) { notify { 'x': } }", "bolt/pal-error"),
        (
            "run_command('x', 'a/../b')",
            "bolt.inventory/validation-error",
        ),
        ("$x = 1\n$x = 2", "bolt/pal-error"),
    ] {
        let picky = (
            "m/tasks/picky.json",
            r#"{"parameters": {"n": {"type": "Integer"}}}"#,
        );
        let script = ("m/tasks/picky.sh", "#!/bin/sh\n");
        let seen = Seen::files(&[picky, script], body, PlanPreviewMode::Show).await;
        assert_eq!(failure(seen.ended.clone()).0, kind, "{body}");
        assert!(seen.effects.is_empty(), "{body}");
    }
}

#[tokio::test]
async fn secrets_are_not_shown() {
    let plan = "plan m::p(Sensitive[String] $pw) {\n\
                $r = run_task('m::echo', 'a', pw => $pw, list => [Sensitive('hidden1')])\n\
                run_task('m::locked', 'a', key => 'hidden2')\n\
                write_file($pw, '/tmp/x', 'a')\n\
                run_command(\"x ${pw}\", 'ssh://ann:hidden3@a')\n\
                prompt('Password?', 'sensitive' => true, 'default' => 'hidden4')\n\
                run_task('m::echo', 'a', key => Sensitive(\"${r.first['x']}\"))\n\
                return $pw.unwrap.length }";
    let locked = r#"{"parameters": {"key": {"type": "String", "sensitive": true}}}"#;
    let files = [
        ("m/plans/p.pp", plan),
        ("m/tasks/locked.json", locked),
        ("m/tasks/locked.sh", "#!/bin/sh\n"),
    ];
    let world = World::new(&files).await;
    let seen = Seen::launched(
        world,
        "m::p",
        json!({"pw": "s3cret"}),
        PlanPreviewMode::Show,
    )
    .await;
    assert_eq!(value(seen.ended.clone())["result"], 6);
    assert_eq!(seen.effects.len(), 6);
    let kept = seen.world.plans().journal(seen.plan).await.unwrap();
    let events = seen
        .world
        .store
        .plan_events(seen.plan, 0, 1_000)
        .await
        .unwrap();
    let kept = format!("{kept:?} {events:?} {}", seen.ended.1);
    assert!(
        !kept.contains("s3cret") && !kept.contains("hidden"),
        "{kept}"
    );
}

#[tokio::test]
async fn previews_look_into_all_that_plans_are_made_of() {
    let yaml = "parameters:\n  n: {}\nsteps:\n  - name: one\n    command: in yaml\n    targets: a\n\
                \x20 - task: m::echo\n    targets: b\n    parameters:\n      out: $one.first['stdout']\n      n: $n\n\
                return: $one\n";
    let inner = "plan m::inner(TargetSpec $targets) { run_command('in inner', $targets) }";
    let body = "$y = run_plan('m::y', 'n' => 1)\n\
                run_plan('m::inner', 'a,b')\n\
                $caught = catch_errors() || { run_plan('m::nothing') }\n\
                $f = background() || { run_command('beside', 'a').first['stdout'] }\n\
                $all = parallelize(['a', 'b']) |$n| { run_command(\"on ${n}\", $n).first['stdout'] }\n\
                run_command(\"with ${y.first['stdout']} ${all[1]} ${wait($f)[0]}\", 'c')\n\
                return $caught.kind";
    let files = [("m/plans/y.yaml", yaml), ("m/plans/inner.pp", inner)];
    let seen = Seen::files(&files, body, PlanPreviewMode::Show).await;
    assert_eq!(value(seen.ended.clone())["result"], "bolt/unknown-plan");
    let expected = [
        "run_command in yaml",
        "run_task m::echo",
        "run_command in inner",
        "run_command beside",
        "run_command on a",
        "run_command on b",
        "run_command with <result of step 1> <result of step 6> <result of step 4>",
    ];
    assert_eq!(seen.shown(), expected);
    assert_eq!(seen.effects[0]["site"], "m/plans/y.yaml:4");
    assert_eq!(seen.effects[1]["site"], "m/plans/y.yaml:7");
    let parameters = json!({"out": "<result of step 1>", "n": 1});
    assert_eq!(seen.effects[1]["parameters"], parameters);
    assert_eq!(seen.depends(2), steps(&[1], &[]));
    assert_eq!(seen.depends(7), steps(&[1, 4, 6], &[]));
    assert_eq!(seen.world.nodes.ran(), Vec::<String>::new());
}

#[tokio::test]
async fn tasks_that_can_do_so_run_in_noop_mode_if_that_is_wanted() {
    let files = [
        ("m/tasks/careful.json", r#"{"supports_noop": true}"#),
        ("m/tasks/careful.sh", "#!/bin/sh\n"),
    ];
    let body = "$c = run_task('m::careful', 'a', word => 'hi').first['input']['word']\n\
                $e = run_task('m::echo', 'b', word => $c).first\n\
                run_task('m::careful', 'b', word => $e['node'])\n\
                if $c == 'hi' { run_command('then', 'a') }\n\
                return $c";
    let seen = Seen::files(&files, body, PlanPreviewMode::RunNoop).await;
    let given = value(seen.ended.clone());
    assert_eq!(given["result"], "hi");
    assert_eq!(seen.world.nodes.ran(), ["a m::careful"]);
    let sent: Vec<&Value> = seen.effects.iter().map(|it| &it["sent"]).collect();
    assert_eq!(sent, [true, false, false, false]);
    assert_eq!(seen.depends(2), steps(&[], &[]), "what ran gave a result");
    assert_eq!(seen.depends(3), steps(&[2], &[]));
    assert_eq!(seen.depends(4), steps(&[], &[]));
    let job = seen.world.store.plan_steps(seen.plan).await.unwrap()[0].job;
    let row = seen.world.store.job(job).await.unwrap().unwrap();
    let options: Value = serde_json::from_str(&row.options).unwrap();
    assert_eq!(options["noop"], true);
    assert_eq!(given["preview"]["sent"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_preview_goes_on_after_a_restart_as_it_began() {
    let files = [
        ("m/tasks/hold.json", r#"{"supports_noop": true}"#),
        (
            "m/plans/p.pp",
            "plan m::p() {\n\
             $x = run_command('one', 'a').first['stdout']\n\
             if $x == 'a' { run_command('two', 'a') }\n\
             run_task('m::hold', 'b')\n\
             run_command(\"three ${x}\", 'a') }",
        ),
    ];
    let mut world = World::new(&files).await;
    let plan = world
        .look("m::p", json!({}), PlanPreviewMode::RunNoop)
        .await;
    world
        .until("the task is held", async || {
            (!world.nodes.ran().is_empty()).then_some(())
        })
        .await;
    world.stop().await;
    world.nodes.let_go();
    world.start().await;
    let given = value(world.over(plan).await);
    assert_eq!(given["preview"]["effects"], 4);
    let effects = world.details(plan, "preview").await;
    let numbers: Vec<&Value> = effects.iter().map(|it| &it["number"]).collect();
    assert_eq!(numbers, [1, 2, 3, 4], "each is told once");
    assert_eq!(effects[3]["may_depend_on"], json!([]));
    assert_eq!(effects[3]["depends_on"], json!([1]));
    assert_eq!(world.nodes.ran(), ["b m::hold"]);
}

#[tokio::test]
async fn a_preview_is_not_let_go_on() {
    let seen = Seen::of("fail_plan('no')").await;
    assert_eq!(seen.ended.0, "failure");
    let refused = seen.world.plans().resume(seen.plan, "ann", None).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("is a preview"), "{refused}");
}
