//! Reports that are kept, and data that is forwarded.

use std::sync::Arc;
use std::time::Duration;

use inventory::{Inventory, NodeRecord};
use jiff::{Timestamp, ToSpan as _};
use pcp::Certname;
use run_reports::{
    FindReportError, ForgetNodeError, ForwardedCatalog, NodeDeactivation, RecordRunError,
    ReportSource, RunReport, RunReportFilter, RunReports, RunReportsConfig,
};
use serde_json::{Value, json};
use store::{ListPage, Store, StoreConfig, WebhookRow};
use tempfile::TempDir;

use crate::puppetdb::{FakePuppetDb, TakenCommand, inventory};
use crate::sample::{NODE, report};

/// A database, which outlives the engine.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn store(&self) -> Store {
        let config = StoreConfig::sqlite(self.0.path().join("tutti.db"));
        Store::open(&config).await.unwrap()
    }
}

pub(crate) fn config(forward: bool) -> RunReportsConfig {
    RunReportsConfig {
        forward,
        ..RunReportsConfig::new("puppet.example".parse().unwrap())
    }
}

/// Records a report as the server does.
pub(crate) async fn record(reports: &RunReports, sent: RunReport) -> Result<(), RecordRunError> {
    let packed = reports.pack_report(sent)?;
    Box::pin(reports.record_report(packed)).await
}

/// The sample of another node and run, received `minutes` ago.
pub(crate) fn sample(certname: &str, run: u32, minutes: i64) -> RunReport {
    let mut text = report();
    text["host"] = json!(certname);
    text["transaction_uuid"] = json!(format!("00000000-0000-0000-0000-{run:012}"));
    let received = Timestamp::now() - minutes.minutes();
    text["time"] = json!(received.to_string());
    let certname: Certname = certname.parse().unwrap();
    RunReport::from_json(&certname, &text.to_string(), received).unwrap()
}

fn facts(kernel: &str) -> NodeRecord {
    let map = |value: Value| value.as_object().unwrap().clone().into();
    NodeRecord {
        facts: map(json!({"kernel": kernel})),
        trusted: map(json!({"certname": NODE})),
        environment: Some("production".to_owned()),
        timestamp: Timestamp::now(),
    }
}

fn catalog(version: &str) -> ForwardedCatalog {
    ForwardedCatalog {
        certname: NODE.parse().unwrap(),
        document: json!({"name": NODE, "version": version, "environment": "production",
            "resources": [], "edges": []}),
        capabilities: Vec::new(),
        transaction_uuid: Some("00000000-0000-0000-0000-000000000001".to_owned()),
        job_id: None,
    }
}

async fn runs(reports: &RunReports, filter: RunReportFilter) -> Vec<String> {
    let entries = reports.list(&filter, ListPage::default()).await.unwrap();
    let run = |uuid: String| uuid.trim_start_matches(['0', '-']).to_owned();
    entries
        .entries
        .into_iter()
        .map(|entry| run(entry.summary.transaction_uuid))
        .collect()
}

#[tokio::test]
async fn a_report_is_kept_with_its_details_and_the_node_has_it_as_its_last() {
    let place = Place::new();
    let store = place.store().await;
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let reports = RunReports::start(config(false), store, inventory.clone())
        .await
        .unwrap();
    let sent = sample(NODE, 1, 0);
    record(&reports, sent.clone()).await.unwrap();
    // An agent that did not get the answer sends the report again.
    record(&reports, sent.clone()).await.unwrap();
    assert_eq!(runs(&reports, RunReportFilter::default()).await, ["1"]);
    let id = &sent.summary.hash;
    let found = reports.find(id).await.unwrap();
    assert_eq!(found.detail, sent.detail);
    assert_eq!(found.entry.summary, sent.summary);
    assert_eq!(found.entry.job_id.as_deref(), Some("42"));
    assert_eq!(reports.find(&id[..8].to_uppercase()).await.unwrap(), found);
    let certname: Certname = NODE.parse().unwrap();
    let snapshot = inventory.snapshot().unwrap();
    let last = &snapshot.get(&certname).unwrap().reports;
    assert_eq!((last.len(), &last[0].hash), (1, id));
    for wrong in ["", "abc", "zzzzzzzz", "%", &"a".repeat(41)] {
        let error = reports.find(wrong).await.unwrap_err();
        assert!(matches!(error, FindReportError::InvalidId(_)), "{error}");
    }
    let error = reports.find("000000").await.unwrap_err();
    assert!(matches!(error, FindReportError::Unknown(_)), "{error}");
    assert_eq!(reports.forwarding().await.unwrap(), None);
    reports.shutdown().await;
}

