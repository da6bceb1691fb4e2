//! Real agents whose runs are repeated in waves: a cluster that forms step by step, in the manner of puppet-gluster, and an
//! application whose producer learns its value in its first run.

use std::path::Path;

use testkit::peers::puppet_agent::PUPPET;

use conformance::cli::Said;

use crate::fleet::FleetSite;

const NODES: [&str; 3] = ["g1.example.net", "g2.example.net", "g3.example.net"];

/// Peers are exported in the first run. The first node creates the volume when it has all peers, and starts it in the
/// run after that; the others mount it then.
const CLUSTER: &str = r#"
class cluster {
  include common::again
  $own = "TARGET/${trusted['certname']}"
  file { [$own, "${own}/peers"]: ensure => directory }
  @@cluster::peer { $trusted['certname']: }
  Cluster::Peer <<| |>>
  if $trusted['certname'] == 'g1.example.net' {
    exec { 'create the volume':
      command => "/bin/sh -c 'echo created > ${own}/volume'",
      onlyif  => "/bin/sh -c 'test `ls ${own}/peers | wc -l` -eq 3'",
      creates => "${own}/volume",
      notify  => Exec['again'],
    }
    # not the exported resource itself: its order would be exported too
    File <| tag == 'peer' |> -> Exec['create the volume']
    if $facts['volume'] == 'created' {
      common::again::delta { 'volume': delta => 1 }
      exec { 'start the volume':
        command => "/bin/sh -c 'echo started > ${own}/started'",
        creates => "${own}/started",
        notify  => Common::Again::Delta['volume'],
      }
      @@cluster::mount { 'volume': }
    }
  } else {
    Cluster::Mount <<| |>>
  }
}
"#;

const PEER: &str = r#"
define cluster::peer {
  file { "TARGET/${trusted['certname']}/peers/${title}": content => "a peer\n", tag => 'peer' }
}
"#;

const MOUNT: &str = r#"
define cluster::mount {
  file { "TARGET/${trusted['certname']}/mounted": content => "${title}\n" }
}
"#;

/// The state of the volume when the run begins.
const FACT: &str = r#"
Facter.add(:volume) do
  setcode do
    file = "TARGET/#{Puppet[:certname]}/volume"
    File.exist?(file) ? File.read(file).strip : 'none'
  end
end
"#;

fn code() -> Vec<(&'static str, &'static str)> {
    vec![
        ("manifests/site.pp", "include cluster\n"),
        ("modules/cluster/manifests/init.pp", CLUSTER),
        ("modules/cluster/manifests/peer.pp", PEER),
        ("modules/cluster/manifests/mount.pp", MOUNT),
        ("modules/cluster/lib/facter/volume.rb", FACT),
    ]
}

async fn run_until_converged(fleet: &FleetSite, nodes: &[&str], max_waves: &str) -> Said {
    let options = ["--until-converged", "--max-waves", max_waves];
    fleet
        .tutti(&[&["job", "run"], nodes, &options].concat())
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_converges_in_waves() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let fleet = FleetSite::start(&NODES, &code()).await;
    let exports_seen_late = ["-n", "g1.example.net,g2.example.net"];
    let capped = run_until_converged(&fleet, &exports_seen_late, "1").await;
    capped.expect(1, &["not converged after 1 wave"]);
    // All peers are exported now, and the first node has not seen the third: from here every wave is determined,
    // whichever node of a wave is the first.
    let last_peer = fleet.tutti(&["job", "run", "-n", NODES[2]]).await;
    last_peer.expect(0, &[]);
    let all = NODES.join(",");
    let ran = run_until_converged(&fleet, &["-n", &all], "8").await;
    ran.expect(
        0,
        &[
            "wave 2",
            "requested it",
            "with changed data of other nodes",
            "all nodes have converged after 3 waves",
        ],
    );
    for node in NODES {
        let peers = std::fs::read_dir(fleet.site.target().join(node).join("peers")).unwrap();
        assert_eq!(peers.count(), 3, "{node}");
    }
    assert_eq!(fleet.site.read("g1.example.net/started"), "started\n");
    for node in ["g2.example.net", "g3.example.net"] {
        assert_eq!(fleet.site.read(&format!("{node}/mounted")), "volume\n");
    }
    for puppet in &fleet.puppets {
        let own_requests = puppet.home().join("var/state/again");
        assert!(
            !own_requests.exists(),
            "the job repeats the runs, and not the node"
        );
    }
    let quiet = run_until_converged(&fleet, &["-n", &all], "8").await;
    quiet.expect(0, &["3 unchanged; all nodes have converged after 1 wave"]);
    fleet.stop().await;
}

/// The database has the port that its fact says, which is known after the first run has set it up.
const SHOP: &str = r#"
capability database(String $port) { }
application shop() {
  shop::database { $name: export => Database[$name] }
  shop::web { $name: consume => Database[$name] }
}
define shop::database() {
  include common::again
  exec { 'set up the database':
    command => '/bin/sh -c "echo 5433 > TARGET/port"',
    creates => 'TARGET/port',
    notify  => Exec['again'],
  }
}
Shop::Database produces Database { port => $facts['database_port'] }
define shop::web(String $port) {
  file { 'TARGET/web': content => "${port}\n" }
}
Shop::Web consumes Database { }
site {
  shop { 'eu': nodes => {
    Node['g1.example.net'] => Shop::Database['eu'],
    Node['g2.example.net'] => Shop::Web['eu'],
  } }
}
"#;

const PORT_FACT: &str = r#"
Facter.add(:database_port) do
  setcode { File.exist?('TARGET/port') ? File.read('TARGET/port').strip : 'none' }
end
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_consumer_runs_again_when_its_producer_gives_another_value() {
    if !Path::new(PUPPET).exists() {
        eprintln!("SKIPPED: there is no {PUPPET}");
        return;
    }
    let code = [
        ("environment.conf", "applications = true\n"),
        ("manifests/site.pp", SHOP),
        ("modules/shop/lib/facter/database_port.rb", PORT_FACT),
    ];
    let fleet = FleetSite::start(&NODES[..2], &code).await;
    let run = ["app", "run", "Shop", "--yes", "--until-converged"];
    let ran = fleet.tutti(&run).await;
    ran.expect(
        0,
        &[
            "wave 2: 1 node (1 requested it)",
            "wave 3: 1 node (1 with changed data of other nodes)",
            "all nodes have converged after 3 waves",
        ],
    );
    assert_eq!(fleet.site.read("web"), "5433\n");
    let quiet = fleet.tutti(&run).await;
    quiet.expect(0, &["2 unchanged; all nodes have converged after 1 wave"]);
    fleet.stop().await;
}
