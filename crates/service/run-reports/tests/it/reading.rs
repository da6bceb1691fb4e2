//! Reports of agents, and hostile ones.

use jiff::Timestamp;
use pcp::Certname;
use run_reports::{InvalidReport, InvalidReportError, RunReport, RunStatus, defaults};
use serde_json::{Value, json};

use crate::sample::{NODE, UUID, report};

fn certname() -> Certname {
    NODE.parse().unwrap()
}

fn received() -> Timestamp {
    "2026-11-28T03:08:40Z".parse().unwrap()
}

fn read_text(text: &str) -> Result<RunReport, InvalidReportError> {
    RunReport::from_json(&certname(), text, received())
}

fn read(report: &Value) -> RunReport {
    read_text(&report.to_string()).unwrap()
}

fn with(key: &str, value: Value) -> Value {
    let mut report = report();
    report[key] = value;
    report
}

fn refusal(report: &Value) -> InvalidReport {
    match read_text(&report.to_string()) {
        Err(InvalidReportError::Content(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_report_is_read_without_its_unchanged_resources() {
    let report = read(&report());
    assert_eq!(report.status, RunStatus::Failed);
    let summary = &report.summary;
    assert_eq!(summary.transaction_uuid, UUID);
    assert_eq!(summary.hash.len(), 32);
    assert_eq!(summary.configuration_version.as_deref(), Some("1795835309"));
    assert_eq!(summary.job_id.as_deref(), Some("42"));
    assert_eq!(summary.corrective_change, Some(true));
    let times = [summary.start_time, summary.end_time];
    let times = times.map(|time| format!("{:.1}", time.unwrap()));
    assert_eq!(times, ["2026-11-28T03:08:29.2Z", "2026-11-28T03:08:31.7Z"]);
    let detail = &report.detail;
    assert_eq!(detail.notes, [""; 0]);
    assert_eq!(detail.metrics.len(), 7);
    assert_eq!(detail.logs.len(), 2);
    assert_eq!(detail.logs[1].level, "err");
    let titles: Vec<&str> = detail.resources.iter().map(|it| &*it.title).collect();
    assert_eq!(titles, ["/etc/motd", "/etc/issue", "web", "reload"]);
    let failure = &detail.resources[2].events[0];
    assert_eq!(
        (&*failure.previous_value, &*failure.desired_value),
        ("", "[\"running\",1]")
    );
    assert!(detail.resources[3].skipped);
}

#[test]
fn absent_parts_are_null() {
    let failed_early = json!({
        "host": NODE, "time": "2026-11-28T03:08:29Z", "transaction_uuid": UUID, "status": "failed",
        "logs": null, "metrics": {}, "resource_statuses": null, "job_id": null, "noop": null,
    });
    let report = read(&failed_early);
    assert_eq!(report.summary.noop, Some(false));
    assert_eq!(report.summary.code_id, None);
    assert_eq!(report.summary.start_time, report.summary.end_time);
}

#[test]
fn a_report_about_another_node_is_refused() {
    for host in [
        json!("web2.example"),
        json!("WEB1.example"),
        json!(""),
        json!(null),
    ] {
        let error = refusal(&with("host", host));
        assert!(matches!(error, InvalidReport::OtherHost { .. }), "{error}");
    }
    let long = refusal(&with("host", "x".repeat(100_000).into()));
    assert!(long.to_string().len() < 500, "{long}");
}

#[test]
fn a_run_needs_an_id_a_status_and_a_time() {
    for uuid in [json!(""), json!("../x"), json!(null), json!("1".repeat(99))] {
        let error = refusal(&with("transaction_uuid", uuid));
        assert!(
            matches!(error, InvalidReport::TransactionUuid(_)),
            "{error}"
        );
    }
    let error = refusal(&with("status", json!("great")));
    assert!(matches!(error, InvalidReport::Status(_)), "{error}");
    for time in [
        "",
        "yesterday",
        "2026-13-01T00:00:00Z",
        "999999-01-01T00:00:00Z",
    ] {
        let error = refusal(&with("time", json!(time)));
        assert!(matches!(error, InvalidReport::Time(_)), "{error}");
    }
}

#[test]
fn a_wrong_clock_loses_no_report() {
    for time in [
        "1970-01-01T00:00:01Z",
        "2026-11-20T00:00:00Z",
        "2026-11-30T00:00:00Z",
        "9999-12-30T00:00:00Z",
    ] {
        let report = read(&with("time", json!(time)));
        assert_eq!(report.summary.end_time, Some(received()), "{time}");
        let [note] = &report.detail.notes[..] else {
            panic!("{:?}", report.detail.notes);
        };
        assert!(note.contains("clock is wrong"), "{note}");
    }
    let mut long = report();
    long["metrics"]["time"]["values"] = json!([["total", "Total", 1e300]]);
    assert!(read(&long).summary.end_time.is_some());
}

#[test]
fn nul_and_huge_texts_are_replaced_and_cut() {
    let mut hostile = report();
    hostile["environment"] = json!("a\0b");
    hostile["logs"][0]["message"] = json!("x".repeat(1 << 20));
    hostile["resource_statuses"]["File[/etc/motd]"]["events"][0]["previous_value"] =
        json!("y".repeat(1 << 20));
    let report = read(&hostile);
    assert_eq!(report.summary.environment.as_deref(), Some("a\u{fffd}b"));
    let message = &report.detail.logs[0].message;
    assert!(message.len() <= defaults::MESSAGE_BYTES && message.ends_with("[cut]"));
    let value = &report.detail.resources[0].events[0].previous_value;
    assert!(value.len() <= defaults::MESSAGE_BYTES);
}

#[test]
fn too_many_logs_resources_and_metrics_are_left_out() {
    let log = json!({"level": "info", "message": "m", "source": "s"});
    let report = read(&with("logs", vec![log; 20_000].into()));
    let kept = defaults::REPORT_FIRST_LOGS + defaults::REPORT_LAST_LOGS;
    assert_eq!(report.detail.logs.len(), kept);
    assert_eq!(report.detail.notes, ["15000 log messages were left out"]);

    let resources = (0..60_000).map(|i| (format!("File[/{i}]"), json!({"changed": true})));
    let resources: serde_json::Map<String, Value> = resources.collect();
    let report = read(&with("resource_statuses", resources.into()));
    assert_eq!(report.detail.resources.len(), defaults::REPORT_RESOURCES);
    assert_eq!(report.detail.notes, ["50000 resources were left out"]);
    assert_eq!(report.detail.resources[7].title, "/7");

    let values = vec![json!(["n", "N", 1]); 1_000];
    let category = json!({"values": values});
    let categories = (0..100).map(|i| (format!("c{i}"), category.clone()));
    let categories: serde_json::Map<String, Value> = categories.collect();
    let report = read(&with("metrics", categories.into()));
    let most = defaults::METRIC_CATEGORIES * defaults::CATEGORY_METRICS;
    assert_eq!(report.detail.metrics.len(), most);
    assert_eq!(report.detail.notes, ["some metrics were left out"]);
}

#[test]
fn malformed_and_deep_texts_are_errors_that_name_the_place() {
    let deep = format!(
        "{{\"job_id\": {}1{}}}",
        "[".repeat(10_000),
        "]".repeat(10_000)
    );
    for text in [
        "",
        "{",
        "[]",
        "\"x\"",
        "nul",
        &deep,
        "{\"logs\": {}}",
        "{\"noop\": 1}",
    ] {
        let error = read_text(text).unwrap_err();
        let is_format = matches!(error, InvalidReportError::Format(_));
        // An empty array of fields is read as a report without a host.
        let is_content = matches!(error, InvalidReportError::Content(_));
        assert!(is_format || is_content, "{text:.40}: {error}");
    }
    let wrong = with("logs", json!([{"line": "seven"}]));
    let Err(InvalidReportError::Format(error)) = read_text(&wrong.to_string()) else {
        panic!("it is no number");
    };
    assert!(error.to_string().contains("logs[0].line"), "{error}");
    let huge = " ".repeat(defaults::MAX_REPORT_TEXT_BYTES + 1);
    let error = read_text(&huge).unwrap_err();
    assert!(
        matches!(error, InvalidReportError::TooLarge { .. }),
        "{error}"
    );
}
