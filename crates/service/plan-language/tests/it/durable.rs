//! Plans that continue after a restart of the server.

use serde_json::json;

use crate::world::{World, failure, value, write};

const PLAN: &str = "plan m::p() {\n\
    $one = run_task('m::echo', 'a', n => m::number())\n\
    $time = Timestamp.new()\n\
    $dice = run_task('m::echo', 'c', dice => [1, 2, 3, 4, 5, 6, 7, 8].shuffle).first['input']['dice']\n\
    out::message('between')\n\
    $two = run_task('m::hold', 'b')\n\
    $three = parallelize(['a', 'b', 'c']) |$n| { run_task('m::echo', $n, m => m::late()).first['node'] }\n\
    return [$one.first['input']['n'], $two.ok, $three, $time =~ Timestamp, $dice.length] }";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_goes_on_with_the_code_that_it_began_with() {
    let files = [
        ("m/plans/p.pp", PLAN),
        ("m/functions/number.pp", "function m::number() { 1 }"),
        ("m/functions/late.pp", "function m::late() { 2 }"),
    ];
    let mut world = World::new(&files).await;
    let plan = world.launch("m::p", json!({})).await;
    world
        .until("the task is held", async || {
            let row = world.store.plan_job(plan).await.unwrap().unwrap();
            assert_eq!(row.result, None);
            world
                .nodes
                .ran()
                .contains(&"b m::hold".to_owned())
                .then_some(())
        })
        .await;
    world.stop().await;
    write(
        &world.module_file("m/plans/p.pp"),
        "plan m::p() { fail('deployed meanwhile') }",
    );
    std::fs::remove_file(world.module_file("m/functions/number.pp")).unwrap();
    world.nodes.let_go();
    world.start().await;
    assert_eq!(
        value(world.over(plan).await),
        json!([1, true, ["a", "b", "c"], true, 8])
    );
    assert_eq!(world.told(plan, "out_message").await, ["between"]);
    let expected = [
        "a m::echo",
        "a m::echo",
        "b m::echo",
        "b m::hold",
        "c m::echo",
        "c m::echo",
    ];
    assert_eq!(world.nodes.ran(), expected, "each once");
    let (_, msg) = failure(world.run("m::p", json!({})).await);
    assert!(msg.contains("deployed meanwhile"), "{msg}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_plan_goes_on_from_its_failed_step() {
    let plan = "plan m::p() {\n\
                run_task('m::echo', 'a')\n\
                run_task('m::moody', 'b')\n\
                return run_task('m::echo', 'c').first['node'] }";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let plan = world.launch("m::p", json!({})).await;
    assert_eq!(failure(world.over(plan).await).0, "bolt/run-failure");
    world.nodes.repair();
    world.plans().resume(plan, "ann", None).await.unwrap();
    assert_eq!(value(world.over(plan).await), "c");
    let expected = ["a m::echo", "b m::moody", "b m::moody", "c m::echo"];
    assert_eq!(
        world.nodes.ran(),
        expected,
        "what was done is not done again"
    );
}
