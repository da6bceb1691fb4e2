//! Two real agents that wait for each other, each with a database and the web server of the other's database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use conformance::cli::Said;
use serde_json::{Value, json};
use testkit::peers::puppet_agent::PUPPET;

use crate::fleet::FleetSite;
use crate::site::write;

const NODES: [&str; 3] = ["lb.example.net", "x.example.net", "y.example.net"];

const SITE: &str = r#"
site {
  pair { 'one': nodes => {
    Node['x.example.net']  => [Db['a'], Web['b']],
    Node['y.example.net']  => [Db['b'], Web['a']],
    Node['lb.example.net'] => Lb['one'],
  } }
}
"#;

const PAIR: &str = r#"
application pair() {
  ['a', 'b'].each |$it| {
    db { $it: export => Sql[$it] }
    web { $it: consume => Sql[$it], export => Http[$it] }
  }
  lb { $name: require => [Http['a'], Http['b']] }
}
"#;

/// A database. It waits as long as there is a file `hold`, and fails if there is a file `broken-NAME`.
const DB: &str = r#"
define db() {
  exec { "set up ${title}":
    command => "/bin/sh -c 'touch TARGET/begun-${title}; while test -e TARGET/hold; do sleep 0.05; done; test ! -e TARGET/broken-${title}'",
    onlyif  => "/bin/sh -c 'test -e TARGET/hold || test -e TARGET/broken-${title}'",
  }
  -> file { "TARGET/${title}.db": content => "${title}\n" }
}
Db produces Sql { host => $trusted['certname'] }
"#;

/// A web server, which can be set up only where its database is.
const WEB: &str = r#"
define web($host) {
  exec { "look for ${title}": command => '/bin/false', unless => "/usr/bin/test -e TARGET/${title}.db" }
  -> file { "TARGET/${title}.web": content => "${host}\n" }
}
Web consumes Sql { }
Web produces Http { }
"#;

const LB: &str = r#"
define lb() {
  exec { 'look for web servers': command => '/bin/false', unless => "/bin/sh -c 'test -e TARGET/a.web && test -e TARGET/b.web'" }
  -> file { "TARGET/lb": content => "lb\n" }
}
"#;

fn code() -> Vec<(&'static str, &'static str)> {
    vec![
        ("environment.conf", "applications = true\n"),
        ("manifests/site.pp", SITE),
        ("modules/pair/manifests/init.pp", PAIR),
        ("modules/db/manifests/init.pp", DB),
        ("modules/web/manifests/init.pp", WEB),
        ("modules/lb/manifests/init.pp", LB),
        (
            "modules/sql/manifests/init.pp",
            "capability sql(String $host) { }\n",
        ),
        ("modules/http/manifests/init.pp", "capability http() { }\n"),
    ]
}

/// The nodes and a server.
struct PairSite(FleetSite);

impl PairSite {
    async fn start() -> Self {
        Self(FleetSite::start(&NODES, &code()).await)
    }

    async fn tutti(&self, arguments: &[&str]) -> Said {
        self.0.tutti(arguments).await
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.site.target().join(name)
    }

    /// The plan job after its end.
    async fn ended(&self, number: u64) -> Value {
        let path = format!("/orchestrator/v1/plan_jobs/{number}");
        loop {
            let plan = self.0.client.get(&path).await.unwrap();
            if plan["state"] != "running" {
                return plan;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_wait_for_each_other_run_in_passes() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let pair = PairSite::start().await;
    let refused = pair.tutti(&["app", "run", "Pair", "--yes"]).await;
    refused.expect(2, &["nodes wait for each other", "--multi-pass"]);
    let planned = pair.tutti(&["app", "plan", "Pair", "--multi-pass"]).await;
    planned.expect(
        0,
        &[
            "Pass 1, level 0: 2 nodes",
            "Pair[one]: Web[b] (left for a later pass)",
            "Pass 2, level 0: 2 nodes",
            "Pass 2, level 1: 1 node",
        ],
    );

    // a database of the first pass cannot be set up
    write(&pair.path("broken-b"), "");
    let failed = pair
        .tutti(&["app", "run", "Pair", "--multi-pass", "--yes"])
        .await;
    failed.expect(
        1,
        &[
            "x.example.net runs again for Web[b]",
            "3 of 3 nodes did not succeed in 2 passes",
            "the run on y.example.net did not succeed",
        ],
    );
    assert!(pair.path("a.db").exists());
    assert!(!pair.path("a.web").exists() && !pair.path("b.web").exists());

    std::fs::remove_file(pair.path("broken-b")).unwrap();
    let ran = pair
        .tutti(&["app", "run", "Pair", "--multi-pass", "--yes"])
        .await;
    ran.expect(0, &["all nodes succeeded in 2 passes"]);
    for (name, node) in [("a.web", "x.example.net"), ("b.web", "y.example.net")] {
        assert_eq!(pair.0.site.read(name), format!("{node}\n"));
    }
    assert_eq!(pair.0.site.read("lb"), "lb\n");

    // what is there from before stays in the catalogs of the first pass
    let again = pair
        .tutti(&["app", "run", "Pair", "--multi-pass", "--yes"])
        .await;
    again.expect(0, &["pass 1: 2 unchanged", "pass 2: 3 unchanged"]);
    pair.0.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passes_go_on_after_the_server_was_killed_in_the_first_one() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let mut pair = PairSite::start().await;
    write(&pair.path("hold"), "");
    let run = ["app", "run", "Pair", "--multi-pass", "--yes", "--no-wait"];
    pair.tutti(&run).await.expect(0, &["1"]);
    // both have their catalogs, which they need the server for
    for begun in ["begun-a", "begun-b"] {
        while !pair.path(begun).exists() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    pair.0.site.kill_and_restart().await;
    std::fs::remove_file(pair.path("hold")).unwrap();
    let plan = pair.ended(1).await;
    assert_eq!(plan["state"], "success", "{plan:#}");
    let expected = json!({"state": "succeeded", "passes": 2, "nodes_by_runs": {"1": 1, "2": 2},
        "unsuccessful": {}, "unsuccessful_omitted": 0});
    assert_eq!(plan["result"], expected);
    assert_eq!(pair.0.site.read("lb"), "lb\n");
    pair.0.stop().await;
}
