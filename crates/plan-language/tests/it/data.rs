//! Lookups of plans.

use serde_json::json;

use crate::world::{World, failure, value, write};

const HIERA: &str = "version: 5\nplan_hierarchy:\n  - name: all\n    globs: ['*.yaml']\n";
const MODULE: &str = "version: 5\nplan_hierarchy:\n  - name: own\n    path: own.yaml\n";

async fn world(body: &str) -> World {
    let plan = format!("plan m::p($who = 'you') {{ {body} }}");
    let files = [
        ("../hiera.yaml", HIERA),
        (
            "../data/common.yaml",
            "greeting: \"hello %{who}\"\nlist: [1]\n",
        ),
        ("../data/more.yaml", "list: [2]\n"),
        ("m/hiera.yaml", MODULE),
        ("m/data/own.yaml", "m::own: 7\n"),
        ("m/plans/p.pp", &plan),
    ];
    World::new(&files).await
}

#[tokio::test]
async fn plans_look_up_data_of_the_environment_and_of_modules() {
    let world = world("return [lookup('greeting'), lookup('list', merge => unique), lookup('m::own'), lookup('none', default_value => 1)]").await;
    let expected = json!(["hello you", [1, 2], 7, 1]);
    assert_eq!(value(world.run("m::p", json!({})).await), expected);
    let (kind, msg) = failure(world_that_asks_for_nothing().await);
    assert_eq!(kind, "bolt/pal-error");
    assert!(
        msg.contains("did not find a value for the name 'nothing'"),
        "{msg}"
    );
}

async fn world_that_asks_for_nothing() -> (String, serde_json::Value) {
    let world = world("return lookup('nothing')").await;
    world.run("m::p", json!({})).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_stay_what_they_were_when_the_plan_goes_on() {
    let mut world = world(
        "$first = lookup('list', merge => unique) run_task('m::hold', 'a') \
         return [$first, lookup('greeting'), lookup('list', merge => unique)]",
    )
    .await;
    let plan = world.launch("m::p", json!({})).await;
    world
        .until("the task is held", async || {
            world
                .nodes
                .ran()
                .contains(&"a m::hold".to_owned())
                .then_some(())
        })
        .await;
    world.stop().await;
    write(
        &world.module_file("../data/common.yaml"),
        "greeting: changed\nlist: [9]\n",
    );
    std::fs::remove_file(world.module_file("../data/more.yaml")).unwrap();
    world.nodes.let_go();
    world.start().await;
    assert_eq!(
        value(world.over(plan).await),
        json!([[1, 2], "hello you", [1, 2]])
    );
}
