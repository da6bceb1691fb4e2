//! Full disks: the server's while results are written, and an agent's spool.
//!
//! The disks are tiny tmpfs, which only root can mount; without that right the tests print that
//! they were not run.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::world::{World, logged, until};

const NODE: &str = "node0.test";

/// A small disk, unmounted on drop.
struct TinyDisk {
    at: PathBuf,
}

/// A file that takes up all the space of a disk.
struct Filler(PathBuf);

// === impl TinyDisk ===

impl TinyDisk {
    /// Mounts a disk at `at` with the content of that directory. `None`: this user may not mount.
    fn mount(at: &Path, size: &str) -> Option<Self> {
        let kept = at.with_extension("before");
        let options = format!("size={size},mode=0700");
        std::fs::create_dir_all(at).unwrap();
        std::fs::rename(at, &kept).unwrap();
        std::fs::create_dir(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at)
            .output();
        if !mount.is_ok_and(|output| output.status.success()) {
            println!("NOT RUN: this user may not mount a small disk; run the test as root");
            return None;
        }
        let copied = Command::new("cp")
            .arg("-a")
            .arg(kept.join("."))
            .arg(at)
            .status();
        assert!(copied.unwrap().success());
        Some(Self { at: at.to_owned() })
    }

    /// Writes until the disk is full.
    fn fill(&self) -> Filler {
        let path = self.at.join("filler");
        let mut file = File::create(&path).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
        Filler(path)
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.at).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

impl Filler {
    fn free(self) {
        std::fs::remove_file(self.0).unwrap();
    }
}

async fn failures(world: &World) -> u64 {
    let request = world.client.request(reqwest::Method::GET, "/metrics");
    let text = request.send().await.unwrap().text().await.unwrap();
    let figure = text
        .lines()
        .find_map(|line| line.strip_prefix("tutti_commit_failures_total "));
    figure.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

/// A task that has begun on the node and will write a large result and its line in the ledger.
async fn waiting(world: &World, name: &str) -> (u64, crate::world::Gate) {
    let gate = world.gate(
        name,
        "echo run >> \"$PT_begun.ledger\"",
        "head -c 300000 /dev/zero | tr '\\0' x",
    );
    let job = world.job(name, &[NODE], gate.params()).await;
    gate.begun().await;
    (job, gate)
}

async fn ended_well(world: &World, name: &str, job: u64) {
    let nodes = world.ended(job).await;
    assert_eq!(nodes[0]["state"], json!("finished"), "{nodes:?}");
    let output = nodes[0]["result"]["_output"].as_str().unwrap();
    assert_eq!(output.len(), 300_000);
    let ledger = world.root().join(format!("{name}-begun.ledger"));
    assert_eq!(std::fs::read_to_string(ledger).unwrap(), "run\n");
}

#[tokio::test]
async fn no_result_is_lost_when_the_servers_disk_is_full() {
    let installation = crate::installation("");
    let Some(disk) = TinyDisk::mount(&installation.data_dir(), "16m") else {
        return;
    };
    let mut world = World::of(installation, &[NODE]).await;
    world.shell("quick", &[], "echo done");
    let before = world.job("quick", &[NODE], json!({})).await;
    world.client.wait(before).await.unwrap();

    let (job, gate) = waiting(&world, "slow").await;
    let filler = disk.fill();
    gate.open();
    until("a failed commit", || async { failures(&world).await > 0 }).await;
    logged(
        world.server.as_ref().unwrap(),
        "the disk of the store is full",
    )
    .await;
    // Existing data can be read, no new request is accepted, and the reason is reported.
    world.client.nodes(before).await.unwrap();
    let refused = world.client.run_task("quick", &[NODE], json!({})).await;
    let words = format!("{:#}", refused.unwrap_err());
    assert!(words.contains("disk") && words.contains("full"), "{words}");
    filler.free();
    ended_well(&world, "slow", job).await;

    let (job, gate) = waiting(&world, "again").await;
    let filler = disk.fill();
    gate.open();
    let failed = failures(&world).await;
    until("a failed commit", || async {
        failures(&world).await > failed
    })
    .await;
    world.kill_server().await;
    filler.free();
    world.start_server().await;
    ended_well(&world, "again", job).await;
    let run = world.run("quick", NODE, json!({})).await;
    assert_eq!(run["state"], json!("finished"), "{run}");
    world.stop().await;
}

#[tokio::test]
async fn an_agent_whose_spool_is_full_says_so_and_works_again_when_it_is_not() {
    let mut world = World::start(&[]).await;
    let spool = world.root().join("spool");
    let Some(disk) = TinyDisk::mount(&spool, "4m") else {
        return world.stop().await;
    };
    let extra = format!("spool-dir : {spool:?}\n");
    world.start_agent(NODE, &extra).await;
    world.client.connected(1).await.unwrap();
    world.shell("mark", &["mark"], "touch \"$PT_mark\"");

    let filler = disk.fill();
    let mark = world.root().join("mark");
    let run = world.run("mark", NODE, json!({"mark": mark})).await;
    assert_eq!(run["state"], json!("errored"), "{run}");
    assert!(!mark.exists(), "it said that it did not run: {run}");
    assert!(run.to_string().contains("o space left"), "{run}");
    filler.free();
    let run = world.run("mark", NODE, json!({"mark": mark})).await;
    assert_eq!(run["state"], json!("finished"), "{run}");

    // Full while the task writes: it is not reported as succeeded with incomplete output.
    let (job, gate) = waiting(&world, "slow").await;
    let filler = disk.fill();
    gate.open();
    let run = world.ended(job).await.remove(0);
    if run["state"] == json!("finished") {
        let output = run["result"]["_output"].as_str().unwrap();
        let info = &run["result"]["_output_info"];
        assert!(
            output.len() == 300_000 || info["truncated"] == true,
            "{info}"
        );
    } else {
        let told = run.to_string();
        for part in [
            "the file system of the spool",
            spool.to_str().unwrap(),
            "was full",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    filler.free();
    let ledger = world.root().join("slow-begun.ledger");
    assert_eq!(std::fs::read_to_string(ledger).unwrap(), "run\n");
    let (job, gate) = waiting(&world, "after").await;
    gate.open();
    ended_well(&world, "after", job).await;
    world.stop().await;
}
