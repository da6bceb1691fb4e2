//! Readers that run in parallel to deployments always see one whole version.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::world::World;

const MODULES: usize = 5;
/// `TUTTI_CODE_DEPLOYS` sets another number.
const DEPLOYS: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_never_sees_two_versions_nor_a_missing_file() {
    let world = World::new();
    world.add_modules(MODULES);
    write(&world, 0);
    world.deploy("production").await.unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let reader = std::thread::spawn({
        let (live, stop) = (world.live("production"), Arc::clone(&stop));
        move || read(&live, &stop)
    });
    let deploys = std::env::var("TUTTI_CODE_DEPLOYS");
    let deploys = deploys.map_or(DEPLOYS, |text| text.parse().unwrap());
    for number in 1..=deploys {
        write(&world, number);
        world.deploy("production").await.unwrap();
    }
    stop.store(true, Ordering::Relaxed);
    let (looks, seen) = reader.join().unwrap();
    assert!(looks > deploys, "{looks}");
    assert!(seen.len() > 2, "{seen:?}");
}

fn write(world: &World, number: usize) {
    let text = number.to_string();
    world.control().write("VERSION", &text).commit();
    for module in 0..MODULES {
        world
            .at(&format!("m{module}"))
            .write("VERSION", &text)
            .commit();
    }
}

/// Reads like Puppet: follows the link once, then reads everything below its target.
fn read(live: &std::path::Path, stop: &AtomicBool) -> (usize, BTreeSet<String>) {
    let mut seen = BTreeSet::new();
    let mut looks = 0;
    while !stop.load(Ordering::Relaxed) {
        let root: PathBuf = std::fs::read_link(live).unwrap();
        let version = std::fs::read_to_string(root.join("VERSION")).unwrap();
        for module in 0..MODULES {
            let path = root.join(format!("modules/m{module}/VERSION"));
            assert_eq!(std::fs::read_to_string(path).unwrap(), version);
        }
        seen.insert(version);
        looks += 1;
    }
    (looks, seen)
}
