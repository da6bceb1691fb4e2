//! `tutti report show ID`. Main type: [`Options`].

use std::collections::BTreeMap;

use api_types::{RunReportDocument, RunReportEvent, RunReportLog, RunReportResource};

use super::list::{describe_status, run_time, start};
use super::style_run_status;
use crate::client::ApiClient;
use crate::present::{Fields, OutputOptions};
use crate::terminal::{
    escape_control, escaped_name, style_dim, style_failure, style_heading, style_warning,
};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, VerbResult};

/// Arguments of `tutti report show`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Id of the report, or its first digits
    report: String,
    /// Messages to show: all, from warnings on, or none
    #[arg(long, value_enum, default_value_t = ShownLogs::Notices, value_name = "LOGS")]
    logs: ShownLogs,
    #[command(flatten)]
    shown: OutputOptions,
}

/// The messages that are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum ShownLogs {
    /// All messages, also those for debugging
    All,
    /// Notices, warnings and errors
    Notices,
    /// Warnings and errors
    Warnings,
    /// No messages
    None,
}

pub(super) async fn run(options: &Options, client: &ApiClient) -> VerbResult {
    let path = ["tutti", "v1", "reports", &options.report];
    let report: RunReportDocument = client.get(&path, &[]).await?;
    options.shown.format.present(&report, |report| {
        print_header(report);
        print_resources(&report.resources);
        print_logs(&report.logs, options.logs);
        for note in &report.notes {
            say!("\n{}", style_warning(escape_control(note)));
        }
    })?;
    Ok(match report.item.status.as_str() {
        "failed" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

fn print_header(report: &RunReportDocument) {
    let item = &report.item;
    Fields::default()
        .text("report", &item.id)
        .value("node", escaped_name(&item.node))
        .value("status", describe_status(item))
        .optional_text("environment", item.environment.as_deref())
        .optional("started", start(item))
        .optional("took", run_time(item))
        .value("received", item.receive_time)
        .optional_text("job", item.job.as_deref())
        .text("transaction", &item.transaction_uuid)
        .optional_text("catalog", item.catalog_uuid.as_deref())
        .optional_text("code id", item.code_id.as_deref())
        .optional_text("version", item.configuration_version.as_deref())
        .optional(
            "cached catalog",
            cached_catalog(item.cached_catalog_status.as_deref()),
        )
        .optional_text("puppet", item.puppet_version.as_deref())
        .optional("resources", counts(report, "resources"))
        .optional("events", counts(report, "events"))
        .print();
}

/// `None` if the agent used the catalog that it had just got.
fn cached_catalog(status: Option<&str>) -> Option<String> {
    match status? {
        "not_used" => None,
        "explicitly_requested" => Some("used, as requested".to_owned()),
        "on_failure" => Some(style_failure("used, because there was no new one")),
        other => Some(escape_control(other)),
    }
}

/// The counts of a category that are not 0: `12 total, 1 failed`.
fn counts(report: &RunReportDocument, category: &str) -> Option<String> {
    let of_category = report.metrics.iter();
    let of_category = of_category.filter(|metric| metric.category == category);
    let counts: Vec<String> = of_category
        .filter(|metric| metric.value.as_f64() != Some(0.0))
        .map(|metric| {
            let name = metric.name.replace('_', " ");
            format!("{} {}", metric.value, escape_control(&name))
        })
        .collect();
    Some(counts.join(", ")).filter(|text| !text.is_empty())
}

fn print_resources(resources: &[RunReportResource]) {
    if resources.is_empty() {
        return;
    }
    let mut by_status: BTreeMap<usize, Vec<&RunReportResource>> = BTreeMap::new();
    for resource in resources {
        by_status
            .entry(rank(&resource.status))
            .or_default()
            .push(resource);
    }
    say!("\n{}", style_heading("Resources"));
    for resource in by_status.into_values().flatten() {
        let name = format!("{}[{}]", resource.kind, resource.title);
        let place = match place(resource.file.as_deref(), resource.line) {
            place if place.is_empty() => place,
            place => format!("  {}", style_dim(place)),
        };
        let status = style_run_status(&resource.status);
        say!("  {status}  {}{place}", escape_control(&name));
        for event in &resource.events {
            print_event(event);
        }
    }
}

/// The most important ones come first.
fn rank(status: &str) -> usize {
    let order = [
        "failed",
        "corrective",
        "changed",
        "noop",
        "out_of_sync",
        "skipped",
    ];
    order
        .iter()
        .position(|known| *known == status)
        .unwrap_or(order.len())
}

fn place(file: Option<&str>, line: Option<i64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!("{}:{line}", escape_control(file)),
        (Some(file), None) => escape_control(file),
        (None, _) => String::new(),
    }
}

/// The property with its values; the message if there is none.
fn print_event(event: &RunReportEvent) {
    let message = event.message.as_deref().unwrap_or_default();
    let text = match &event.property {
        // agents send the checksum of a new content in base64, and in the message as it is
        Some(property) if property != "content" && !event.desired_value.is_empty() => format!(
            "{property}: {} → {}",
            shown_value(&event.previous_value),
            shown_value(&event.desired_value)
        ),
        _ => message.to_owned(),
    };
    let first = text.lines().next().unwrap_or_default();
    say!(
        "      {} {}",
        style_run_status(&event.status),
        escape_control(first)
    );
    if event.status == "failure" {
        for line in message.lines() {
            say!("        {}", escape_control(line));
        }
    }
}

fn shown_value(value: &str) -> &str {
    match value {
        "" => "''",
        value => value,
    }
}

fn print_logs(logs: &[RunReportLog], shown: ShownLogs) {
    let is_shown = |log: &&RunReportLog| match shown {
        ShownLogs::All => true,
        ShownLogs::Notices => !matches!(log.level.as_str(), "debug" | "info"),
        ShownLogs::Warnings => !matches!(log.level.as_str(), "debug" | "info" | "notice"),
        ShownLogs::None => false,
    };
    let mut lines = logs.iter().filter(is_shown).peekable();
    if lines.peek().is_none() {
        return;
    }
    say!("\n{}", style_heading("Messages"));
    for log in lines {
        let time = log
            .time
            .map(|time| format!("{} ", time.0.strftime("%H:%M:%S")));
        let source = match log.source.as_str() {
            "" | "Puppet" => String::new(),
            source => format!("{}: ", escape_control(source)),
        };
        for (number, line) in log.message.lines().enumerate() {
            let line = escape_control(line);
            match number {
                0 => say!(
                    "  {}{} {}{line}",
                    style_dim(time.as_deref().unwrap_or_default()),
                    style_level(&log.level),
                    style_dim(&source)
                ),
                _ => say!("      {line}"),
            }
        }
    }
}

fn style_level(level: &str) -> String {
    let text = escape_control(level);
    match level {
        "err" | "alert" | "emerg" | "crit" => style_failure(text),
        "warning" => style_warning(text),
        "debug" | "info" => style_dim(text),
        _ => text,
    }
}