#[tokio::test]
async fn a_run_is_an_event_with_its_counts_and_versions() {
    let place = Place::new();
    let store = place.store().await;
    let hook = WebhookRow {
        id: "w".to_owned(),
        url: "https://ci.example.com/".to_owned(),
        sealed: vec![1],
        events: "[\"puppet_run_failed\"]".to_owned(),
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
    };
    store.insert_webhook(&hook).await.unwrap();
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let reports = RunReports::start(config(false), store.clone(), inventory).await;
    let reports = reports.unwrap();
    let sent = sample(NODE, 1, 0);
    record(&reports, sent.clone()).await.unwrap();
    record(&reports, sent.clone()).await.unwrap();
    let events = store.puppet_run_events(0, 10).await.unwrap();
    assert_eq!((events.len(), events[0].certname.as_str()), (1, NODE));
    assert_eq!(events[0].kind, "puppet_run_failed");
    let details: Value = serde_json::from_str(&events[0].details).unwrap();
    let told = json!({
        "report": sent.summary.hash, "status": "failed", "noop": false, "noop_pending": true,
        "corrective_change": true, "environment": "production",
        "transaction_uuid": sent.summary.transaction_uuid,
        "catalog_uuid": sent.summary.catalog_uuid, "code_id": sent.summary.code_id,
        "configuration_version": "1795835309", "cached_catalog_status": "not_used", "job": "42",
        "start_time": sent.summary.start_time.unwrap().to_string(),
        "end_time": sent.summary.end_time.unwrap().to_string(),
        "resources": {"total": 12, "failed": 1, "changed": 1}, "events": {"failure": 1},
    });
    assert_eq!(details, told);
    reports.shutdown().await;
}

#[tokio::test]
async fn reports_beyond_age_and_number_go() {
    let place = Place::new();
    let store = place.store().await;
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let few = RunReportsConfig {
        keep: Duration::from_secs(3_600),
        keep_of_node: 2,
        ..config(false)
    };
    let reports = RunReports::start(few.clone(), store.clone(), inventory.clone())
        .await
        .unwrap();
    for (run, minutes) in [(1, 50), (2, 40), (3, 30)] {
        record(&reports, sample(NODE, run, minutes)).await.unwrap();
    }
    record(&reports, sample("web2.example", 4, 70))
        .await
        .unwrap();
    assert_eq!(
        runs(&reports, RunReportFilter::default()).await,
        ["3", "2", "4"]
    );
    let failed = RunReportFilter {
        certname: Some(NODE.to_owned()),
        status: Some("failed".to_owned()),
        job_id: Some("42".to_owned()),
    };
    assert_eq!(runs(&reports, failed).await, ["3", "2"]);
    reports.shutdown().await;
    // The next start deletes what is too old.
    let reports = RunReports::start(few, store, inventory).await.unwrap();
    while runs(&reports, RunReportFilter::default()).await.len() > 2 {
        tokio::task::yield_now().await;
    }
    reports.shutdown().await;
}

#[tokio::test]
async fn facts_of_a_node_with_a_wrong_clock_hide_no_later_ones() {
    let place = Place::new();
    let store = place.store().await;
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let reports = RunReports::start(config(false), store, inventory.clone())
        .await
        .unwrap();
    let certname: Certname = NODE.parse().unwrap();
    for (kernel, clock) in [
        ("k1", "9999-12-01T00:00:00Z"),
        ("k2", "1970-01-01T00:00:00Z"),
    ] {
        let record = NodeRecord {
            timestamp: clock.parse().unwrap(),
            ..facts(kernel)
        };
        reports.record_facts(&certname, record).await.unwrap();
        let known = inventory.facts(&certname).await.unwrap().unwrap();
        assert_eq!(known.facts["kernel"], kernel);
    }
    reports.shutdown().await;
}

