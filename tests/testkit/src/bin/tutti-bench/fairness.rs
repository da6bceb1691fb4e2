//! Latency of honest clients with and without attacks, memory of half-open connections, and the
//! return of a fleet from one address.
//!
//! Invariant: figures are JSON objects like all others; a table of them in Markdown is written to
//! standard error, ready for `docs/benchmarks.md`.

use anyhow::Result;
use serde_json::json;
use testkit::fairness::latency::{self, LatencyFigure};
use testkit::fairness::{FairnessSite, FairnessSize, memory, reconnect};
use testkit::installation::Programs;

use crate::measurement::figure;

/// Measures all figures, or the latencies under the attacks with `attack` in their names.
pub(crate) async fn run(
    programs: &Programs,
    size: &FairnessSize,
    attack: Option<&str>,
) -> Result<()> {
    if attack.is_none() {
        memory_of_half_open(programs, size).await?;
        let measured = reconnect::measure(programs, size.agents).await?;
        figure("fairness, reconnection from one address", &json!(measured));
    }
    let is_chosen = |name: &str| attack.is_none_or(|text| name.contains(text));
    let mut table = Table::default();
    for scenario in size.scenarios() {
        if !is_chosen(&scenario.what()) {
            continue;
        }
        let site = FairnessSite::start(programs).await?;
        for measured in latency::measure(&site, scenario, size).await? {
            figure("fairness, latency under attack", &json!(measured));
            table.add(&measured);
        }
        site.stop().await?;
    }
    table.print();
    Ok(())
}

async fn memory_of_half_open(programs: &Programs, size: &FairnessSize) -> Result<()> {
    for (port, first_bytes) in size.measured_ports() {
        let site = FairnessSite::start(programs).await?;
        let connections = size.measured_connections;
        let measured = memory::measure(&site, port, first_bytes, connections).await?;
        figure(
            "fairness, memory of half-open connections",
            &json!(measured),
        );
        site.stop().await?;
    }
    Ok(())
}

/// Rows of latencies in Markdown.
#[derive(Debug, Default)]
struct Table(Vec<String>);

// === impl Table ===

impl Table {
    fn add(&mut self, figure: &LatencyFigure) {
        let LatencyFigure {
            attack,
            honest,
            without_ms,
            with_ms,
            factor,
            failed,
            samples,
            attack_actions_per_s,
            attacker_cpu,
            server_cpu_with,
            server_cpu_without,
            ..
        } = figure;
        self.0.push(format!(
            "| {attack} | {honest} | {:.2} / {:.2} | {:.2} / {:.2} | {:.2} / {:.2} | \
             {failed} of {samples} | {attack_actions_per_s:.0} | {attacker_cpu:.2} | \
             {server_cpu_without:.2} / {server_cpu_with:.2} |",
            without_ms.p50, without_ms.p99, with_ms.p50, with_ms.p99, factor.p50, factor.p99,
        ));
    }

    #[expect(clippy::print_stderr, reason = "standard output is for JSON")]
    fn print(&self) {
        eprintln!(
            "| attack | honest action | without, ms (p50 / p99) | with, ms | factor | failed | \
             attack's actions /s | attacker CPU | server CPU without / with |\n\
             |---|---|---|---|---|---|---|---|---|"
        );
        for row in &self.0 {
            eprintln!("{row}");
        }
    }
}
