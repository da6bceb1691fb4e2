//! Plans with mistakes: each error names the place and the cause, and other plans are not affected.

use crate::world::{World, body, failure, value};
use serde_json::json;

#[tokio::test]
async fn mistakes_have_their_place() {
    for (text, expected) in [
        ("nothing_such()", "Unknown function: 'nothing_such'."),
        ("return $x", "Unknown variable: 'x'"),
        ("run_task()", "expects"),
        ("return Integer('x')", "cannot be converted to Integer"),
        ("file { '/x': }", "only available when compiling a catalog"),
        ("apply(1) { notice('x') }", "apply targets"),
        ("apply(*[]) { notice('x') }", "apply requires a TargetSpec"),
        ("apply('a', 1) { notice('x') }", "apply options"),
    ] {
        let ended = body(text).await;
        assert_eq!(ended.1["details"]["line"], 2, "{text}: {}", ended.1);
        let (_, msg) = failure(ended);
        assert!(msg.contains(expected), "{text}: {msg}");
    }
}

#[tokio::test]
async fn what_never_ends_is_ended() {
    let loops = "plan m::p() { return m::f(0) }";
    let f = "function m::f(Integer $n) { m::f($n + 1) }";
    let world = World::new(&[("m/plans/p.pp", loops), ("m/functions/f.pp", f)]).await;
    let (_, msg) = failure(world.run("m::p", json!({})).await);
    assert!(msg.contains("call"), "{msg}");
}

#[tokio::test]
async fn what_grows_without_end_is_ended() {
    for text in [
        "return Integer[1, 60].reduce('x') |$text, $n| { \"${text}${text}\" }",
        "return Integer[1, 60].reduce([1]) |$list, $n| { $list + $list }",
        "return Integer[1, 100000].reduce([1]) |$list, $n| { [$list] }",
    ] {
        let (_, msg) = failure(body(text).await);
        assert!(msg.contains("more than"), "{text}: {msg}");
    }
}

/// One of the plans below uses at most 24 MiB, and 16 MiB once its text is complete; it gets them
/// only if as much remains for other plans. So one fits alone, and a second one beside it does not.
const SHARED_BYTES: u64 = 56 << 20;

/// The memory of all plans together is bounded: the plan that requests too much is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_that_take_what_others_leave_harm_nobody_else() {
    // 2^24 bytes, and half as many for the last value from which they are made.
    let large = "$x = Integer[1, 24].reduce('x') |$text, $n| { \"${text}${text}\" }";
    let hoard =
        format!("plan m::hoard() {{ {large}\n run_task('m::hold', 'a')\n return $x.length }}");
    let greedy = format!("plan m::greedy() {{ {large}\n return $x.length }}");
    let caught = format!("plan m::caught() {{ return catch_errors() || {{ {large} }} }}");
    let files: [(&str, &str); 4] = [
        ("m/plans/hoard.pp", &hoard),
        ("m/plans/greedy.pp", &greedy),
        ("m/plans/caught.pp", &caught),
        ("m/plans/small.pp", "plan m::small() { return 1 }"),
    ];
    let world = World::with_shared_bytes(&files, SHARED_BYTES).await;
    let hoard = world.launch("m::hoard", json!({})).await;
    let has_much = async || (world.shared_bytes() > SHARED_BYTES / 4).then_some(());
    world.until("the plan has its values", has_much).await;
    for plan in ["m::greedy", "m::caught"] {
        let (_, msg) = failure(world.run(plan, json!({})).await);
        assert!(msg.contains("than others leave"), "{plan}: {msg}");
    }
    assert_eq!(value(world.run("m::small", json!({})).await), 1);
    world.plans().stop(hoard, "ann", false).await.unwrap();
    world.over(hoard).await;
    let is_back = async || (world.shared_bytes() == 0).then_some(());
    world.until("what the plan had is free", is_back).await;
    assert_eq!(value(world.run("m::greedy", json!({})).await), 1 << 24);
}