#[tokio::test]
async fn many_nodes_report_at_once() {
    let place = Place::new();
    let store = place.store().await;
    let inventory = Inventory::embedded(store.clone()).await.unwrap();
    let reports = RunReports::start(config(false), store, inventory.clone())
        .await
        .unwrap();
    let reports = Arc::new(reports);
    let mut sending = tokio::task::JoinSet::new();
    for run in 0..200 {
        let reports = Arc::clone(&reports);
        sending.spawn(async move {
            let node = format!("node{}.example", run / 2);
            record(&reports, sample(&node, run % 2 + 1, 0)).await
        });
    }
    while let Some(sent) = sending.join_next().await {
        sent.unwrap().unwrap();
    }
    assert_eq!(runs(&reports, RunReportFilter::default()).await.len(), 200);
    assert_eq!(inventory.snapshot().unwrap().len(), 100);
}

/// Name and a value that tells the command from others.
fn marks(taken: &[TakenCommand]) -> Vec<(String, String)> {
    let mark = |command: &TakenCommand| {
        let payload = &command.payload;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mark = match command.name.as_str() {
            "replace_facts" => text(&payload["values"]["kernel"]),
            "replace_catalog" => text(&payload["version"]),
            _ => text(&payload["transaction_uuid"])
                .trim_start_matches(['0', '-'])
                .to_owned(),
        };
        (command.name.clone(), mark)
    };
    taken.iter().map(mark).collect()
}

#[tokio::test]
async fn data_waits_for_puppetdb_over_a_restart_and_only_the_newest_is_sent() {
    let place = Place::new();
    let address = FakePuppetDb::free_address().await;
    let store = place.store().await;
    let certname: Certname = NODE.parse().unwrap();
    let reports = RunReports::start(config(true), store.clone(), inventory(address))
        .await
        .unwrap();
    for run in [1, 2, 3] {
        reports
            .record_facts(&certname, facts(&format!("k{run}")))
            .await
            .unwrap();
        reports
            .record_catalog(catalog(&format!("v{run}")))
            .await
            .unwrap();
        record(&reports, sample(NODE, run, 0)).await.unwrap();
    }
    let state = reports.forwarding().await.unwrap().unwrap();
    assert_eq!(state.queued, 5);
    assert!(state.bytes > 100 && state.oldest.is_some(), "{state:?}");
    // The server is killed: nothing is closed in order.
    drop(reports);
    store.close().await;

    let reports = RunReports::start(config(true), place.store().await, inventory(address))
        .await
        .unwrap();
    let puppetdb = FakePuppetDb::start(address).await;
    let taken = puppetdb.taken(5).await;
    let expected = [
        ("store_report", "1"),
        ("store_report", "2"),
        ("replace_facts", "k3"),
        ("replace_catalog", "v3"),
        ("store_report", "3"),
    ];
    let expected = expected.map(|(name, mark)| (name.to_owned(), mark.to_owned()));
    assert_eq!(marks(&taken), expected);
    assert_eq!(taken[0].version, "8");
    assert_eq!(taken[0].payload["producer"], "puppet.example");
    while reports.forwarding().await.unwrap().unwrap().queued > 0 {
        tokio::task::yield_now().await;
    }
    let metrics = reports.metrics().unwrap();
    assert_eq!(metrics.sent.get(), 5);
    // From now on, data is sent at once.
    reports.record_facts(&certname, facts("k4")).await.unwrap();
    assert_eq!(marks(&puppetdb.taken(6).await)[5].1, "k4");
    reports.shutdown().await;
}

#[tokio::test]
async fn a_refused_command_does_not_stop_others() {
    let place = Place::new();
    let puppetdb = FakePuppetDb::start(FakePuppetDb::free_address().await).await;
    puppetdb.refuse("bad.example");
    let store = place.store().await;
    let reports = RunReports::start(config(true), store, inventory(puppetdb.address))
        .await
        .unwrap();
    for (node, run) in [("bad.example", 1), (NODE, 2), ("bad.example", 3), (NODE, 4)] {
        record(&reports, sample(node, run, 0)).await.unwrap();
    }
    let taken = puppetdb.taken(2).await;
    assert_eq!(marks(&taken).len(), 2);
    let metrics = reports.metrics().unwrap();
    while metrics.refused.get() < 2 || metrics.queued.get() > 0 {
        tokio::task::yield_now().await;
    }
    // With a PuppetDB, the reports are kept here as well.
    assert_eq!(runs(&reports, RunReportFilter::default()).await.len(), 4);
    reports.shutdown().await;
}

