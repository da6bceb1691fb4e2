//! Which versions of code nodes have, as PuppetDB knows it.

use conformance::site::Site;
use inventory::{Inventory, PuppetDbConfig};
use pki::{ClientTls, TlsFiles};
use serde_json::{Value, json};

/// Nodes that run nothing.
const ACTIVE: &str = "coded.test";
const GONE: &str = "gone.test";

fn code_id(digit: &str) -> String {
    format!("urn:puppet:code-id:1:{};production", digit.repeat(40))
}

/// In the wire format of version 8.
fn report(certname: &str, code_id: Option<String>, at: &str) -> Value {
    json!({
        "certname": certname, "code_id": code_id, "producer_timestamp": at, "start_time": at, "end_time": at,
        "puppet_version": "7.23.0", "report_format": 12, "configuration_version": "1", "producer": "test",
        "environment": "production", "status": "unchanged", "noop": false, "noop_pending": false,
        "corrective_change": false, "job_id": null, "catalog_uuid": null, "cached_catalog_status": "not_used",
        "transaction_uuid": "5f5a1b2c-0000-4000-8000-000000000001", "metrics": [], "logs": [], "resources": [],
        "type": "agent",
    })
}

/// Those of the last reports, each once, and none of a node that is not there any more.
pub(crate) async fn the_code_ids_of_nodes_are_known(site: &mut Site) {
    let (cert, key) = site
        .installation
        .certificate("tutti.test")
        .expect("it is made");
    let tls = TlsFiles {
        cert,
        key,
        ca: site.installation.ca_dir().join("ca_crt.pem"),
        crl: None,
    };
    let loaded = ClientTls::load(&tls).expect("the certificate is good");
    let http = reqwest::Client::builder()
        .no_proxy()
        .tls_backend_preconfigured((*loaded).clone())
        .build();
    let http = http.expect("a client can be made");
    // It answers when the command is carried out.
    let submit = async |command: &str, certname: &str, body: &Value| {
        let url = format!(
            "{}/pdb/cmd/v1?command={command}&certname={certname}&secondsToWaitForCompletion=60",
            site.puppetdb.url()
        );
        let answer = http.post(url).json(body).send().await;
        let answer = answer.expect("PuppetDB answers").text().await;
        let answer: Value =
            serde_json::from_str(&answer.expect("it is whole")).expect("it is JSON");
        assert_eq!(answer["processed"], true, "{answer}");
    };
    for (certname, digit, at) in [
        (ACTIVE, Some("1"), "2026-01-01T00:00:00Z"),
        (ACTIVE, Some("2"), "2026-01-02T00:00:00Z"),
        (GONE, Some("3"), "2026-01-01T00:00:00Z"),
    ] {
        let report = report(certname, digit.map(code_id), at);
        submit("store_report&version=8", certname, &report).await;
    }
    let deactivate = json!({"certname": GONE, "producer_timestamp": "2026-01-03T00:00:00Z"});
    submit("deactivate_node&version=3", GONE, &deactivate).await;
    let config = PuppetDbConfig::new([site.puppetdb.url()], tls).expect("it is an address");
    let known = Inventory::puppetdb(config).code_ids().await;
    let known = known.expect("PuppetDB understands the question");
    assert!(known.contains(&code_id("2")), "{known:?}");
    for other in ["1", "3"] {
        assert!(!known.contains(&code_id(other)), "{known:?}");
    }
    assert_eq!(
        known.iter().filter(|known| **known == code_id("2")).count(),
        1
    );
}
