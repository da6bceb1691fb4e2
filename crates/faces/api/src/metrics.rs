//! `GET /metrics`: metrics in the text format of Prometheus.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::SharedApiContext;

pub(crate) async fn metrics(State(api): State<SharedApiContext>) -> impl IntoResponse {
    let mut text = String::new();
    let jobs = api.jobs.metrics();
    let counters: [(&str, &str, &AtomicU64); 12] = [
        ("jobs_created", "Jobs that were made.", &jobs.jobs_created),
        (
            "runs_started",
            "Runs that were marked as running.",
            &jobs.runs_started,
        ),
        (
            "runs_ended",
            "Runs that ended, whatever way.",
            &jobs.runs_ended,
        ),
        (
            "runs_errored",
            "Runs that could not run or whose end is unknown.",
            &jobs.runs_errored,
        ),
        (
            "requests_resent",
            "Requests sent again, never seen by the agent.",
            &jobs.requests_resent,
        ),
        (
            "status_queries",
            "Questions to agents about runs.",
            &jobs.status_queries,
        ),
        (
            "late_outcomes",
            "Outcomes of runs that were given up.",
            &jobs.late_outcomes,
        ),
        (
            "forged_messages",
            "Messages for the run of another node.",
            &jobs.forged_messages,
        ),
        (
            "ignored_messages",
            "Messages without a waiting request.",
            &jobs.ignored_messages,
        ),
        (
            "unasked_output",
            "Pieces of output that came unasked.",
            &jobs.unasked_output,
        ),
        (
            "commit_failures",
            "Commits that were tried again.",
            &jobs.commit_failures,
        ),
        (
            "refused_changes",
            "Changes that the store refused for good; look at the log.",
            &jobs.refused_changes,
        ),
    ];
    for (name, help, counter) in counters {
        write_counter(
            &mut text,
            &format!("tutti_{name}_total"),
            "counter",
            help,
            counter,
        );
    }
    let gauges: [(&str, &str, &AtomicU64); 3] = [
        ("runs_in_flight", "Runs that hold a slot.", &jobs.in_flight),
        ("runs_queued", "Runs that wait for a slot.", &jobs.queued),
        (
            "pending_changes",
            "Changes that wait for a commit.",
            &jobs.pending_changes,
        ),
    ];
    for (name, help, gauge) in gauges {
        write_counter(&mut text, &format!("tutti_{name}"), "gauge", help, gauge);
    }
    engines(&mut text, &api);
    let connected = AtomicU64::new(api.fabric.connected_nodes().len() as u64);
    write_counter(
        &mut text,
        "tutti_nodes_connected",
        "gauge",
        "Nodes that are connected.",
        &connected,
    );
    for source in &api.info.metrics {
        text.push_str(&source.text());
    }
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// The metrics of the engines other than jobs.
fn engines(text: &mut String, api: &SharedApiContext) {
    let (access, audit) = (api.access.metrics(), api.audit.metrics());
    let (webhooks, launch_counters) = (api.webhooks.metrics(), &api.launch_counters);
    let counters: [(&str, &str, &AtomicU64); 13] = [
        ("logins", "Logins that succeeded.", &access.logins),
        (
            "failed_logins",
            "Logins that did not, lockouts among them.",
            &access.failed_logins,
        ),
        (
            "lockouts",
            "Logins refused because of earlier failures.",
            &access.lockouts,
        ),
        (
            "token_cache_hits",
            "Tokens known from memory.",
            &access.cache_hits,
        ),
        (
            "token_cache_misses",
            "Tokens that the store was asked about.",
            &access.cache_misses,
        ),
        (
            "audit_entries",
            "Entries of the audit that were written.",
            &audit.entries,
        ),
        (
            "audit_failures",
            "Times that entries of the audit could not be written.",
            &audit.failures,
        ),
        (
            "webhook_deliveries",
            "Messages that a receiver took.",
            &webhooks.delivered,
        ),
        (
            "webhook_failures",
            "Attempts to tell a receiver that failed.",
            &webhooks.failures,
        ),
        (
            "schedules_launched",
            "Jobs that the clock started.",
            &launch_counters.launched,
        ),
        (
            "schedules_late",
            "Of these, more than a minute late.",
            &launch_counters.late,
        ),
        (
            "schedules_refused",
            "Slots whose job was refused; the audit says why.",
            &launch_counters.refused,
        ),
        (
            "schedules_skipped",
            "Times that slots were left out.",
            &launch_counters.skipped,
        ),
    ];
    for (name, help, counter) in counters {
        write_counter(
            text,
            &format!("tutti_{name}_total"),
            "counter",
            help,
            counter,
        );
    }
}

fn write_counter(text: &mut String, name: &str, kind: &str, help: &str, value: &AtomicU64) {
    let value = value.load(Ordering::Relaxed);
    let lines = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    text.push_str(&lines);
}