#[tokio::test]
async fn a_report_in_puppetdbs_format_has_what_it_demands() {
    let place = Place::new();
    let puppetdb = FakePuppetDb::start(FakePuppetDb::free_address().await).await;
    let store = place.store().await;
    let reports = RunReports::start(config(true), store, inventory(puppetdb.address))
        .await
        .unwrap();
    record(&reports, sample(NODE, 1, 0)).await.unwrap();
    let payload = puppetdb.taken(1).await.remove(0).payload;
    assert_eq!(payload["certname"], NODE);
    assert_eq!(payload["configuration_version"], "1795835309");
    assert_eq!(payload["noop"], false);
    let resources = payload["resources"].as_array().unwrap();
    let titles: Vec<&Value> = resources.iter().map(|it| &it["resource_title"]).collect();
    assert_eq!(titles, ["/etc/motd", "/etc/issue", "web", "reload"]);
    assert_eq!(resources[2]["events"][0]["new_value"], "[\"running\",1]");
    assert_eq!(resources[2]["events"][0]["old_value"], "");
    assert_eq!(
        payload["metrics"][0],
        json!({"category": "resources", "name": "total", "value": 12})
    );
    assert_eq!(payload["logs"][1]["time"], "2026-11-28T03:08:31.500Z");
    reports.shutdown().await;
}

#[tokio::test]
async fn a_node_that_is_removed_is_deactivated_after_all_that_waits_for_puppetdb() {
    let place = Place::new();
    let store = place.store().await;
    let address = FakePuppetDb::free_address().await;
    let certname: Certname = NODE.parse().unwrap();
    let reports = RunReports::start(config(true), store, inventory(address)).await;
    let reports = reports.unwrap();
    reports.record_facts(&certname, facts("k1")).await.unwrap();
    record(&reports, sample(NODE, 1, 0)).await.unwrap();
    record(&reports, sample("web2.example", 2, 0))
        .await
        .unwrap();
    reports.forget_node(&certname).await.unwrap();
    for _ in 0..2 {
        let deactivated = reports.deactivate_node(&certname).await.unwrap();
        assert_eq!(deactivated, NodeDeactivation::Queued);
    }
    assert_eq!(runs(&reports, RunReportFilter::default()).await, ["2"]);
    let puppetdb = FakePuppetDb::start(address).await;
    let taken = puppetdb.taken(4).await;
    let of_node = taken.iter().filter(|command| command.certname == NODE);
    let names: Vec<&str> = of_node.map(|command| command.name.as_str()).collect();
    assert_eq!(names, ["replace_facts", "store_report", "deactivate_node"]);
    let last = taken
        .iter()
        .find(|command| command.name == "deactivate_node");
    let last = last.unwrap();
    assert_eq!(
        (last.version.as_str(), &last.payload["certname"]),
        ("3", &json!(NODE))
    );
    let produced = last.payload["producer_timestamp"].as_str().unwrap();
    produced.parse::<Timestamp>().unwrap();
    reports.shutdown().await;
}

#[tokio::test]
async fn without_forwarding_puppetdb_gets_the_deactivation_at_once_or_its_sender_an_error() {
    let place = Place::new();
    let store = place.store().await;
    let address = FakePuppetDb::free_address().await;
    let certname: Certname = NODE.parse().unwrap();
    let reports = RunReports::start(config(false), store, inventory(address)).await;
    let reports = reports.unwrap();
    let error = reports.deactivate_node(&certname).await.unwrap_err();
    assert!(matches!(error, ForgetNodeError::PuppetDb(_)), "{error}");
    let puppetdb = FakePuppetDb::start(address).await;
    let deactivated = reports.deactivate_node(&certname).await.unwrap();
    assert_eq!(deactivated, NodeDeactivation::Sent);
    assert_eq!(puppetdb.taken(1).await[0].name, "deactivate_node");
    reports.shutdown().await;
}

