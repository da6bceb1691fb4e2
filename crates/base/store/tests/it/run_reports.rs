//! Reports of runs, and the queue of PuppetDB's commands.

use store::{
    InventoryReportRow, InventoryReportWrite, ListPage, NewPuppetRunEvent, PuppetDbCommandRow,
    PuppetDbQueueSize, PuppetRunEventRow, RunReportDetailRow, RunReportFilter, RunReportRow,
    RunReportWrite, WebhookChange, WebhookProgress, WebhookRow,
};

use crate::engine::{Bench, both};

both!(
    a_run_has_one_report_and_a_node_a_bounded_number,
    reports_are_selected_by_node_status_and_job,
    a_report_and_its_summary_are_written_together,
    old_reports_go_and_those_of_a_deleted_node,
    a_report_is_found_by_the_start_of_its_id,
    commands_are_taken_in_order_and_data_is_replaced,
    a_queue_can_be_shortened,
    a_run_is_an_event_once_if_a_webhook_names_its_type,
    events_of_runs_go_when_they_are_told_or_old_or_too_many,
    reports_wait_for_programs_in_order_and_once
);

fn report(certname: &str, id: &str, received_ms: i64, status: &str) -> RunReportDetailRow {
    RunReportDetailRow {
        report: RunReportRow {
            report_id: id.to_owned(),
            certname: certname.to_owned(),
            transaction_uuid: format!("uuid-{id}"),
            received_ms,
            status: status.to_owned(),
            job_id: None,
            summary: format!("{{\"n\":{received_ms}}}"),
        },
        detail: vec![0, 255, 7],
    }
}

fn write(row: RunReportDetailRow, keep: u64) -> RunReportWrite {
    RunReportWrite {
        row,
        keep,
        command: None,
        event: None,
        programs: Vec::new(),
    }
}

/// The summary of a report, as the inventory keeps it.
fn summary(certname: &str, id: &str, job_id: Option<&str>) -> InventoryReportWrite {
    InventoryReportWrite {
        row: InventoryReportRow {
            certname: certname.to_owned(),
            transaction_uuid: format!("uuid-{id}"),
            received_ms: 5,
            report: "{}".to_owned(),
        },
        job_id: job_id.map(str::to_owned),
        keep: 2,
    }
}

async fn ids(bench: &Bench, filter: RunReportFilter) -> Vec<String> {
    let rows = bench.store.run_reports(&filter, ListPage::default()).await;
    rows.unwrap().into_iter().map(|row| row.report_id).collect()
}

fn of_node(certname: &str) -> RunReportFilter {
    RunReportFilter {
        certname: Some(certname.to_owned()),
        ..RunReportFilter::default()
    }
}

async fn a_run_has_one_report_and_a_node_a_bounded_number(bench: Bench) {
    let store = &bench.store;
    for (id, at) in [("a1", 1), ("a3", 3), ("a2", 2), ("a3", 4)] {
        let row = report("a", id, at, "changed");
        store.put_run_report(&write(row, 2), None).await.unwrap();
    }
    let other = report("b", "b1", 1, "failed");
    store.put_run_report(&write(other, 2), None).await.unwrap();
    assert_eq!(ids(&bench, of_node("a")).await, ["a3", "a2"]);
    assert_eq!(ids(&bench, of_node("b")).await, ["b1"]);
    let kept = store.run_report_details("a3").await.unwrap();
    assert_eq!(kept, [report("a", "a3", 4, "changed")]);
}

