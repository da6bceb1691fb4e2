//! Real agents that are stopped or killed during an ordered run, and a server that is killed between its passes.
//!
//! `db.test` produces what `web.test` consumes, and that what `last.test` consumes. The scripted `puppet` of each node gets a
//! real catalog of the server, since an ordered run succeeds only with the capabilities of its catalog, and waits until the
//! test lets it end. The matrix of all phases is in `jobs/tests/it/adverse_agents`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use testkit::installation::Installation;

use crate::puppet_runs::{puppet, reports};
use crate::world::{World, file, logged, until};

const NODES: [&str; 3] = ["db.test", "web.test", "last.test"];
const SUBJECT: &str = "web.test";

/// Gets a catalog as Puppet does, and waits for the test.
const RUN: &str = r#"
number=$(wc -l <$home/runs)
job=$(sed -n "$number s/.*--job-id \([0-9]*\).*/\1/p" $home/runs)
curl --silent --fail --cacert @CA@ --cert @CERT@ --key @KEY@ --header 'Accept: application/json' \
    --data environment=production --data facts_format=application/json --data job_id=$job \
    --data-urlencode 'facts=@FACTS@' --output $home/catalog \
    https://localhost:@PORT@/puppet/v3/catalog/@NODE@ || exit 1
touch $home/begun-$number
while [ ! -e $home/end-$number ] && cd $home; do sleep 0.05; done
"#;

/// The three nodes in a row.
const ROW: &str = "
application row() {
  row::db { $name: export => Address[$name] }
  row::web { $name: consume => Address[$name], export => Page[$name] }
  row::last { $name: consume => Page[$name] }
}
";

const ROW_SITE: &str = "
site {
  row { 'one':
    nodes => {
      Node['db.test']   => Row::Db['one'],
      Node['web.test']  => Row::Web['one'],
      Node['last.test'] => Row::Last['one'],
    },
  }
}
";

/// Two nodes that wait for each other, so that both run in two passes.
const PAIR: &str = "
application row() {
  row::db { 'red': export => Address['red'] }
  row::db { 'blue': export => Address['blue'] }
  row::web { 'red': consume => Address['red'], export => Page['red'] }
  row::web { 'blue': consume => Address['blue'], export => Page['blue'] }
}
";

const PAIR_SITE: &str = "
site {
  row { 'one':
    nodes => {
      Node['db.test']  => [Row::Db['red'], Row::Web['blue']],
      Node['web.test'] => [Row::Db['blue'], Row::Web['red']],
    },
  }
}
";

