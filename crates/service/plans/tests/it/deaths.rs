//! The engine is dropped at random awaits, repeatedly; and the store is lost while jobs are
//! created.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::both;

use crate::effects::Mishap;
use crate::programs::steady;
use crate::world::World;

both!(whenever_it_dies_plans_end_as_if_it_had_not);

const DEATHS: u64 = 12;

async fn whenever_it_dies_plans_end_as_if_it_had_not() {
    let mut world = World::new().await;
    let mut plans: Vec<(i64, &str, Value)> = Vec::new();
    for (name, result) in steady() {
        for _ in 0..3 {
            plans.push((world.run(name).await, name, result.clone()));
        }
    }
    for death in 0..DEATHS {
        // Some crashes come at once, some later.
        tokio::time::sleep(Duration::from_millis(death * 7 % 31)).await;
        world.kill().await;
        world.start().await;
        for (plan, name, _) in &plans {
            if *name == "asking" {
                let step = "2".parse().unwrap();
                // A plan may not ask yet, or no longer.
                let _ = world
                    .plans()
                    .answer(*plan, step, "ann", &json!("yes"), false)
                    .await;
            }
        }
    }
    for (plan, name, result) in &plans {
        if *name == "asking" {
            world.asks(*plan).await;
            let step = "2".parse().unwrap();
            // The plan may have been answered already.
            let _ = world
                .plans()
                .answer(*plan, step, "ann", &json!("yes"), false)
                .await;
        }
        assert_eq!(
            world.over(*plan).await,
            ("success".to_owned(), result.clone()),
            "{name}"
        );
    }
    let numbers: Vec<i64> = plans.iter().map(|(plan, ..)| *plan).collect();
    world.check_ledger(&numbers).await;
    for (plan, name, _) in &plans {
        if *name == "sequence" {
            let kinds = world.kinds(*plan).await;
            let said = kinds.iter().filter(|kind| *kind == "out_message").count();
            assert_eq!(said, 8, "each message is told once: {kinds:?}");
        }
    }
}

#[tokio::test]
async fn where_the_store_is_lost_the_journal_tells_what_was_made() {
    let world = World::new().await;
    world.mishaps.lock().unwrap().extend([
        Mishap::After,
        Mishap::Before,
        Mishap::Before,
        Mishap::After,
        Mishap::After,
    ]);
    let mut plans = Vec::new();
    for (name, result) in steady() {
        if name != "asking" {
            plans.push((world.run(name).await, name, result));
        }
    }
    for (plan, name, result) in &plans {
        assert_eq!(
            world.over(*plan).await,
            ("success".to_owned(), result.clone()),
            "{name}"
        );
    }
    assert!(world.mishaps.lock().unwrap().is_empty());
    let numbers: Vec<i64> = plans.iter().map(|(plan, ..)| *plan).collect();
    world.check_ledger(&numbers).await;
}