async fn reports_are_selected_by_node_status_and_job(bench: Bench) {
    let store = &bench.store;
    let rows = [
        ("a", "a1", 1, "changed"),
        ("a", "a2", 2, "failed"),
        ("b", "b1", 3, "failed"),
    ];
    for (certname, id, at, status) in rows {
        let row = report(certname, id, at, status);
        store.put_run_report(&write(row, 9), None).await.unwrap();
    }
    // The job's engine learns of the job after the agent has sent its report.
    for job_id in ["7", "8"] {
        let summary = summary("a", "a1", Some(job_id));
        store.put_inventory_report(&summary).await.unwrap();
    }
    let select = |certname: Option<&str>, status: Option<&str>, job: Option<&str>| {
        let filter = RunReportFilter {
            certname: certname.map(str::to_owned),
            status: status.map(str::to_owned),
            job_id: job.map(str::to_owned),
        };
        ids(&bench, filter)
    };
    assert_eq!(select(None, None, None).await, ["b1", "a2", "a1"]);
    assert_eq!(select(None, Some("failed"), None).await, ["b1", "a2"]);
    assert_eq!(select(Some("a"), Some("failed"), None).await, ["a2"]);
    assert_eq!(select(None, None, Some("7")).await, ["a1"]);
    assert_eq!(select(Some("b"), None, Some("7")).await, [""; 0]);
    assert_eq!(select(None, None, Some("8")).await, [""; 0]);
    let page = ListPage {
        limit: Some(1),
        offset: 1,
    };
    let second = store
        .run_reports(&RunReportFilter::default(), page)
        .await
        .unwrap();
    assert_eq!((second.len(), second[0].report_id.as_str()), (1, "a2"));
}

async fn a_report_and_its_summary_are_written_together(bench: Bench) {
    let store = &bench.store;
    // The job's engine told of the run before its agent did.
    let of_job = summary("a", "a1", Some("7"));
    let put = async |id: &str, summary: &InventoryReportWrite| {
        let row = report("a", id, 1, "changed");
        store.put_run_report(&write(row, 9), Some(summary)).await
    };
    put("a1", &of_job).await.unwrap();
    put("a2", &summary("a", "a2", None)).await.unwrap();
    let of_job = RunReportFilter {
        job_id: Some("7".to_owned()),
        ..RunReportFilter::default()
    };
    assert_eq!(ids(&bench, of_job).await, ["a1"]);
    let kept = store.inventory_reports("", "a").await.unwrap();
    let names: Vec<&str> = kept.iter().map(|row| &*row.transaction_uuid).collect();
    assert_eq!(names, ["uuid-a1", "uuid-a2"]);
}

async fn old_reports_go_and_those_of_a_deleted_node(bench: Bench) {
    let store = &bench.store;
    for (certname, id, at) in [("a", "a1", 1), ("a", "a2", 5), ("b", "b1", 6)] {
        let row = report(certname, id, at, "changed");
        store.put_run_report(&write(row, 9), None).await.unwrap();
    }
    assert_eq!(store.prune_run_reports(5).await.unwrap(), 1);
    assert_eq!(ids(&bench, RunReportFilter::default()).await, ["b1", "a2"]);
    store
        .record_inventory_nodes(&["b".to_owned()])
        .await
        .unwrap();
    assert!(store.delete_inventory_node("b").await.unwrap());
    assert_eq!(ids(&bench, RunReportFilter::default()).await, ["a2"]);
}

async fn a_report_is_found_by_the_start_of_its_id(bench: Bench) {
    let store = &bench.store;
    for id in ["ab12", "ab13", "ac99", "ab1f"] {
        let row = report("a", id, 1, "changed");
        store.put_run_report(&write(row, 9), None).await.unwrap();
    }
    let found = async |prefix| {
        let rows = store.run_report_details(prefix).await.unwrap();
        rows.into_iter()
            .map(|row| row.report.report_id)
            .collect::<Vec<_>>()
    };
    assert_eq!(found("ac").await, ["ac99"]);
    assert_eq!(found("ab1f").await, ["ab1f"]);
    assert_eq!(found("ab1").await.len(), 2);
    assert_eq!(found("%").await, [""; 0]);
}

fn command(position: i64, name: &str, certname: &str, size_bytes: i64) -> PuppetDbCommandRow {
    PuppetDbCommandRow {
        position,
        command: name.to_owned(),
        version: 5,
        certname: certname.to_owned(),
        queued_ms: position * 10,
        size_bytes,
        payload: vec![1, 0, 2],
    }
}