fn write_code(installation: &Installation, application: &str, site: &str) {
    let environment = installation.code_dir().join("environments/production");
    for (path, text) in [
        ("environment.conf", "applications = true\n"),
        ("manifests/site.pp", site),
        ("modules/row/manifests/init.pp", application),
        (
            "modules/row/manifests/db.pp",
            "define row::db() { }\nRow::Db produces Address { host => $trusted['certname'] }\n",
        ),
        (
            "modules/row/manifests/web.pp",
            "define row::web(String $host) { }\nRow::Web consumes Address { }\nRow::Web produces Page { url => $host }\n",
        ),
        (
            "modules/row/manifests/last.pp",
            "define row::last(String $url) { }\nRow::Last consumes Page { }\n",
        ),
        (
            "modules/address/manifests/init.pp",
            "capability address(String $host) { }\n",
        ),
        (
            "modules/page/manifests/init.pp",
            "capability page(String $url) { }\n",
        ),
    ] {
        let path = environment.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

/// How far the subject is in an ordered job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Its lease is held, and the producer runs.
    Held,
    Running,
    /// Its run is done, and another node's is in progress.
    Done,
}

/// A server and nodes whose runs wait for the test.
struct Site {
    world: World,
    homes: Vec<PathBuf>,
    /// Options of the subject's agent.
    options: &'static str,
}

// === impl Site ===

impl Site {
    async fn start(nodes: &[&str], code: (&str, &str), options: &'static str) -> Self {
        let mut world = World::start(&[]).await;
        write_code(&world.installation, code.0, code.1);
        let mut homes = Vec::new();
        for node in nodes {
            homes.push(puppet(&world, node, &run_script(&world, node)));
            let more = if *node == SUBJECT { options } else { "" };
            world.start_agent(node, more).await;
        }
        world.client.connected(nodes.len()).await.unwrap();
        Self {
            world,
            homes,
            options,
        }
    }

    async fn row(options: &'static str) -> Self {
        Self::start(&NODES, (ROW, ROW_SITE), options).await
    }

    async fn run(&self, more: &Value) -> u64 {
        let mut body = json!({"environment": "production", "scope": {"application": "Row"}});
        let fields = body.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        let path = "/orchestrator/v1/command/deploy";
        let made = self.world.client.post(path, &body).await.unwrap();
        made["job"]["name"].as_str().unwrap().parse().unwrap()
    }

    /// Moves the job into the phase, in which each node has its run of this number or none.
    async fn reach(&self, phase: Phase, number: u32) {
        self.begun(0, number).await;
        self.is_held(true).await;
        if phase == Phase::Held {
            return;
        }
        self.end(0, number);
        self.begun(1, number).await;
        if phase == Phase::Running {
            return;
        }
        self.end(1, number);
        self.begun(2, number).await;
    }

    async fn begun(&self, node: usize, number: u32) {
        file(&self.homes[node].join(format!("begun-{number}"))).await;
    }

    fn end(&self, node: usize, number: u32) {
        std::fs::write(self.homes[node].join(format!("end-{number}")), "").unwrap();
    }

    fn end_all(&self, number: u32) {
        for node in 0..self.homes.len() {
            self.end(node, number);
        }
    }

    /// The number of runs of each node.
    fn runs(&self) -> Vec<usize> {
        let count = |home: &PathBuf| {
            let runs = std::fs::read_to_string(home.join("runs"));
            runs.unwrap_or_default().lines().count()
        };
        self.homes.iter().map(count).collect()
    }

    /// Waits until the subject's lease keeps other runs from starting, or does not.
    async fn is_held(&self, wanted: bool) {
        let lock = self.homes[1].join("run.lock");
        until(&format!("the lease is held: {wanted}"), || async {
            is_lease_holder(&lock) == wanted
        })
        .await;
    }

    /// Waits until the subject's run is requested from its agent.
    async fn is_requested(&self, job: u64) {
        until("the run is requested", || async {
            let rows = self.world.client.nodes(job).await.unwrap();
            let is_running = |row: &Value| row["name"] == SUBJECT && row["state"] == "running";
            rows.iter().any(is_running)
        })
        .await;
    }

    /// Waits until the subject's agent, which is stopped, has received something.
    async fn has_unread_request(&self) {
        let pid = self.world.agents[SUBJECT].pid().as_raw_nonzero();
        until("the agent has received the request", || async {
            has_unread_bytes(pid.get())
        })
        .await;
    }

    /// Lets the subject's lease end, as its clock does when no server renews it.
    fn expire_lease(&self) {
        let home = self.world.installation.agent_home(SUBJECT);
        let path = home.join("spool/.lease/lease.json");
        let mut lease: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        lease["end"]["boot_ms"] = 1.into();
        let other = path.with_extension("other");
        std::fs::write(&other, lease.to_string()).unwrap();
        std::fs::rename(other, path).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(self.world.agents[SUBJECT].pid(), signal).unwrap();
    }

    async fn kill_and_start_agent(&mut self) {
        let agent = self.world.agents.remove(SUBJECT).unwrap();
        agent.kill().await.unwrap();
        self.world.start_agent(SUBJECT, self.options).await;
    }

    /// Waits for the end of a job; returns the states of the nodes in the order of [`NODES`], and the subject's row.
    async fn ended(&self, job: u64) -> (Vec<String>, Value) {
        let rows = self.world.ended(job).await;
        let row = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap();
        let state = |name: &&str| row(name)["state"].as_str().unwrap().to_owned();
        (NODES.iter().map(state).collect(), row(SUBJECT).clone())
    }

    async fn succeeded(&self, job: u64) {
        let (states, row) = self.ended(job).await;
        assert_eq!(states, ["finished"; 3], "{row:#}");
        self.is_held(false).await;
    }

    async fn stop(self) {
        self.world.stop().await;
    }
}

fn is_lease_holder(lock: &Path) -> bool {
    let pid = std::fs::read_to_string(lock).unwrap_or_default();
    let name = std::fs::read_to_string(format!("/proc/{}/comm", pid.trim()));
    name.is_ok_and(|name| name.trim_end() == "puppet-lease")
}

/// True if a TCP connection of the process has received bytes that the process has not read.
fn has_unread_bytes(pid: i32) -> bool {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let links = descriptors.filter_map(|it| std::fs::read_link(it.ok()?.path()).ok());
    let sockets: Vec<String> = links.map(|it| it.to_string_lossy().into_owned()).collect();
    let connections = std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap();
    connections.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (queues, inode) = (fields[4], fields[9]);
        let is_own = sockets.contains(&format!("socket:[{inode}]"));
        is_own
            && queues
                .split_once(':')
                .is_some_and(|(_, unread)| unread != "00000000")
    })
}

