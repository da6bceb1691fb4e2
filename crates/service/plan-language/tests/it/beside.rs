//! Blocks that run in parallel.

use serde_json::json;

use crate::world::{World, body, failure, value};

#[tokio::test]
async fn blocks_run_at_once_and_give_their_values_in_order() {
    let text = "return parallelize(['b', 'a']) |$n| {\n\
                $r = run_task('m::echo', $n)\n\
                if $n == 'b' { return 'early' }\n\
                $r.first.target }";
    assert_eq!(value(body(text).await), json!(["early", "a"]));
}

#[tokio::test]
async fn what_failed_beside_is_told_with_the_rest() {
    let text = "$e = catch_errors() || { parallelize(['m::echo', 'm::fails']) |$t| { run_task($t, 'a').ok } }\n\
                return [$e.kind, $e.message, $e.details['failed_indices'], $e.details['results'][0]]";
    let expected = json!([
        "bolt/parallel-failure",
        "parallel block failed on 1 target",
        [1],
        true
    ]);
    assert_eq!(value(body(text).await), expected);
    let (kind, _) =
        failure(body("catch_errors() || { parallelize([1]) |$n| { fail('x') } }").await);
    assert_eq!(kind, "bolt/pal-error");
}

#[tokio::test]
async fn futures_are_waited_for() {
    let text = "$f = background('one') || { run_task('m::echo', 'a').first['node'] }\n\
                $g = background() || { 2 }\n\
                $v = wait([$f, $g])\n\
                return [$v, $f.state, $f.name]";
    assert_eq!(value(body(text).await), json!([["a", 2], "done", "one"]));
    let text = "background() || { 1 } background() || { 2 } return wait()";
    assert_eq!(value(body(text).await), json!([1, 2]));
    let text = "$f = background() || { run_task('m::fails', 'a') }\n\
                $v = wait($f, _catch_errors => true)\n\
                return [$v[0].kind, $f.state]";
    assert_eq!(
        value(body(text).await),
        json!(["bolt/run-failure", "error"])
    );
}

#[tokio::test]
async fn a_future_that_is_late_is_ended() {
    let text = "$f = background() || { run_task('m::hold', 'a') }\n\
                $v = wait([$f], 0.01, _catch_errors => true)\n\
                return $v[0].kind";
    assert_eq!(value(body(text).await), "bolt/future-timeout-error");
}

#[tokio::test]
async fn variables_of_targets_are_seen_by_all() {
    let text = "$t = get_target('a')\n\
                parallelize([1]) |$n| { $t.set_var('x', $n) }\n\
                add_facts($t, { 'os' => { 'name' => 'Debian' } })\n\
                add_facts($t, { 'os' => { 'family' => 'x' } })\n\
                return [$t.vars, vars($t)['x'], $t.facts['os']]";
    let expected = json!([{"x": 1}, 1, {"name": "Debian", "family": "x"}]);
    assert_eq!(value(body(text).await), expected);
}

/// The memory budget of all plans in these tests, far less than the values that the plans create.
const SHARED_BYTES: u64 = 64 << 20;

#[tokio::test]
async fn statements_after_a_parallelize_give_their_memory_back() {
    let mut text = "plan m::p() {\n$x = parallelize([1, 2]) |$n| { $n }\n".to_owned();
    for _ in 0..10_000 {
        text.push_str("range(1, 6250).length\n");
    }
    text.push_str("return $x\n}");
    let world = World::with_shared_bytes(&[("m/plans/p.pp", &text)], SHARED_BYTES).await;
    assert_eq!(value(world.run("m::p", json!({})).await), json!([1, 2]));
}

#[tokio::test]
async fn what_branches_gave_and_nothing_holds_is_given_back() {
    let block = "|$n| { range($n, 31250) }";
    let text = format!(
        "plan m::p() {{\n\
         $sizes = Integer[1, 200].map |$i| {{ parallelize([1, 2]) {block}[1].length }}\n\
         return $sizes.unique\n}}"
    );
    let world = World::with_shared_bytes(&[("m/plans/p.pp", &text)], SHARED_BYTES).await;
    assert_eq!(value(world.run("m::p", json!({})).await), json!([31_249]));
}

#[tokio::test]
async fn variables_that_a_branch_holds_count_until_it_has_ended() {
    let plan = |before: &str, after: &str| {
        format!(
            "plan m::p() {{\n\
             $f = [1].map |$i| {{\n\
               $big = Integer[1, 20].map |$n| {{ range($n, 40000) }}\n\
               background() || {{ ctrl::sleep(0.05) $big.length }}\n\
             }}\n\
             {before}\n\
             $kept = Integer[1, 20].map |$i| {{ range($i, 40000) }}\n\
             {after}\n\
             return $kept.length\n}}"
        )
    };
    let text = plan("", "wait($f)");
    let world = World::with_shared_bytes(&[("m/plans/p.pp", &text)], SHARED_BYTES).await;
    let (kind, msg) = failure(world.run("m::p", json!({})).await);
    assert!(msg.contains("bytes of values"), "{kind}: {msg}");
    let text = plan("wait($f)", "");
    let world = World::with_shared_bytes(&[("m/plans/p.pp", &text)], SHARED_BYTES).await;
    assert_eq!(value(world.run("m::p", json!({})).await), json!(20));
}