async fn positions(bench: &Bench, after: i64, count: u64, bytes: u64) -> Vec<i64> {
    let rows = bench.store.puppetdb_commands(after, count, bytes).await;
    rows.unwrap().into_iter().map(|row| row.position).collect()
}

async fn commands_are_taken_in_order_and_data_is_replaced(bench: Bench) {
    let store = &bench.store;
    assert_eq!(store.last_puppetdb_command().await.unwrap(), None);
    let facts = |position, certname| command(position, "replace facts", certname, 10);
    for row in [facts(1, "a"), facts(2, "b"), facts(3, "a")] {
        store.replace_puppetdb_command(&row).await.unwrap();
    }
    for position in [4, 5] {
        let queued = command(position, "store report", "a", 10);
        let row = report("a", &format!("a{position}"), position, "changed");
        store
            .put_run_report(
                &RunReportWrite {
                    command: Some(queued),
                    ..write(row, 9)
                },
                None,
            )
            .await
            .unwrap();
    }
    assert_eq!(positions(&bench, 0, 10, 1_000).await, [2, 3, 4, 5]);
    assert_eq!(positions(&bench, 2, 2, 1_000).await, [3, 4]);
    assert_eq!(positions(&bench, 0, 10, 25).await, [2, 3]);
    assert_eq!(positions(&bench, 0, 10, 1).await, [2], "one at least");
    assert_eq!(store.last_puppetdb_command().await.unwrap(), Some(5));
    // The command 1 was sent and deleted late: its successor stays.
    store.delete_puppetdb_commands(&[1, 2]).await.unwrap();
    let rows = store.puppetdb_commands(0, 1, 100).await.unwrap();
    assert_eq!(rows, [facts(3, "a")]);
}

async fn a_queue_can_be_shortened(bench: Bench) {
    let store = &bench.store;
    let size = || async { store.puppetdb_queue_size().await.unwrap() };
    assert_eq!(size().await, PuppetDbQueueSize::default());
    for position in 1..=6 {
        let row = command(position, "replace facts", &format!("n{position}"), 7);
        store.replace_puppetdb_command(&row).await.unwrap();
    }
    let whole = PuppetDbQueueSize {
        commands: 6,
        bytes: 42,
        oldest_ms: Some(10),
    };
    assert_eq!(size().await, whole);
    assert_eq!(store.drop_old_puppetdb_commands(30).await.unwrap(), 2);
    assert_eq!(store.drop_first_puppetdb_commands(3).await.unwrap(), 3);
    assert_eq!(positions(&bench, 0, 10, 1_000).await, [6]);
}

fn webhook(id: &str, events: &str) -> WebhookRow {
    WebhookRow {
        id: id.to_owned(),
        url: "https://ci.example.com/".to_owned(),
        sealed: vec![1],
        events: events.to_owned(),
        description: String::new(),
        is_enabled: true,
        created_by: "admin".to_owned(),
        created_ms: 1,
        next_event: 1,
        next_plan_event: 1,
        next_puppet_run_event: 1,
        delivered: 0,
        given_up: 0,
        failing_ms: None,
        last_error: None,
        template: "json".to_owned(),
    }
}

/// Writes the report of a run that ended with this status, with its event.
async fn put_with_event(bench: &Bench, id: &str, at: i64, status: &str) {
    let event = NewPuppetRunEvent {
        kind: format!("puppet_run_{status}"),
        details: format!("{{\"n\":{at}}}"),
    };
    let write = RunReportWrite {
        event: Some(event),
        ..write(report("a", id, at, status), 9)
    };
    bench.store.put_run_report(&write, None).await.unwrap();
}

async fn event_ids(bench: &Bench) -> Vec<i64> {
    let events = bench.store.puppet_run_events(0, 100).await.unwrap();
    events.into_iter().map(|event| event.id).collect()
}