fn run_script(world: &World, node: &str) -> String {
    let installation = &world.installation;
    let (cert, key) = installation.certificate(node).unwrap();
    let facts = json!({"name": node, "values": {"kernel": "Linux"}});
    let run = RUN
        .replace(
            "@CA@",
            installation.ca_dir().join("ca_crt.pem").to_str().unwrap(),
        )
        .replace("@CERT@", cert.to_str().unwrap())
        .replace("@KEY@", key.to_str().unwrap())
        .replace("@PORT@", &installation.puppet_api_port().to_string())
        .replace("@FACTS@", &facts.to_string())
        .replace("@NODE@", node);
    format!("{run}{}", reports("changed", 2))
}

/// Its actions and its lease are processes of their own.
#[tokio::test]
async fn an_agent_that_is_stopped_for_a_while_costs_nothing() {
    let site = Site::row("").await;
    for (number, phase) in (1..).zip([Phase::Held, Phase::Running, Phase::Done]) {
        let job = site.run(&json!({})).await;
        site.reach(phase, number).await;
        site.signal(Signal::STOP);
        site.end_all(number);
        site.signal(Signal::CONT);
        site.succeeded(job).await;
        assert_eq!(
            site.runs(),
            vec![number as usize; 3],
            "{phase:?}: once each"
        );
    }
    site.stop().await;
}

/// The lease ends by its own clock while the agent is stopped. A run that has it keeps it until its end.
#[tokio::test]
async fn an_agent_that_is_stopped_until_its_lease_is_over_runs_once() {
    let site = Site::row("").await;
    for (number, phase) in (1..).zip([Phase::Held, Phase::Running, Phase::Done]) {
        let job = site.run(&json!({})).await;
        site.reach(phase, number).await;
        site.signal(Signal::STOP);
        site.expire_lease();
        if phase == Phase::Running {
            site.is_held(true).await;
        } else {
            site.is_held(false).await;
        }
        site.end_all(number);
        site.is_held(false).await;
        site.signal(Signal::CONT);
        site.succeeded(job).await;
        assert_eq!(
            site.runs(),
            vec![number as usize; 3],
            "{phase:?}: once each"
        );
    }
    site.stop().await;
}

#[tokio::test]
async fn an_agent_that_is_killed_and_started_again_runs_once() {
    let mut site = Site::row("").await;
    for (number, phase) in (1..).zip([Phase::Held, Phase::Running, Phase::Done]) {
        let job = site.run(&json!({})).await;
        site.reach(phase, number).await;
        site.kill_and_start_agent().await;
        site.end_all(number);
        site.succeeded(job).await;
        assert_eq!(
            site.runs(),
            vec![number as usize; 3],
            "{phase:?}: once each"
        );
    }
    site.stop().await;
}

