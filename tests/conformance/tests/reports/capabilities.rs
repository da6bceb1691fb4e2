//! Capabilities of applications in the catalogs that a real PuppetDB has, as another server of Tutti finds them.

use std::time::Duration;

use catalogs::{CapabilitySources, PuppetdbCapabilities};
use compiler::{CapabilitySearch, ProducedCapabilities as _, StoredCapability};
use environments::EnvironmentName;
use pcp::Certname;
use tokio::runtime::Handle;

use crate::{ForwardingServer, data};

/// The run whose catalog PuppetDB gets while it is waited for.
const LATE_RUN: u32 = 4;

pub(crate) async fn other_servers_find_them(server: &ForwardingServer) {
    let other = sources_of(server, "other.test");
    let own = sources_of(server, "puppet.test");

    wait_for_catalog(server, 3).await;
    what_a_run_did_not_produce_is_missing(&other, &own).await;
    let found = find(&other, "production", "Demo::Http").await.unwrap();
    let [http] = &found[..] else {
        panic!("one node produces it: {found:?}")
    };
    assert_eq!(http.certname, data::NODE);
    assert_eq!(http.code_id.as_deref(), Some(data::CODE_ID));
    let attributes = http.attributes.iter();
    let mut attributes: Vec<String> = attributes
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    // PuppetDB has no order of parameters
    attributes.sort();
    assert_eq!(attributes, ["host=web1.test", "port=80", "run=3"]);
    assert!(
        find(&own, "production", "Demo::Http")
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        find(&other, "staging", "Demo::Http")
            .await
            .unwrap()
            .is_empty()
    );

    let error = find(&other, "production", "Sql").await.unwrap_err();
    assert!(
        error.contains("the PuppetDB at https://localhost:"),
        "{error}"
    );
    let cause = "the attribute password of Sql[app1] of web1.test is sensitive";
    assert!(error.contains(cause), "{error}");

    the_catalog_of_a_run_is_awaited(server, &other).await;
}

async fn what_a_run_did_not_produce_is_missing(other: &CapabilitySources, own: &CapabilitySources) {
    let (environment, node) = names();
    let wanted = ["Demo::Http[app1]".to_owned(), "Http[app2]".to_owned()];
    let run = data::uuid("a", 3);
    let missing = other.missing_after_run(&environment, &node, (&wanted, &run));
    assert_eq!(missing.await.unwrap(), ["Http[app2]"]);
    let missing = own.missing(&environment, &node, &wanted).await.unwrap();
    assert_eq!(
        missing, wanted,
        "its own catalogs are not read from PuppetDB"
    );
}

async fn the_catalog_of_a_run_is_awaited(server: &ForwardingServer, other: &CapabilitySources) {
    let (environment, node) = names();
    let wanted = ["Demo::Http[app1]".to_owned()];
    let run = data::uuid("a", LATE_RUN);
    let looking = || other.missing_after_run(&environment, &node, (&wanted, &run));
    // the catalog of run 3 is there, and does not count
    let early = tokio::time::timeout(Duration::from_secs(2), looking()).await;
    assert!(early.is_err(), "{early:?}");
    let catalog = data::catalog(LATE_RUN);
    server.reports.record_catalog(catalog).await.unwrap();
    wait_for_catalog(server, LATE_RUN).await;
    assert_eq!(looking().await.unwrap(), Vec::<String>::new());
}

/// Waits until PuppetDB has the catalog of a run.
async fn wait_for_catalog(server: &ForwardingServer, run: u32) {
    let run = data::uuid("a", run);
    let query = format!("catalogs[certname] {{ transaction_uuid = '{run}' }}");
    server.query(&query, 1).await;
}

fn names() -> (EnvironmentName, Certname) {
    ("production".parse().unwrap(), data::NODE.parse().unwrap())
}

/// The capabilities as the server with this certname finds them in PuppetDB.
fn sources_of(server: &ForwardingServer, certname: &str) -> CapabilitySources {
    let certname: Certname = certname.parse().unwrap();
    let inventory = server.inventory.clone();
    let puppetdb = PuppetdbCapabilities::new(inventory, Handle::current(), Some(&certname));
    CapabilitySources {
        embedded: None,
        puppetdb: Some(puppetdb),
    }
}

/// Searches on a thread outside of the runtime, as compilations do.
async fn find(
    sources: &CapabilitySources,
    environment: &str,
    type_name: &str,
) -> Result<Vec<StoredCapability>, String> {
    let capabilities = sources.of_code(None).unwrap();
    let (environment, type_name) = (environment.to_owned(), type_name.to_owned());
    let searching = move || {
        let search = CapabilitySearch {
            environment: &environment,
            type_name: &type_name,
            title: "app1",
            interrupt: None,
        };
        capabilities
            .find(&search)
            .map_err(|error| error.to_string())
    };
    let working = tokio::task::spawn_blocking(|| std::thread::spawn(searching).join().unwrap());
    working.await.unwrap()
}
