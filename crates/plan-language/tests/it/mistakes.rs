//! Plans that are wrong: each says where and why, and nothing else is harmed.

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
        ("apply('a') { notice('x') }", "compiles no catalogs"),
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_computes_for_ever_holds_up_nobody_and_can_be_stopped() {
    let spin = "plan m::spin() { Integer[1, 900000000].each |$n| { $n + 1 } }";
    let quick = "plan m::quick() { return 1 }";
    let world = World::new(&[("m/plans/spin.pp", spin), ("m/plans/quick.pp", quick)]).await;
    // One for each thread, and one more.
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