/// Shortest keepalive that an agent can have: it must have slept after a silence of 11 seconds.
const SHORT_KEEPALIVE: &str = "ping-interval : 6\nallowed-keepalive-timeouts : 0\n";
const LONGER_THAN_KEEPALIVE: Duration = Duration::from_secs(12);
const SLEPT: &str = "ignored a request that arrived while the agent slept";

/// The request to run waited for the agent. The agent discards it, and gets it again.
#[tokio::test]
async fn a_run_that_was_requested_from_a_sleeping_agent_is_requested_again() {
    let site = Site::row(SHORT_KEEPALIVE).await;
    let job = site.run(&json!({})).await;
    site.reach(Phase::Held, 1).await;
    site.signal(Signal::STOP);
    site.end_all(1);
    site.is_requested(job).await;
    // The silence is what the agent goes by; no event shortens it.
    tokio::time::sleep(LONGER_THAN_KEEPALIVE).await;
    assert_eq!(site.runs(), [1, 0, 0]);
    site.signal(Signal::CONT);
    logged(&site.world.agents[SUBJECT], SLEPT).await;
    site.succeeded(job).await;
    assert_eq!(site.runs(), [1, 1, 1]);
    site.stop().await;
}

/// The request to run waited for the agent, on a connection to a server that is gone. The next server gave the run up: it
/// does not start when the agent wakes.
#[tokio::test]
async fn a_run_that_was_given_up_does_not_start_when_its_agent_wakes() {
    let mut site = Site::row(SHORT_KEEPALIVE).await;
    let job = site
        .run(&json!({"timeout": LONGER_THAN_KEEPALIVE.as_secs() + 8}))
        .await;
    site.reach(Phase::Held, 1).await;
    site.signal(Signal::STOP);
    site.end(0, 1);
    site.has_unread_request().await;
    site.world.kill_server().await;
    site.world.start_server().await;
    let (states, row) = site.ended(job).await;
    assert_eq!(states, ["finished", "errored", "skipped"], "{row:#}");
    assert_eq!(row["result"]["_error"]["kind"], "tutti/timeout", "{row:#}");
    site.expire_lease();
    site.is_held(false).await;
    site.signal(Signal::CONT);
    logged(&site.world.agents[SUBJECT], SLEPT).await;
    site.world.until_connected(SUBJECT, true).await;
    // By the end of its next run the agent has handled all that waited for it.
    site.end_all(1);
    site.end_all(2);
    let next = site.run(&json!({})).await;
    site.succeeded(next).await;
    assert_eq!(site.runs(), [2, 1, 1]);
    site.stop().await;
}

/// Each node runs once in each pass, although the server was killed in each, while the last runs of the pass ended.
#[tokio::test]
async fn passes_go_on_after_the_server_was_killed_at_the_end_of_each() {
    let nodes = &NODES[..2];
    let mut site = Site::start(nodes, (PAIR, PAIR_SITE), "").await;
    let scope = json!({"environment": "production", "scope": {"application": "Row"}});
    let path = "/orchestrator/v1/command/multi_pass";
    let started = site
        .world
        .client
        .post(path, &json!({"deploy": scope}))
        .await;
    assert_eq!(started.unwrap()["name"], "1");
    for number in 1..=2 {
        for node in 0..nodes.len() {
            site.begun(node, number).await;
        }
        site.is_held(true).await;
        site.world.kill_server().await;
        site.end_all(number);
        site.world.start_server().await;
    }
    let plan = "/orchestrator/v1/plan_jobs/1";
    until("the passes are over", || async {
        site.world.client.get(plan).await.unwrap()["state"] != "running"
    })
    .await;
    let plan = site.world.client.get(plan).await.unwrap();
    assert_eq!(plan["state"], "success", "{plan:#}");
    assert_eq!(site.runs(), [2, 2], "each node once in each pass");
    site.is_held(false).await;
    site.stop().await;
}
