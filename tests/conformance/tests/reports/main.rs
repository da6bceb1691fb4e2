//! Facts, catalogs and reports that a real PuppetDB takes, also after it was away.
#![cfg(test)]

mod capabilities;
mod data;

use std::time::Duration;

use inventory::{Inventory, NodeQuery, PuppetDbConfig};
use pcp::Certname;
use pki::TlsFiles;
use run_reports::{
    FindReportError, NodeDeactivation, ReportSource, RunReport, RunReportEntry, RunReports,
    RunReportsConfig,
};
use serde_json::{Value, json};
use store::{ListPage, RunReportFilter, Store, StoreConfig};
use testkit::closable_port::ClosablePort;
use testkit::installation::{Installation, Programs};
use testkit::peers::PuppetDb;

/// Time in which PuppetDB must have taken all data after its start.
const DRAINED_WITHIN: Duration = Duration::from_secs(120);

/// A Puppet server of Tutti without its ports: its database and the engine of reports.
struct ForwardingServer {
    store: Store,
    inventory: Inventory,
    reports: RunReports,
}

/// An installation with a PuppetDB, which outlives servers.
struct ForwardingSite {
    installation: Installation,
    puppetdb: PuppetDb,
    /// The port of PuppetDB that servers know.
    puppetdb_port: ClosablePort,
}

impl ForwardingSite {
    async fn server(&self) -> ForwardingServer {
        self.server_on("reports.db").await
    }

    /// A server with a database of its own in the directory of the installation.
    async fn server_on(&self, database: &str) -> ForwardingServer {
        let config = StoreConfig::sqlite(self.installation.root().join(database));
        let store = Store::open(&config).await.unwrap();
        let (cert, key) = self.installation.client_certificate("puppet.test").unwrap();
        let files = TlsFiles {
            cert,
            key,
            ca: self.installation.ca_dir().join("ca_crt.pem"),
            crl: None,
        };
        let config = PuppetDbConfig::new([self.puppetdb_port.https_url()], files).unwrap();
        let inventory = Inventory::puppetdb(config);
        let config = RunReportsConfig {
            forward: true,
            ..RunReportsConfig::new("puppet.test".parse().unwrap())
        };
        let reports = RunReports::start(config, store.clone(), inventory.clone());
        ForwardingServer {
            reports: reports.await.unwrap(),
            store,
            inventory,
        }
    }
}

impl ForwardingServer {
    /// Records what the run of a node brings.
    async fn record_run(&self, run: u32) {
        let node: Certname = data::NODE.parse().unwrap();
        let received = jiff::Timestamp::now();
        let text = data::report(run, received).to_string();
        let report = RunReport::from_json(&node, &text, received).unwrap();
        self.reports
            .record_facts(&node, data::facts(run))
            .await
            .unwrap();
        self.reports
            .record_catalog(data::catalog(run))
            .await
            .unwrap();
        let packed = self.reports.pack_report(report).unwrap();
        self.reports.record_report(packed).await.unwrap();
    }