async fn a_run_is_an_event_once_if_a_webhook_names_its_type(bench: Bench) {
    let store = &bench.store;
    let all = webhook("w0", "[]");
    store.insert_webhook(&all).await.unwrap();
    put_with_event(&bench, "a1", 1, "failed").await;
    assert_eq!(event_ids(&bench).await, [0; 0], "no webhook names runs");
    let named = webhook("w1", "[\"job_finished\",\"puppet_run_failed\"]");
    store.insert_webhook(&named).await.unwrap();
    for (id, at, status) in [
        ("a2", 2, "failed"),
        ("a3", 3, "changed"),
        ("a2", 4, "failed"), // the report of a run that is known
        ("a4", 5, "failed"),
    ] {
        put_with_event(&bench, id, at, status).await;
    }
    assert_eq!(store.last_puppet_run_event_id().await.unwrap(), 2);
    let told = store.puppet_run_events(2, 10).await.unwrap();
    let last = PuppetRunEventRow {
        id: 2,
        kind: "puppet_run_failed".to_owned(),
        at_ms: 5,
        certname: "a".to_owned(),
        details: "{\"n\":5}".to_owned(),
    };
    assert_eq!(told, [last]);
    let off = WebhookChange {
        is_enabled: Some(false),
        ..WebhookChange::default()
    };
    store.update_webhook("w1", off).await.unwrap();
    put_with_event(&bench, "a5", 6, "failed").await;
    assert_eq!(event_ids(&bench).await, [1, 2]);
}

async fn events_of_runs_go_when_they_are_told_or_old_or_too_many(bench: Bench) {
    let store = &bench.store;
    let named = webhook("w1", "[\"puppet_run_changed\"]");
    store.insert_webhook(&named).await.unwrap();
    for at in 1..=6 {
        put_with_event(&bench, &format!("b{at}"), at, "changed").await;
    }
    assert_eq!(store.prune_puppet_run_events(0, 100).await.unwrap(), 0);
    let progress = WebhookProgress {
        next_event: 1,
        next_plan_event: 1,
        next_puppet_run_event: 3,
        ..WebhookProgress::default()
    };
    assert!(store.advance_webhook("w1", progress).await.unwrap());
    assert_eq!(store.prune_puppet_run_events(0, 100).await.unwrap(), 2);
    assert_eq!(event_ids(&bench).await, [3, 4, 5, 6]);
    assert_eq!(store.prune_puppet_run_events(4, 100).await.unwrap(), 1);
    assert_eq!(store.prune_puppet_run_events(0, 1).await.unwrap(), 2);
    assert_eq!(event_ids(&bench).await, [6]);
    assert!(store.delete_webhook("w1").await.unwrap());
    assert_eq!(store.prune_puppet_run_events(0, 100).await.unwrap(), 1);
    assert_eq!(store.last_puppet_run_event_id().await.unwrap(), 6);
}

async fn reports_wait_for_programs_in_order_and_once(bench: Bench) {
    let store = &bench.store;
    for (id, at) in [("c1", 1), ("c2", 2), ("c1", 3), ("c3", 4)] {
        let write = RunReportWrite {
            programs: vec!["/bin/x".to_owned(), "/bin/y".to_owned()],
            ..write(report("a", id, at, "changed"), 9)
        };
        store.put_run_report(&write, None).await.unwrap();
    }
    let waiting = |after, limit| async move {
        let rows = store.reports_to_process(after, limit).await.unwrap();
        let rows = rows.into_iter();
        rows.map(|row| (row.position, row.program, row.report_id, row.queued_ms))
            .collect::<Vec<_>>()
    };
    let row =
        |position, program: &str, id: &str, at| (position, program.to_owned(), id.to_owned(), at);
    let first = [row(1, "/bin/x", "c1", 1), row(2, "/bin/y", "c1", 1)];
    assert_eq!(waiting(0, 2).await, first);
    assert_eq!(waiting(4, 9).await.len(), 2);
    assert_eq!(store.count_reports_to_process().await.unwrap(), 6);
    store.delete_report_to_process(2).await.unwrap();
    assert_eq!(store.drop_first_reports_to_process(2).await.unwrap(), 2);
    assert_eq!(waiting(0, 1).await, [row(4, "/bin/y", "c2", 2)]);
}
