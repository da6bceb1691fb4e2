//! Memory of the server after work that took much of it. Main function: [`Memory::of`].

use serde_json::json;
use testkit::service::Service;

use crate::world::{World, until};

/// Number of concurrent plans, each of which holds some 20 MiB at its end.
const PLANS: usize = 3;
const TEXTS: u32 = 60_000;
/// Smallest growth that a test can distinguish from the noise of a server that has just started.
const GROWTH_KIB_MIN: u64 = 40 << 10;

const GROW: &str = r#"
plan grow(Integer $texts) {
  $all = Integer[1, $texts].map |$n| { { "a key with some words, of ${n}" => "a value with some more words, of ${n}" } }
  return $all.size
}
"#;

/// Memory use of a process.
struct Memory {
    resident_kib: u64,
    /// The peak of resident memory.
    peak_kib: u64,
}

impl Memory {
    fn of(server: &Service) -> Self {
        let path = format!("/proc/{}/status", server.pid().as_raw_nonzero());
        let status = std::fs::read_to_string(path).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.unwrap().trim().trim_end_matches(" kB");
            kib.parse().unwrap()
        };
        Self {
            resident_kib: field("VmRSS:"),
            peak_kib: field("VmHWM:"),
        }
    }
}

#[tokio::test]
async fn memory_of_finished_plans_goes_back_to_the_system() {
    let world = World::start(&[]).await;
    world.plan_file("grow/plans/init.pp", GROW);
    let server = world.server.as_ref().unwrap();
    // The first plan loads data shared by all later ones: functions, types, database statements.
    run_at_once(&world, 1, 10).await;
    let before = Memory::of(server);

    run_at_once(&world, PLANS, TEXTS).await;
    let grown_kib = Memory::of(server).peak_kib - before.resident_kib;
    assert!(
        grown_kib > GROWTH_KIB_MIN,
        "it grew by {grown_kib} KiB only"
    );

    let kept_kib_max = grown_kib / 3;
    until("the memory is the system's again", || async {
        Memory::of(server).resident_kib < before.resident_kib + kept_kib_max
    })
    .await;
}

/// Runs this number of plans at once, and waits for all.
async fn run_at_once(world: &World, plans: usize, texts: u32) {
    let mut numbers = Vec::new();
    for _ in 0..plans {
        let parameters = json!({"texts": texts});
        numbers.push(world.run_plan("grow", &parameters).await.unwrap());
    }
    for number in numbers {
        let job = world.plan_over(number).await;
        assert_eq!(job["result"], json!(texts), "{job:#}");
    }
}