    async fn wait_until_sent(&self) {
        let sent = async {
            while self.reports.forwarding().await.unwrap().unwrap().queued > 0 {
                // PuppetDB tells nobody when it has started.
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::time::timeout(DRAINED_WITHIN, sent)
            .await
            .expect("the queue is sent");
        let metrics = self.reports.metrics().unwrap();
        assert_eq!(metrics.refused.get(), 0, "PuppetDB took each command");
    }

    /// The rows of a query, as soon as there are `count`: PuppetDB reads commands after it has taken
    /// them.
    async fn query(&self, query: &str, count: usize) -> Vec<Value> {
        let asked = async {
            loop {
                let rows = self
                    .inventory
                    .query(&NodeQuery::from_text(query))
                    .await
                    .unwrap();
                if rows.len() >= count {
                    return rows;
                }
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::time::timeout(DRAINED_WITHIN, asked)
            .await
            .unwrap_or_else(|_| panic!("PuppetDB has the data of {query}"))
    }

    /// Ends without order, as a killed server.
    async fn kill(self) {
        drop(self.reports);
        self.store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_reaches_a_puppetdb_that_was_away() {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let programs = Programs::beside(built.join("tutti")).unwrap();
    let installation = Installation::new(programs, "").unwrap();
    let puppetdb = PuppetDb::new(&installation).unwrap();
    let puppetdb_port = ClosablePort::new(puppetdb.port()).unwrap();
    let mut site = ForwardingSite {
        installation,
        puppetdb,
        puppetdb_port,
    };
    let server = site.server().await;
    Box::pin(server.record_run(1)).await;
    Box::pin(server.record_run(2)).await;
    let waiting = server.reports.forwarding().await.unwrap().unwrap();
    assert_eq!(
        waiting.queued, 4,
        "two reports, the newest facts and catalog"
    );
    server.kill().await;

    site.puppetdb.resume().await.unwrap();
    site.puppetdb_port.open().await.unwrap();
    let server = site.server().await;
    server.wait_until_sent().await;
    reports_are_complete(&server).await;
    facts_and_catalog_are_the_newest(&server).await;

    site.puppetdb_port.close().await.unwrap();
    Box::pin(server.record_run(3)).await;
    site.puppetdb_port.open().await.unwrap();
    server.wait_until_sent().await;
    let reports = server.query("reports[transaction_uuid] { }", 3).await;
    assert_eq!(reports.len(), 3, "each run is there once: {reports:?}");
    let facts = server
        .query("facts[value] { name = 'run' and value = 3 }", 1)
        .await;
    assert_eq!(facts, [json!({"value": 3})]);
    capabilities::other_servers_find_them(&server).await;
    server.reports.shutdown().await;

    // Its database has no reports, as where agents report to a puppetserver.
    let other = site.server_on("other.db").await;
    reports_are_read_from_puppetdb(&other).await;
    a_node_is_deactivated(&other).await;
    other.reports.shutdown().await;
}

async fn reports_are_read_from_puppetdb(server: &ForwardingServer) {
    let filter = RunReportFilter {
        certname: Some(data::NODE.to_owned()),
        status: Some("failed".to_owned()),
        job_id: Some("42".to_owned()),
    };
    let first = ListPage {
        limit: Some(2),
        offset: 0,
    };
    let page = server.reports.list(&filter, first).await.unwrap();
    assert_eq!(page.source, ReportSource::PuppetDb);
    let runs: Vec<&str> = page.entries.iter().map(run_of).collect();
    assert_eq!(runs, [data::uuid("a", 3), data::uuid("a", 2)]);

    let id = &page.entries[0].summary.hash[..12];
    let report = server.reports.find(id).await.unwrap();
    assert_eq!(run_of(&report.entry), data::uuid("a", 3));
    assert_eq!(report.entry.summary.code_id.as_deref(), Some(data::CODE_ID));
    let detail = &report.detail;
    assert_eq!(detail.report_format, Some(12));
    let messages: Vec<&str> = detail.logs.iter().map(|it| it.message.as_str()).collect();
    assert!(messages.contains(&"no such unit"), "{messages:?}");
    let mut titles: Vec<&str> = detail
        .resources
        .iter()
        .map(|it| it.title.as_str())
        .collect();
    titles.sort_unstable();
    assert_eq!(titles, ["/etc/motd", "reload", "web"]);
    assert!(!detail.metrics.is_empty());

    let unknown = server.reports.find(&"0".repeat(40)).await;
    assert!(matches!(unknown, Err(FindReportError::Unknown(_))));
}

fn run_of(entry: &RunReportEntry) -> &str {
    &entry.summary.transaction_uuid
}

async fn a_node_is_deactivated(server: &ForwardingServer) {
    let node: Certname = data::NODE.parse().unwrap();
    let deactivated = server.reports.deactivate_node(&node).await.unwrap();
    assert_eq!(deactivated, NodeDeactivation::Queued);
    server.wait_until_sent().await;
    let gone = "nodes[certname, deactivated] { node_state = 'inactive' }";
    let gone = server.query(gone, 1).await;
    assert_eq!(gone[0]["certname"], data::NODE);
    assert!(gone[0]["deactivated"].is_string(), "{gone:?}");
    let active = NodeQuery::from_text("nodes[certname] { }");
    let active = server.inventory.query(&active).await.unwrap();
    assert!(active.is_empty(), "{active:?}");
}

async fn reports_are_complete(server: &ForwardingServer) {
    let columns = "certname, status, noop, environment, configuration_version, code_id, \
         job_id, catalog_uuid, transaction_uuid, producer, puppet_version, cached_catalog_status";
    let query = format!("reports[{columns}] {{ order by producer_timestamp }}");
    let reports = server.query(&query, 2).await;
    assert_eq!(reports.len(), 2, "{reports:?}");
    let expected = json!({
        "certname": data::NODE, "status": "failed", "noop": false,
        "environment": "production", "configuration_version": "17", "code_id": data::CODE_ID,
        "job_id": "42", "catalog_uuid": data::uuid("c", 2), "transaction_uuid": data::uuid("a", 2),
        "producer": "puppet.test", "puppet_version": "8.10.0", "cached_catalog_status": "not_used",
    });
    assert_eq!(reports[1], expected);
    let columns = "resource_title, status, property, old_value, new_value, message, file, line";
    let last = format!(
        "report in reports[hash] {{ transaction_uuid = '{}' }}",
        data::uuid("a", 2)
    );
    let events = format!("events[{columns}] {{ {last} order by resource_title }}");
    let events = server.query(&events, 3).await;
    let titles: Vec<&Value> = events
        .iter()
        .map(|event| &event["resource_title"])
        .collect();
    assert_eq!(titles, ["/etc/motd", "reload", "web"], "{events:?}");
    assert_eq!(events[0]["old_value"], "0600");
    assert_eq!(events[2]["new_value"], "[\"running\",1]");
    let logs = "reports[logs, metrics] { latest_report? = true }";
    let reports = server.query(logs, 1).await;
    let data = |key: &str| reports[0][key]["data"].as_array().map_or(0, Vec::len);
    assert_eq!((data("logs"), data("metrics")), (2, 3), "{reports:?}");
}

async fn facts_and_catalog_are_the_newest(server: &ForwardingServer) {
    let facts = server
        .query("inventory[facts.run, trusted.certname, environment] { }", 1)
        .await;
    let expected = json!({
        "facts.run": 2, "trusted.certname": data::NODE, "environment": "production",
    });
    assert_eq!(facts, [expected]);
    let packages = server
        .query("package_inventory[package_name, version] { }", 1)
        .await;
    assert_eq!(packages[0]["package_name"], "bash");
    let catalogs = "catalogs[version, code_id, catalog_uuid, transaction_uuid, producer] { }";
    let catalogs = server.query(catalogs, 1).await;
    assert_eq!(catalogs[0]["version"], "17");
    assert_eq!(catalogs[0]["catalog_uuid"], data::uuid("c", 2));
    let resources = server
        .query(
            "resources[type, title, parameters] { order by type, title }",
            8,
        )
        .await;
    let text = json!(resources).to_string();
    assert!(!text.contains("secret"), "{text}");
    let edges = "edges[relationship, source_title, target_title] { order by relationship }";
    let edges = server.query(edges, 4).await;
    let names: Vec<&Value> = edges.iter().map(|edge| &edge["relationship"]).collect();
    let expected = ["contains", "contains", "contains", "notifies"];
    assert_eq!(names, expected, "{edges:?}");
    let titles = "resources[title] { title ~ 'nul' order by type }";
    let titles = server.query(titles, 2).await;
    let with_mark = json!({"title": "nul\u{fffd}"});
    assert_eq!(titles, [with_mark.clone(), with_mark]);
}
