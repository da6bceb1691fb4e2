//! Plans that are wrong: each says where and why, and nothing else is harmed.

use crate::world::{World, body, failure};
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