/// Values that are stored at targets stay charged after the plan's own variables are gone; values
/// that only variables held are released.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_that_targets_have_are_held() {
    let large = "Integer[1, 18].reduce('x') |$text, $n| { \"${text}${text}\" }";
    let plan = |name: &str, each: &str| {
        format!(
            "plan m::{name}() {{\n  $t = get_target('a')\n  Integer[1, 200].each |$i| {{\n    $x = {large}\n    \
             {each}\n  }}\n  return 1\n}}"
        )
    };
    let kept = plan("kept", "$t.set_var(\"k${i}\", $x)");
    let dropped = plan("dropped", "$t.set_var('k', $x.length)");
    let files: [(&str, &str); 2] = [("m/plans/kept.pp", &kept), ("m/plans/dropped.pp", &dropped)];
    let world = World::with_shared_bytes(&files, 16 << 20).await;
    let (_, msg) = failure(world.run("m::kept", json!({})).await);
    assert!(msg.contains("than others leave"), "{msg}");
    assert_eq!(value(world.run("m::dropped", json!({})).await), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_computes_for_ever_holds_up_nobody_and_can_be_stopped() {
    let spin = "plan m::spin() { Integer[1, 900000000].each |$n| { $n + 1 } }";
    let quick = "plan m::quick() { return 1 }";
    let world = World::new(&[("m/plans/spin.pp", spin), ("m/plans/quick.pp", quick)]).await;
    // One plan for each thread, and one more.
    let mut spinning = Vec::new();
    for _ in 0..3 {
        spinning.push(world.launch("m::spin", json!({})).await);
    }
    assert_eq!(value(world.run("m::quick", json!({})).await), 1);
    for plan in &spinning {
        world.plans().stop(*plan, "ann", false).await.unwrap();
    }
    for plan in spinning {
        assert_eq!(failure(world.over(plan).await).0, "tutti/plan-stopped");
    }
    assert_eq!(value(world.run("m::quick", json!({})).await), 1);
}

#[tokio::test]
async fn a_file_that_is_no_plan_says_so() {
    for (content, expected) in [
        ("plan m::p( { ", "Syntax error"),
        ("plan m::other() { }", "wrong name"),
        ("function m::p() { }", "no plan found"),
        ("", "no plan found"),
    ] {
        let world = World::new(&[("m/plans/p.pp", content)]).await;
        let (_, msg) = failure(world.run("m::p", json!({})).await);
        assert!(msg.contains(expected), "{content}: {msg}");
    }
}

/// Creates a world in which `m::q` is runnable, whatever `m::p` does.
async fn beside_another(files: &[(&str, &str)]) -> World {
    let mut all = vec![("m/plans/q.pp", "plan m::q(Integer $n = 1) { return $n }")];
    all.extend(files);
    World::new(&all).await
}

/// Returns the end of `m::p`: error kind, message, and file with line. Checks that another plan
/// still runs then.
async fn wrong(files: &[(&str, &str)]) -> (String, String, String) {
    let world = beside_another(files).await;
    ended_wrong(&world).await
}

async fn ended_wrong(world: &World) -> (String, String, String) {
    let ended = world.run("m::p", json!({})).await;
    let details = &ended.1["details"];
    let file = details["file"].as_str().unwrap_or_default();
    let file = file.rsplit('/').next().unwrap_or_default();
    let place = format!("{file}:{}:{}", details["line"], details["column"]);
    let (kind, msg) = failure(ended);
    assert_eq!(value(world.run("m::q", json!({})).await), 1);
    (kind, msg, place)
}

#[tokio::test]
async fn mistakes_in_other_files_have_the_place_of_the_call() {
    for (files, expected, at) in [
        (
            vec![(
                "m/plans/p.pp",
                "plan m::p() {\n  run_plan('m::q', m => 1)\n}",
            )],
            "has no parameter named 'm'",
            "p.pp:2:3",
        ),
        (
            vec![(
                "m/plans/p.pp",
                "plan m::p() {\n  run_plan('m::q', n => 'x')\n}",
            )],
            "parameter 'n' expects an Integer value, got String",
            "p.pp:2:3",
        ),
        (
            vec![
                ("m/plans/p.pp", "plan m::p() {\n  run_plan('m::r')\n}"),
                ("m/plans/r.pp", "plan m::r(String $s) { return $s }"),
            ],
            "expects a value for parameter 's'",
            "p.pp:2:3",
        ),
        (
            vec![("m/plans/p.pp", "plan m::p() {\n  run_plan('m::nowhere')\n}")],
            "m::nowhere",
            "p.pp:2:3",
        ),
        (
            vec![
                ("m/plans/p.pp", "plan m::p() {\n  return m::f()\n}"),
                ("m/functions/f.pp", "function m::f() {\n  notic('x')\n}"),
            ],
            "did you mean",
            "f.pp:2:3",
        ),
    ] {
        let (_, msg, place) = wrong(&files).await;
        assert!(msg.contains(expected), "{files:?}: {msg}");
        assert_eq!(place, at, "{files:?}: {msg}");
    }
}

#[tokio::test]
async fn what_refers_to_itself_is_ended() {
    for (files, expected) in [
        (
            vec![
                ("m/plans/p.pp", "plan m::p() { run_plan('m::r') }"),
                ("m/plans/r.pp", "plan m::r() { run_plan('m::p') }"),
            ],
            "call",
        ),
        (
            vec![
                ("m/plans/p.pp", "plan m::p(M::A $x = 1) { return $x }"),
                ("m/types/a.pp", "type M::A = Variant[M::B, Array[M::A]]"),
                ("m/types/b.pp", "type M::B = M::A"),
            ],
            "M::",
        ),
        (
            vec![
                ("m/plans/p.pp", "plan m::p() { return m::f() }"),
                ("m/functions/f.pp", "function m::f() { m::g() }"),
                ("m/functions/g.pp", "function m::g() { m::f() }"),
            ],
            "call",
        ),
    ] {
        let (_, msg, _) = wrong(&files).await;
        assert!(msg.contains(expected), "{files:?}: {msg}");
    }
}

#[tokio::test]
async fn what_is_too_deep_or_too_slow_is_ended() {
    let sum = format!("return 1{}", " + 1".repeat(100_000));
    let text = format!("return 'a'{}", " == 'a'".repeat(20_000));
    let chain = format!("return [1]{}", ".map |$x| { $x }".repeat(20_000));
    let brackets = format!("return {}{}", "[".repeat(10_000), "]".repeat(10_000));
    let nested = format!("return {}1{}", "[".repeat(1_500), "]".repeat(1_500));
    let not = format!("return {}true", "!".repeat(10_000));
    let inwards = "return range(1, 10000).reduce(0) |$m, $x| { [[1], $m, [2]] }";
    let objects = "return range(1, 10000).reduce(0) |$m, $x| { ResourceInstance.new({ \
        'target' => get_target('n'), 'type' => 'File', 'title' => 'x', \
        'events' => [[1], $m, [2]] }) }";
    let pattern =
        "return 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' =~ /^(a|a|aa)+$/";
    for (name, text, expected) in [
        ("sum", &*sum, "too deep inside each other"),
        ("text", &text, "too deep inside each other"),
        ("chain", &chain, "too deep inside each other"),
        ("brackets", &brackets, "nested too deeply"),
        ("nested", &nested, "too deep inside each other"),
        ("not", &not, "nested too deeply"),
        ("loop", inwards, "deep inside each other"),
        ("objects", objects, "deep inside each other"),
        ("pattern", pattern, "more than 10000000 ways to match"),
    ] {
        let plan = format!("plan m::p() {{\n{text}\n}}");
        let (_, msg, place) = wrong(&[("m/plans/p.pp", &plan)]).await;
        assert!(msg.contains(expected), "{name}: {msg}");
        assert!(place.starts_with("p.pp:2:"), "{name}: {place}");
    }
}

#[tokio::test]
async fn a_source_that_is_no_text_says_where() {
    for path in ["m/plans/p.pp", "m/functions/f.pp", "m/plans/p.yaml"] {
        let plan = match path {
            "m/functions/f.pp" => vec![("m/plans/p.pp", "plan m::p() { return m::f() }")],
            _ => Vec::new(),
        };
        let world = beside_another(&plan).await;
        let place = world.module_file(path);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::write(&place, b"# caf\xe9\nplan m::p() { }\n").unwrap();
        let (_, msg, _) = ended_wrong(&world).await;
        assert!(msg.contains("is not UTF-8"), "{path}: {msg}");
        if path.ends_with(".pp") {
            assert!(msg.contains("(line: 1, column: 6)"), "{path}: {msg}");
        }
    }
}

#[tokio::test]
async fn yaml_makes_no_objects_and_no_bombs() {
    let bomb = "x: &a [1, 1]\ny: &b [*a, *a]\nsteps: []\nreturn: *b\n";
    let deep = format!(
        "steps: []\nreturn: {}{}\n",
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    for (text, expected) in [
        (
            "steps: []\nreturn: !ruby/object:Object {}\n",
            "unspecified class: Object at line 2",
        ),
        (
            "steps: []\nreturn: !ruby/hash:Gem::Requirement {}\n",
            "unspecified class",
        ),
        ("--- !ruby/object:Set\nsteps: []\n", "unspecified class"),
        (bomb, "lias"),
        (&deep, "deep"),
    ] {
        let (kind, msg, _) = wrong(&[("m/plans/p.yaml", text)]).await;
        let shown = &text[..text.len().min(60)];
        assert_eq!(kind, "bolt/invalid-plan", "{shown}: {msg}");
        assert!(msg.contains(expected), "{shown}: {msg}");
    }
}
