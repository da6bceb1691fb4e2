//! What runs beside.

use serde_json::json;

use crate::world::{body, failure, value};

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