#[tokio::test]
async fn reports_that_only_puppetdb_has_are_read_there() {
    let place = Place::new();
    let store = place.store().await;
    let puppetdb = FakePuppetDb::start(FakePuppetDb::free_address().await).await;
    let reports = RunReports::start(config(false), store, inventory(puppetdb.address)).await;
    let reports = reports.unwrap();
    let hash = "0123456789abcdef0123456789abcdef01234567";
    let event = |title: &str, status: &str, property: Value| {
        json!({"resource_type": "File", "resource_title": title, "status": status, "property": property,
            "old_value": "absent", "new_value": {"a": 1}, "message": "m", "file": "/site.pp", "line": 3,
            "timestamp": "2026-11-28T03:08:29.000Z", "containment_path": ["Stage[main]"],
            "corrective_change": false, "name": null})
    };
    let row = json!({
        "certname": NODE, "hash": hash, "transaction_uuid": "u", "status": "failed", "noop": false,
        "environment": "production", "job_id": null, "receive_time": "2026-11-28T03:08:30.000Z",
        "start_time": "2026-11-28T03:08:29.000Z", "report_format": 12, "puppet_version": "8.10.0",
        "logs": {"data": [{"level": "err", "message": "no", "source": "Puppet", "time": null,
            "file": null, "line": null, "tags": []}], "href": "/pdb"},
        "metrics": {"data": [{"category": "resources", "name": "total", "value": 12}], "href": "/pdb"},
        "resource_events": {"href": "/pdb", "data": [
            event("/etc/motd", "success", json!("ensure")), event("/etc/motd", "failure", json!("mode")),
            event("/etc/issue", "skipped", json!(null)),
        ]},
    });
    puppetdb.answer_with(vec![row.clone()]);
    let failed = RunReportFilter {
        status: Some("failed".to_owned()),
        ..of_node(NODE)
    };
    let page = ListPage {
        limit: Some(3),
        offset: 6,
    };
    let listed = reports.list(&failed, page).await.unwrap();
    assert_eq!(listed.source, ReportSource::PuppetDb);
    let entry = &listed.entries[0];
    assert_eq!(
        (entry.certname.as_str(), entry.summary.hash.as_str()),
        (NODE, hash)
    );
    assert_eq!(entry.received.to_string(), "2026-11-28T03:08:30Z");
    let asked = puppetdb.queries().remove(0);
    assert_eq!(
        asked[2][2],
        json!(["and", ["=", "certname", NODE], ["=", "status", "failed"]])
    );
    let order = json!(["order_by", [["receive_time", "desc"], ["hash", "asc"]]]);
    assert_eq!(
        (&asked[3], &asked[4], &asked[5]),
        (&order, &json!(["offset", 6]), &json!(["limit", 3]))
    );
    let found = reports.find("0123456789AB").await.unwrap();
    assert_eq!(
        puppetdb.queries()[1][2],
        json!(["~", "hash", "^0123456789ab"])
    );
    let resources = &found.detail.resources;
    assert_eq!((resources.len(), resources[0].events.len()), (2, 2));
    assert!(resources[0].failed && resources[0].changed && resources[1].skipped);
    assert_eq!(resources[0].events[0].desired_value, "{\"a\":1}");
    assert_eq!(
        (&*found.detail.logs[0].message, found.detail.metrics.len()),
        ("no", 1)
    );
    // A report that this server has is read here.
    record(&reports, sample(NODE, 1, 0)).await.unwrap();
    let listed = reports
        .list(&of_node(NODE), ListPage::default())
        .await
        .unwrap();
    assert_eq!(
        (listed.source, listed.entries.len()),
        (ReportSource::Server, 1)
    );
    puppetdb.answer_with(Vec::new());
    let error = reports.find(hash).await.unwrap_err();
    assert!(matches!(error, FindReportError::Unknown(_)), "{error}");
    puppetdb.answer_with(vec![row.clone(), row]);
    let error = reports.find("012345").await.unwrap_err();
    assert!(matches!(error, FindReportError::Ambiguous(_)), "{error}");
    reports.shutdown().await;
}

fn of_node(certname: &str) -> RunReportFilter {
    RunReportFilter {
        certname: Some(certname.to_owned()),
        ..RunReportFilter::default()
    }
}
