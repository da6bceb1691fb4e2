//! Facts of a real agent.

use reqwest::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use crate::world::World;

#[tokio::test]
async fn an_agent_that_connects_tells_its_facts_within_seconds() {
    let world = World::start(&["node0.test"]).await;
    let query = json!({"query":
        "inventory[certname, facts.kernel, trusted.certname, environment] { facts.kernel = 'Linux' }"});
    let deadline = Instant::now() + Duration::from_secs(60);
    let rows = loop {
        let asking = world
            .client
            .request(Method::POST, "/pdb/query/v4")
            .json(&query);
        let answer = asking.send().await.unwrap().error_for_status().unwrap();
        let rows: Value = answer.json().await.unwrap();
        if rows != json!([]) || Instant::now() > deadline {
            break rows;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    assert_eq!(rows[0]["certname"], "node0.test");
    assert_eq!(rows[0]["facts.kernel"], "Linux");
    assert_eq!(rows[0]["trusted.certname"], "node0.test");
    assert!(rows[0]["environment"].is_string(), "{rows}");
}
