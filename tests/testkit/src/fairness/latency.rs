//! Latency of honest actions with and without an attack: [`measure`] and [`LatencyFigure`].
//!
//! Invariant: quiet and attacked phases alternate, each factor compares two neighbours, and the
//! median over the rounds counts, so that other load on the machine affects both sides alike.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::attack::{Attack, AttackCost, RunningAttack};
use super::probe::HonestProbe;
use super::site::FairnessSite;
use super::{FairnessSize, Scenario};
use crate::figures::{Percentiles, median};
use crate::machine;

/// Maximum duration of one honest action; a longer one counts as failed.
const SAMPLE_PATIENCE: Duration = Duration::from_secs(60);

/// The latency of one honest action, with one attack and without.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyFigure {
    /// Description of the attack.
    pub attack: String,
    /// Description of the honest action.
    pub honest: String,
    /// Latency without the attack, in milliseconds: medians over the rounds.
    pub without_ms: Latency,
    /// Latency with the attack, in milliseconds: medians over the rounds.
    pub with_ms: Latency,
    /// Latency with the attack divided by that without: medians over the rounds.
    pub factor: Latency,
    /// Number of pairs of phases.
    pub rounds: usize,
    /// Number of honest actions under attack, over all rounds.
    pub samples: usize,
    /// Number of those actions that failed.
    pub failed: usize,
    /// Error of the first failed action; `None` if none failed.
    pub failure: Option<String>,
    /// Connections, logins or requests of the attacker per second.
    pub attack_actions_per_s: f64,
    /// Processor time of the attacker, in cores.
    pub attacker_cpu: f64,
    /// Processor time of the server without the attack, in cores.
    pub server_cpu_without: f64,
    /// Processor time of the server with the attack, in cores.
    pub server_cpu_with: f64,
    /// Load average of the machine at the end.
    pub load: f64,
}

/// Latency of one action in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    /// The median of the samples.
    pub p50: f64,
    /// The 99th percentile of the samples.
    pub p99: f64,
}

/// The samples of one phase, for every probe, in milliseconds.
#[derive(Debug, Default)]
struct Phase {
    samples_ms: Vec<Vec<f64>>,
    failures: Vec<Vec<String>>,
    server_cpu: f64,
}

/// A quiet phase, the attacked one after it, and the attack's cost.
#[derive(Debug)]
struct Round {
    quiet: Phase,
    attacked: Phase,
    cost: AttackCost,
}

/// Measures all honest actions of a scenario.
pub async fn measure(
    site: &FairnessSite,
    scenario: Scenario,
    size: &FairnessSize,
) -> Result<Vec<LatencyFigure>> {
    let attack = scenario.attack(site);
    let mut probes = scenario.probes(site)?;
    let mut rounds = Vec::new();
    for _ in 0..size.rounds {
        rounds.push(round(site, &attack, &mut probes, size).await?);
    }
    let figures = probes
        .iter()
        .enumerate()
        .map(|(index, probe)| figure(scenario, probe, index, &rounds));
    figures.collect()
}

async fn round(
    site: &FairnessSite,
    attack: &Attack,
    probes: &mut [HonestProbe],
    size: &FairnessSize,
) -> Result<Round> {
    let quiet = phase(site, probes, size).await?;
    let running = RunningAttack::start(attack.clone()).await?;
    let attacked = phase(site, probes, size).await?;
    let cost = running.stop().await?;
    let failed = quiet.failures.iter().flatten().next();
    if let Some(failure) = failed {
        anyhow::bail!("an honest client failed without an attack: {failure}");
    }
    Ok(Round {
        quiet,
        attacked,
        cost,
    })
}

/// Samples the probes in turn. The first sample of each does not count, so that kept connections
/// are open and the effects of the previous phase are over.
async fn phase(
    site: &FairnessSite,
    probes: &mut [HonestProbe],
    size: &FairnessSize,
) -> Result<Phase> {
    let mut phase = Phase {
        samples_ms: vec![Vec::new(); probes.len()],
        failures: vec![Vec::new(); probes.len()],
        server_cpu: 0.0,
    };
    for (index, probe) in probes.iter_mut().enumerate() {
        if let Err(error) = sample_ms(probe).await {
            phase.failures[index].push(format!("{error:#}"));
        }
    }
    let (started, cpu) = (Instant::now(), machine::cpu_seconds(site.server.pid())?);
    let mut turns = 0;
    while turns < size.samples || started.elapsed() < size.phase {
        for (index, probe) in probes.iter_mut().enumerate() {
            match sample_ms(probe).await {
                Ok(ms) => phase.samples_ms[index].push(ms),
                Err(error) => phase.failures[index].push(format!("{error:#}")),
            }
        }
        turns += 1;
    }
    let cpu = machine::cpu_seconds(site.server.pid())? - cpu;
    phase.server_cpu = cpu / started.elapsed().as_secs_f64();
    Ok(phase)
}

async fn sample_ms(probe: &mut HonestProbe) -> Result<f64> {
    let started = Instant::now();
    let sample = tokio::time::timeout(SAMPLE_PATIENCE, Box::pin(probe.sample()));
    sample.await.context("no answer in time")??;
    Ok(started.elapsed().as_secs_f64() * 1_000.0)
}

fn figure(
    scenario: Scenario,
    probe: &HonestProbe,
    index: usize,
    rounds: &[Round],
) -> Result<LatencyFigure> {
    let mut quiet = Vec::new();
    let mut attacked = Vec::new();
    for round in rounds {
        // A phase in which every sample failed has no latency; `failed` has their number.
        if let Ok(with) = Percentiles::of(round.attacked.samples_ms[index].clone()) {
            quiet.push(Percentiles::of(round.quiet.samples_ms[index].clone())?);
            attacked.push(with);
        }
    }
    let failures = || rounds.iter().flat_map(|it| &it.attacked.failures[index]);
    let succeeded = rounds.iter().map(|it| it.attacked.samples_ms[index].len());
    let factors = |of: fn(&Percentiles) -> f64| {
        let pairs = quiet.iter().zip(&attacked);
        median(pairs.map(|(quiet, attacked)| of(attacked) / of(quiet)))
    };
    Ok(LatencyFigure {
        attack: scenario.what(),
        honest: probe.what(),
        without_ms: Latency::medians(&quiet)?,
        with_ms: Latency::medians(&attacked)?,
        factor: Latency {
            p50: factors(|it| it.p50)?,
            p99: factors(|it| it.p99)?,
        },
        rounds: rounds.len(),
        samples: succeeded.sum::<usize>() + failures().count(),
        failed: failures().count(),
        failure: failures().next().cloned(),
        attack_actions_per_s: median(rounds.iter().map(|it| it.cost.actions_per_s))?,
        attacker_cpu: median(rounds.iter().map(|it| it.cost.attacker_cpu))?,
        server_cpu_without: median(rounds.iter().map(|it| it.quiet.server_cpu))?,
        server_cpu_with: median(rounds.iter().map(|it| it.attacked.server_cpu))?,
        load: machine::load_average()?,
    })
}

// === impl Latency ===

impl Latency {
    fn medians(phases: &[Percentiles]) -> Result<Self> {
        Ok(Self {
            p50: median(phases.iter().map(|it| it.p50))?,
            p99: median(phases.iter().map(|it| it.p99))?,
        })
    }
}
