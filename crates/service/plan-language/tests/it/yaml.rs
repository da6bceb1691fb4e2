//! YAML plans.

use serde_json::json;

use crate::world::{World, failure, value};

async fn run(text: &str, params: serde_json::Value) -> (String, serde_json::Value) {
    let world = World::new(&[("m/plans/p.yaml", text)]).await;
    world.run("m::p", params).await
}

#[tokio::test]
async fn steps_are_carried_out_one_after_the_other() {
    let text = r#"
description: does things
parameters:
  word:
    type: String
    default: hi
  targets:
    type: TargetSpec
steps:
  - name: said
    task: m::echo
    targets: $targets
    description: say it
    parameters:
      word: "${word} \"you\""
      plain: plain ${n}
      list: ['$x', $word]
  - message: "${said.count} done"
  - name: doubled
    eval: |
      $said.map |$r| { $r['input']['word'] }
  - command: exit 2
    targets: a
    catch_errors: true
    name: failed
  - plan: m::inner
    name: inner
    targets: b
    parameters: { n: 2 }
return:
  words: $doubled
  input: $said.first['input']
  failed: $failed.ok
  inner: $inner
"#;
    let inner =
        "plan m::inner(TargetSpec $targets, Integer $n) { return [get_targets($targets), $n] }";
    let world = World::new(&[("m/plans/p.yaml", text), ("m/plans/inner.pp", inner)]).await;
    let plan = world.launch("m::p", json!({"targets": ["a", "b"]})).await;
    let given = value(world.over(plan).await);
    assert_eq!(given["words"], json!(["hi \"you\"", "hi \"you\""]));
    let input = json!({"word": "hi \"you\"", "plain": "plain ${n}", "list": ["$x", "hi"]});
    assert_eq!(given["input"], input);
    assert_eq!(given["failed"], false);
    assert_eq!(given["inner"], json!([["b"], 2]));
    assert_eq!(world.told(plan, "out_message").await, ["2 done"]);
}

#[tokio::test]
async fn parameters_are_checked() {
    let text = "parameters:\n  n:\n    type: Integer\n  s: {}\nsteps: []\nreturn: $n\n";
    assert_eq!(value(run(text, json!({"n": 1})).await), 1);
    for (params, expected) in [
        (
            json!({"n": "x"}),
            "m::p: parameter 'n' expects an Integer value, got String",
        ),
        (json!({}), "m::p: expects a value for parameter 'n'"),
        (
            json!({"n": 1, "other": 2}),
            "m::p: has no parameter named 'other'",
        ),
    ] {
        assert_eq!(failure(run(text, params).await).1, expected);
    }
}

#[tokio::test]
async fn what_is_no_plan_is_refused_with_its_place() {
    for (text, expected) in [
        ("steps: []\nother: 1\n", "`other` is no key of a plan"),
        ("steps:\n  - task: x\n    command: y\n", "exactly one of"),
        (
            "steps:\n  - eval: 1\n  - comand: y\n    targets: a\n",
            "this one has comand (line: 3, column: 5)",
        ),
        (
            "steps:\n  - command: y\n    target: a\n    targets: a\n",
            "`target` is no key of a step with `command`; it has command, name, description, targets",
        ),
        ("steps:\n  - task: x\n", "needs `targets`"),
        (
            "steps:\n  - eval: 1\n    targets: a\n    noop: true\n",
            "`noop` is no key",
        ),
        ("steps:\n  - eval: 1\n    name: X\n", "lower-case"),
        (
            "steps:\n  - eval: 1\n    name: x\n  - eval: 2\n    name: x\n",
            "`x` is the name",
        ),
        (
            "steps:\n  - task: x\n    targets: a\n    parameters: { _noop: true }\n",
            "write `noop`",
        ),
        ("steps: &a []\nreturn: *a\n", "lias"),
        ("steps: {}\n", "needs `steps`, a list"),
        ("", "is empty"),
        ("[", "the plan cannot be read"),
    ] {
        let (kind, msg) = failure(run(text, json!({})).await);
        assert_eq!(kind, "bolt/invalid-plan", "{text}: {msg}");
        assert!(msg.contains(expected), "{text}: {msg}");
    }
}

#[tokio::test]
async fn a_failure_has_the_line_of_its_step() {
    let text = "steps:\n  - eval: 1\n  - task: m::fails\n    targets: a\n";
    let ended = run(text, json!({})).await;
    assert_eq!(ended.1["details"]["line"], 3, "{}", ended.1);
    assert_eq!(failure(ended).0, "bolt/run-failure");
    let ended = run("steps:\n  - eval: |\n      nothing_such()\n", json!({})).await;
    assert_eq!(ended.1["details"]["line"], 3, "{}", ended.1);
}

#[tokio::test]
async fn of_a_key_that_is_written_twice_the_last_counts_and_the_plan_is_told() {
    let text = "steps:\n  - name: a\n    eval: 1\n    eval: 2\nreturn: $a\n";
    let world = World::new(&[("m/plans/p.yaml", text)]).await;
    let plan = world.launch("m::p", json!({})).await;
    assert_eq!(value(world.over(plan).await), json!(2));
    let told = world.told(plan, "log").await;
    assert_eq!(
        told,
        ["the key `eval` stands in line 3 too; the last one counts"]
    );
}

#[tokio::test]
async fn code_that_does_not_parse_in_a_later_step_is_refused_before_the_first_step() {
    let text = "steps:\n  - task: m::echo\n    targets: a\n  - name: x\n    eval: |\n      $a = 1\n      $b = = 2\n\
                \x20 - message: \"${\"\nreturn: $x[\n";
    let world = World::new(&[("m/plans/p.yaml", text)]).await;
    let plan = world.launch("m::p", json!({})).await;
    let (kind, msg) = failure(world.over(plan).await);
    assert_eq!(kind, "bolt/invalid-plan");
    for place in ["(line: 7, column: 12)", "(line: 8,", "(line: 9,"] {
        assert!(msg.contains(place), "{place}: {msg}");
    }
    assert_eq!(world.told(plan, "task_start").await, Vec::<String>::new());
}

#[tokio::test]
async fn a_plan_that_another_runs_is_checked_before_its_own_first_step() {
    let inner = "steps:\n  - task: m::echo\n    targets: a\n  - eval: $(\n";
    let outer = "steps:\n  - plan: m::inner\n";
    let world = World::new(&[("m/plans/p.yaml", outer), ("m/plans/inner.yaml", inner)]).await;
    let plan = world.launch("m::p", json!({})).await;
    assert_eq!(failure(world.over(plan).await).0, "bolt/invalid-plan");
    assert_eq!(world.told(plan, "task_start").await, Vec::<String>::new());
}
