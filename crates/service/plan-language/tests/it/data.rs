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

const GLOBAL: &str = "version: 5\nhierarchy:\n  - name: first\n    path: first.yaml\n  - name: rest\n    \
                      glob: 'more/*.yaml'\n";

#[tokio::test]
async fn the_global_layer_counts_first_and_merges_with_the_others() {
    let world = world(
        "return [lookup('greeting'), lookup('list', merge => unique), lookup('only'), lookup('m::own')]",
    )
    .await;
    let global = [
        ("global/hiera.yaml", GLOBAL),
        ("global/data/first.yaml", "greeting: \"first, %{who}\"\n"),
        ("global/data/more/a.yaml", "list: [0]\n"),
        ("global/data/more/b.yaml", "only: here\nlist: [1, 3]\n"),
    ];
    for (path, content) in global {
        write(&world.file(path), content);
    }
    let expected = json!(["first, you", [0, 1, 3, 2], "here", 7]);
    assert_eq!(value(world.run("m::p", json!({})).await), expected);
}

#[tokio::test]
async fn without_its_configuration_the_global_layer_has_common_yaml() {
    let world = world("return lookup('greeting')").await;
    write(
        &world.file("global/data/common.yaml"),
        "greeting: \"of all, %{who}\"\n",
    );
    assert_eq!(
        value(world.run("m::p", json!({})).await),
        json!("of all, you")
    );
}

/// Creates a plan that looks up `greeting`, in an environment whose hierarchy names this path.
async fn world_with_path(path: impl Fn(&World) -> String) -> World {
    let world = world("return lookup('greeting', default_value => 'none')").await;
    let hiera = format!(
        "version: 5\nhierarchy:\n  - name: elsewhere\n    path: {}\n",
        path(&world)
    );
    write(&world.module_file("../hiera.yaml"), &hiera);
    write(&world.file("elsewhere.yaml"), "greeting: elsewhere\n");
    world
}

#[tokio::test]
async fn an_environment_reads_no_files_elsewhere_and_the_global_layer_does() {
    let elsewhere = |world: &World| world.file("elsewhere.yaml").display().to_string();
    let world = world_with_path(elsewhere).await;
    assert_eq!(value(world.run("m::p", json!({})).await), json!("none"));
    let path = elsewhere(&world);
    let global = format!("version: 5\nhierarchy:\n  - name: elsewhere\n    path: {path}\n");
    write(&world.file("global/hiera.yaml"), &global);
    assert_eq!(
        value(world.run("m::p", json!({})).await),
        json!("elsewhere")
    );
}

#[tokio::test]
async fn an_environment_does_not_leave_what_the_global_layer_names_through_its_parent() {
    let upwards = |world: &World| {
        world
            .file("global/data/../../elsewhere.yaml")
            .display()
            .to_string()
    };
    let world = world_with_path(upwards).await;
    let global = "version: 5\nhierarchy:\n  - name: all\n    glob: '*.yaml'\n";
    write(&world.file("global/hiera.yaml"), global);
    write(&world.file("global/data/other.yaml"), "other: 1\n");
    assert_eq!(value(world.run("m::p", json!({})).await), json!("none"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_of_the_global_layer_stay_what_they_were_when_the_plan_goes_on() {
    let mut world = world(
        "$first = lookup('greeting') run_task('m::hold', 'a') return [$first, lookup('greeting')]",
    )
    .await;
    let data = world.file("global/data/common.yaml");
    write(&data, "greeting: before\n");
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
    write(&data, "greeting: after\n");
    world.nodes.let_go();
    world.start().await;
    assert_eq!(value(world.over(plan).await), json!(["before", "before"]));
}
