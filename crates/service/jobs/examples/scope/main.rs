//! A scope's way to its certnames, and the memory of what it is resolved with: `cargo run --release
//! -p jobs --example scope -- [NODES] [small|large]`.
//!
//! Embedded inventory and classifier stand over one SQLite, as in a server. The inventory is filled,
//! closed and opened again, so that its memory is that of a server that has just started. Prints
//! JSON.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod facts;

use std::sync::Arc;
use std::time::Instant;

use classifier::{Classifier, GroupInput, UnrestrictedEditor};
use inventory::{Inventory, NodeRecord};
use jobs::{FleetResolver, NodeResolver};
use pcp::Certname;
use serde_json::{Value, json};
use store::{Store, StoreConfig};
use tokio::task::JoinSet;

use facts::{Size, facts};

const ROUNDS: usize = 15;
/// Nodes that tell their facts at once.
const TELLING: usize = 64;

type Failable<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> Failable<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["fill", path, nodes, size] => fill(path, nodes.parse()?, size_of(size)?).await,
        [nodes, size] => Box::pin(measure(nodes, size)).await,
        _ => Err("how many nodes, and are they small or large?".into()),
    }
}

fn size_of(name: &str) -> Failable<Size> {
    let (interfaces, mounts, processors) = match name {
        "small" => (3, 10, 8),
        "large" => (12, 40, 32),
        _ => return Err("nodes are small or large".into()),
    };
    Ok(Size {
        interfaces,
        mounts,
        processors,
    })
}

async fn measure(nodes: &str, size: &str) -> Failable<()> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("tutti.db");
    // In a process of its own, which leaves no memory behind.
    let mut filling = std::process::Command::new(std::env::current_exe()?);
    filling.arg("fill").arg(&path).args([nodes, size]);
    if !filling.status()?.success() {
        return Err("the store was not filled".into());
    }
    let nodes: u64 = nodes.parse()?;
    let bytes = serde_json::to_string(&facts(1, size_of(size)?))?.len();

    let store = Store::open(&StoreConfig::sqlite(path)).await?;
    let empty = resident_kib()?;
    let (started, cpu) = (Instant::now(), cpu_ms()?);
    let inventory = Inventory::embedded(store.clone()).await?;
    let (seconds, cpu_seconds) = (started.elapsed().as_secs_f64(), (cpu_ms()? - cpu) / 1_000.0);
    let kib = resident_kib()?.saturating_sub(empty);
    println!(
        "{}",
        json!({"figure": "embedded inventory, opened", "nodes": nodes, "facts_bytes_each": bytes,
            "resident_mib": kib / 1_024, "kib_each": kib as f64 / nodes as f64, "seconds": seconds, "cpu_s": cpu_seconds})
    );
    scopes(store, inventory, nodes).await?;
    let kib = resident_kib()?.saturating_sub(empty);
    println!(
        "{}",
        json!({"figure": "after the questions", "resident_mib": kib / 1_024})
    );
    Ok(())
}

/// Nodes tell their facts.
async fn fill(path: &str, nodes: u64, size: Size) -> Failable<()> {
    let store = Store::open(&StoreConfig::sqlite(path)).await?;
    let inventory = Inventory::embedded(store.clone()).await?;
    let mut telling: JoinSet<Failable<()>> = JoinSet::new();
    for n in 0..nodes {
        if telling.len() >= TELLING
            && let Some(told) = telling.join_next().await
        {
            told??;
        }
        let inventory = inventory.clone();
        telling.spawn(async move {
            let certname = certname(n)?;
            let trusted = json!({"authenticated": "remote", "certname": certname.as_str(),
                "domain": "example.com", "extensions": {}, "hostname": format!("node{n:06}")});
            let record = NodeRecord {
                facts: Arc::new(facts(n, size)),
                trusted: Arc::new(trusted.as_object().cloned().unwrap_or_default()),
                environment: Some("production".to_owned()),
                timestamp: jiff::Timestamp::now(),
            };
            Ok(inventory.record_facts(&certname, record).await?)
        });
    }
    while let Some(told) = telling.join_next().await {
        told??;
    }
    store.close().await;
    Ok(())
}

