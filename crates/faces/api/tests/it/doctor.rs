//! `GET /tutti/v1/doctor`: versions of agents, brokers, and parts that have not started.

use serde_json::json;

use crate::agents::Manner;
use crate::world::World;

#[tokio::test]
async fn a_diagnosis_counts_agents_by_version_and_names_brokers() {
    let world = World::new().await;
    world.nodes(3, &Manner::default());
    let told = world.ok("/tutti/v1/doctor").await;
    let agents = &told["agents"];
    let of_tutti: u64 = agents["tutti"]
        .as_object()
        .unwrap()
        .values()
        .map(|it| it.as_u64().unwrap())
        .sum();
    assert_eq!(of_tutti + agents["stock"].as_u64().unwrap(), 3, "{told}");
    let brokers = told["brokers"].as_array().unwrap();
    let nodes: u64 = brokers.iter().map(|it| it["nodes"].as_u64().unwrap()).sum();
    assert_eq!(nodes, 3, "{told}");
    assert_eq!(told["faults"], json!([]));
    assert_eq!(told["code_obstacles"], json!([]));
    assert_eq!(told["database_fault"], json!(null));
    assert!(told["time"].as_str().unwrap().starts_with("20"));
}
