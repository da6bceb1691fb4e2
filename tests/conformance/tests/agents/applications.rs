//! An application over four real agents: databases first, then the web nodes with the databases' values.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use conformance::cli::Said;
use testkit::peers::puppet_agent::PUPPET;

use crate::fleet::FleetSite;
use crate::site::write;

const NODES: [&str; 4] = [
    "dev1.example.net",
    "dev2.example.net",
    "dev3.example.net",
    "dev4.example.net",
];

const SITE: &str = r#"
$target = 'TARGET'
site {
  ['app1', 'app2'].each |$app| {
    lamp { $app:
      target   => $target,
      password => Sensitive("secret of ${app}"),
      nodes    => {
        Node['dev1.example.net'] => Lamp::Mysql[$app],
        Node['dev2.example.net'] => Lamp::Webapp["${app}-1"],
        Node['dev3.example.net'] => Lamp::Webapp["${app}-2"],
        Node['dev4.example.net'] => Lamp::Webapp["${app}-3"],
      },
    }
  }
}
"#;

const LAMP: &str = r#"
application lamp(String $target, Sensitive[String] $password, Integer $webs = 3) {
  lamp::mysql { $name: target => $target, password => $password, export => Sql[$name] }
  Integer[1, $webs].each |$number| {
    lamp::webapp { "${name}-${number}": target => $target, consume => Sql[$name] }
  }
}
"#;

/// The database, which cannot be set up where the file `broken` exists.
const MYSQL: &str = r#"
define lamp::mysql(String $target, Sensitive[String] $password, Integer $port = 3306) {
  exec { "set up ${title}":
    command => '/bin/false',
    onlyif  => "/usr/bin/test -e ${target}/broken",
  }
  -> file { "${target}/${title}.database": content => "${title}\n" }
}
Lamp::Mysql produces Sql { host => $trusted['certname'] }
"#;

/// A web server, which can be set up only where its database is.
const WEBAPP: &str = r#"
define lamp::webapp(String $target, String $db_host, Integer $port, Sensitive[String] $password) {
  $database = $title.regsubst('-.*', '')
  exec { "look for ${database} of ${title}":
    command => '/bin/false',
    unless  => "/usr/bin/test -e ${target}/${database}.database",
  }
  -> file { "${target}/${title}.web":
    content   => Sensitive("${db_host}:${port} ${password.unwrap}\n"),
  }
}
Lamp::Webapp consumes Sql { db_host => $host }
"#;

fn code() -> Vec<(&'static str, &'static str)> {
    vec![
        ("environment.conf", "applications = true\n"),
        ("manifests/site.pp", SITE),
        ("modules/lamp/manifests/init.pp", LAMP),
        ("modules/lamp/manifests/mysql.pp", MYSQL),
        ("modules/lamp/manifests/webapp.pp", WEBAPP),
        (
            "modules/sql/manifests/init.pp",
            "capability sql(String $host, Integer $port, Sensitive[String] $password) { }\n",
        ),
    ]
}

/// Four nodes and a server.
struct LampSite(FleetSite);

impl LampSite {
    async fn start() -> Self {
        Self(FleetSite::start(&NODES, &code()).await)
    }

    async fn tutti(&self, arguments: &[&str]) -> Said {
        self.0.tutti(arguments).await
    }

    /// Runs all instances; the states of the nodes in the order of [`NODES`], and the status of their runs. Prints what
    /// the command took beside the runs of Puppet.
    async fn run(&self, code: i32) -> (Vec<String>, Vec<String>) {
        let began = Instant::now();
        let ran = self.tutti(&["app", "run", "Lamp", "--yes"]).await;
        let took = began.elapsed();
        ran.expect(code, &[]);
        let number = ran.text.split_once("Job ").unwrap().1;
        let number = number.split_once(':').unwrap().0.parse().unwrap();
        let mut nodes = self.0.client.nodes(number).await.unwrap();
        nodes.sort_by_key(|node| node["name"].to_string());
        print_overhead(took, &nodes);
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let states = nodes.iter().map(|node| text(&node["state"]));
        let statuses = nodes.iter().map(|node| text(&node["result"]["status"]));
        (states.collect(), statuses.collect())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.site.target().join(name)
    }
}

/// Prints the time beside the run of the database and the longest of the others. The nodes are in the order of
/// [`NODES`].
fn print_overhead(took: Duration, nodes: &[serde_json::Value]) {
    let seconds = |node: &serde_json::Value| node["duration"].as_f64().unwrap_or_default();
    let webs = nodes[1..].iter().map(seconds).fold(0.0, f64::max);
    let runs = seconds(&nodes[0]) + webs;
    let figure = serde_json::json!({
        "bench": "application_run_overhead",
        "nodes": nodes.len(),
        "puppet_runs_s": runs,
        "overhead_s": took.as_secs_f64() - runs,
    });
    eprintln!("{figure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn web_nodes_run_after_their_database_with_its_values() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let lamp = LampSite::start().await;
    let shown = lamp.tutti(&["app", "show", "Lamp[app1]"]).await;
    shown.expect(
        0,
        &[
            "Lamp::Mysql[app1] => dev1.example.net",
            "consumes Sql[app1]",
        ],
    );
    let planned = lamp.tutti(&["app", "plan", "Lamp"]).await;
    planned.expect(
        0,
        &[
            "Level 0: 1 node",
            "Level 1: 3 nodes",
            "dev2.example.net after dev1",
        ],
    );
    let planned = lamp
        .tutti(&["job", "plan", "-n", "dev1.example.net,dev2.example.net"])
        .await;
    planned.expect(
        0,
        &["LEVEL", "Lamp[app1] has components on other nodes too"],
    );

    // a database that cannot be set up
    write(&lamp.path("broken"), "");
    let (states, _) = lamp.run(1).await;
    assert_eq!(states, ["failed", "skipped", "skipped", "skipped"]);
    assert!(!lamp.path("app1-1.web").exists());

    std::fs::remove_file(lamp.path("broken")).unwrap();
    let (states, statuses) = lamp.run(0).await;
    assert_eq!(states, ["finished"; 4]);
    assert_eq!(statuses, ["changed"; 4]);
    for (app, number) in [
        ("app1", 1),
        ("app1", 2),
        ("app1", 3),
        ("app2", 1),
        ("app2", 3),
    ] {
        let web = std::fs::read_to_string(lamp.path(&format!("{app}-{number}.web"))).unwrap();
        assert_eq!(web, format!("dev1.example.net:3306 secret of {app}\n"));
    }

    let (states, statuses) = lamp.run(0).await;
    assert_eq!(
        (states, statuses),
        (
            vec!["finished".to_owned(); 4],
            vec!["unchanged".to_owned(); 4]
        )
    );

    let refused = lamp.tutti(&["app", "run", "Lamp[app3]", "--yes"]).await;
    refused.expect(2, &["Lamp[app3]", "Lamp[app1], Lamp[app2]"]);
    lamp.0.stop().await;
}