async fn scopes(store: Store, inventory: Inventory, nodes: u64) -> Failable<()> {
    let classifier = Classifier::open(store).await?;
    let rule = json!([
        "and",
        ["=", ["fact", "os", "family"], "Debian"],
        ["~", "name", "^node\\d+\\.example\\.com$"],
        [
            ">=",
            ["fact", "memory", "system", "total_bytes"],
            "1000000000"
        ]
    ]);
    let by_rule = group(&classifier, "By rule", rule).await?;
    let pins = (0..nodes).map(|n| json!(["=", "name", format!("node{n:06}.example.com")]));
    let pins: Vec<Value> = std::iter::once(json!("or")).chain(pins).collect();
    let by_pins = group(&classifier, "By list", Value::Array(pins)).await?;
    let fleet = FleetResolver::new(inventory, classifier);
    let pql = json!(
        "inventory[certname] { facts.os.family = \"Debian\" and facts.role ~ \"^(web|db)$\" }"
    );
    let names: Vec<String> = (0..nodes)
        .map(|n| format!("node{n:06}.example.com"))
        .collect();
    let expected = usize::try_from(nodes)?;

    let mut took: [Vec<[f64; 2]>; 5] = Default::default();
    for _ in 0..ROUNDS {
        let started = Started::now()?;
        let listed = names.iter().map(|name| name.parse::<Certname>());
        let listed = listed.collect::<Result<Vec<_>, _>>()?;
        took[0].push(started.until(listed.len(), expected)?);
        for (at, group) in [(1, &by_rule), (2, &by_pins)] {
            let started = Started::now()?;
            let found = fleet.nodes_of_group(group).await?;
            took[at].push(started.until(found.len(), expected)?);
        }
        let started = Started::now()?;
        let found = fleet.query_certnames(&pql).await?;
        took[3].push(started.until(found.len(), expected)?);
        let started = Started::now()?;
        let found = fleet.classified_environments(&listed).await?;
        took[4].push(started.until(found.len(), expected)?);
    }
    let what = [
        "list",
        "group by rule",
        "group by pins",
        "PQL",
        "environments of a list",
    ];
    for (what, took) in what.into_iter().zip(took) {
        println!(
            "{}",
            json!({"figure": "certnames resolved", "nodes": nodes, "by": what,
            "took": told(&took)})
        );
    }
    Ok(())
}

/// A new group's id.
async fn group(classifier: &Classifier, name: &str, rule: Value) -> Failable<String> {
    let root = classifier::GroupId::ROOT.to_string();
    let group = json!({"name": name, "parent": root, "rule": rule, "classes": {}});
    let made = classifier
        .create(GroupInput::parse(&group)?, UnrestrictedEditor)
        .await?;
    Ok(made.group.ok_or("no group")?.id.to_string())
}

/// The clock of the wall and that of the processors, which other programs do not stop.
struct Started {
    at: Instant,
    cpu_ms: f64,
}

impl Started {
    fn now() -> Failable<Self> {
        let cpu_ms = cpu_ms()?;
        Ok(Self {
            at: Instant::now(),
            cpu_ms,
        })
    }

    /// Milliseconds of both, if all were found.
    fn until(&self, found: usize, expected: usize) -> Failable<[f64; 2]> {
        let ms = self.at.elapsed().as_secs_f64() * 1_000.0;
        match found == expected {
            true => Ok([ms, cpu_ms()? - self.cpu_ms]),
            false => Err(format!("{found} of {expected} nodes were found").into()),
        }
    }
}

/// What all threads of this process have used, in milliseconds.
fn cpu_ms() -> Failable<f64> {
    let mut ns = 0_u64;
    for thread in std::fs::read_dir("/proc/self/task")? {
        let used = std::fs::read_to_string(thread?.path().join("schedstat"))?;
        let used = used.split(' ').next().ok_or("no schedstat")?;
        ns += used.parse::<u64>()?;
    }
    Ok(ns as f64 / 1e6)
}

fn told(took: &[[f64; 2]]) -> Value {
    let sorted = |which: usize| {
        let mut ms: Vec<f64> = took.iter().map(|both| both[which]).collect();
        ms.sort_by(f64::total_cmp);
        json!({"min": ms.first(), "p50": ms.get(ms.len() / 2), "max": ms.last()})
    };
    json!({"wall_ms": sorted(0), "cpu_ms": sorted(1)})
}

fn certname(n: u64) -> Failable<Certname> {
    Ok(format!("node{n:06}.example.com").parse()?)
}

fn resident_kib() -> Failable<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    Ok(line
        .ok_or("no VmRSS")?
        .trim()
        .trim_end_matches("kB")
        .trim()
        .parse()?)
}
