//! Reruns of Puppet on one host: the shipped module `common` with real agents, and `tutti-agent again`.

use std::fs::File;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use testkit::peers::puppet_agent::PUPPET;
use testkit::peers::{Puppet8, PuppetAgent};
use tokio::process::{Child, Command};

use crate::site::{AgentSite, outcome, programs, write};

/// Longer than all reruns of a test take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(150);

/// A type that notes each run in the file of its name, and changes something in the first `steps` runs.
const TYPE: &str = r"
Puppet::Type.newtype(:demo_step) do
  newparam(:name, namevar: true)
  newparam(:steps)
  newproperty(:done) do
    defaultto :yes
    newvalue(:yes) { nil }
    def retrieve
      before = File.exist?(resource[:name]) ? File.readlines(resource[:name]).size : 0
      run = [Process.clock_gettime(Process::CLOCK_BOOTTIME), ENV['HOME'].inspect, Puppet[:noop]].join(' ')
      File.write(resource[:name], run + 10.chr, mode: 'a')
      before < resource[:steps].to_i ? :no : :yes
    end
  end
end
";

/// Waits until a file exists, in the middle of a run.
const WAITING_TYPE: &str = r"
Puppet::Type.newtype(:demo_wait) do
  newparam(:name, namevar: true)
  newproperty(:done) do
    defaultto :yes
    newvalue(:yes) { nil }
    def retrieve
      File.write(resource[:name] + '.begun', '')
      sleep 0.05 until File.exist?(resource[:name])
      :yes
    end
  end
end
";

/// Requests in three steps: a file of runs `TARGET/runs`, and short pauses.
const THREE_STEPS: &str = "
class { 'common::again': max_delay => 1 }
demo_step { 'TARGET/runs': steps => 2, notify => Exec['again'] }
";

struct AgainSite {
    site: AgentSite,
    agent: PuppetAgent,
}

/// A run of Puppet as the type notes it.
#[derive(Debug)]
struct NotedRun {
    /// Seconds since the machine started.
    at: f64,
    home: String,
    is_noop: bool,
}

impl AgainSite {
    async fn start() -> Self {
        let site = AgentSite::start("").await;
        let agent = site.agent("again.test");
        std::fs::create_dir_all(site.target()).unwrap();
        Self { site, agent }
    }

    async fn start_with_puppet8() -> Self {
        let site = AgentSite::start("").await;
        let agent = PuppetAgent::new_puppet8(&site.installation, "again.test").unwrap();
        std::fs::create_dir_all(site.target()).unwrap();
        Self { site, agent }
    }

    fn deploy(&self, environment: &str, digit: char, manifest: &str) {
        let files = [
            ("manifests/site.pp", manifest),
            ("modules/demo/lib/puppet/type/demo_step.rb", TYPE),
            ("modules/demo/lib/puppet/type/demo_wait.rb", WAITING_TYPE),
        ];
        self.site.deploy(environment, digit, &files);
    }

    /// Exit code and output of `puppet agent --test`.
    async fn run(&self, more: &[&str]) -> (Option<i32>, String) {
        let arguments = [&["agent", "--test"], more].concat();
        outcome(&self.agent.run(&arguments).await.unwrap())
    }

    fn state(&self, name: &str) -> PathBuf {
        self.agent.state_dir().join("again").join(name)
    }

    fn runs(&self) -> Vec<NotedRun> {
        let text = std::fs::read_to_string(self.site.target().join("runs")).unwrap_or_default();
        text.lines().map(NotedRun::parse).collect()
    }

    /// Waits for the end of the process that waits for requests: first of the lock that it holds, and then of the process,
    /// which gives its lock up before it ends.
    async fn all_is_done(&self) {
        let lock = self.state("waiter.lock");
        let waited = tokio::task::spawn_blocking(move || File::open(lock).unwrap().lock().unwrap());
        let waited = tokio::time::timeout(PATIENCE, waited).await;
        assert!(waited.is_ok(), "{}", self.listing("human").await);
        waited.unwrap().unwrap();
        let pid = std::fs::read_to_string(self.state("waiter.lock")).unwrap();
        let command = Path::new("/proc").join(pid.trim()).join("cmdline");
        // Of a process that has ended and is not yet waited for, it is empty.
        let runs = || std::fs::read(&command).is_ok_and(|it| it.starts_with(b"again: waits"));
        let ended = tokio::time::timeout(PATIENCE, async {
            while runs() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        assert!(ended.await.is_ok(), "{} did not end", pid.trim());
        assert_eq!(self.waiting_processes(), Vec::<u32>::new());
    }

    /// Processes that wait for requests of this node. The lock is compared as a file, because a process in another root
    /// sees another path.
    fn waiting_processes(&self) -> Vec<u32> {
        let identity =
            |path: &Path| Some((path.metadata().ok()?.dev(), path.metadata().ok()?.ino()));
        let lock = identity(&self.state("waiter.lock"));
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
                continue;
            };
            let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let opened = std::fs::read_dir(entry.path().join("fd"));
            let mut opened = opened.into_iter().flatten().flatten();
            let mut has_lock = || lock.is_some() && opened.any(|it| identity(&it.path()) == lock);
            if command.starts_with(b"again: waits to run Puppet again") && has_lock() {
                found.push(pid);
            }
        }
        found
    }

    /// Waits until a run has come to `demo_wait { 'TARGET/go': }`.
    async fn waits_in_run(&self) {
        let begun = self.site.target().join("go.begun");
        let begun = tokio::time::timeout(PATIENCE, async {
            while !begun.exists() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        });
        begun.await.unwrap();
    }

    /// Lets the run go on.
    fn end_wait_in_run(&self) {
        write(&self.site.target().join("go"), "");
    }

    async fn again(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(programs().agent);
        command.arg("again").args(arguments).arg("--statedir");
        command.arg(self.agent.state_dir());
        outcome(&command.output().await.unwrap())
    }

    async fn listing(&self, format: &str) -> String {
        let (status, printed) = self.again(&["list", "--format", format]).await;
        assert_eq!(status, Some(0), "{printed}");
        printed
    }

    async fn requests(&self) -> Value {
        let listing: Value = serde_json::from_str(&self.listing("json").await).unwrap();
        listing["requests"].clone()
    }
}

impl NotedRun {
    fn parse(line: &str) -> Self {
        let words: Vec<_> = line.split(' ').collect();
        Self {
            at: words[0].parse().unwrap(),
            home: words[1].to_owned(),
            is_noop: words[2] == "true",
        }
    }
}

/// Runs a scenario with Puppet 7 and Puppet 8.
macro_rules! with_both {
    ($($name:ident),+ $(,)?) => {
        mod puppet7 {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if !std::path::Path::new(super::PUPPET).exists() {
                        eprintln!("SKIPPED: there is no {}", super::PUPPET);
                        return;
                    }
                    let it = super::AgainSite::start().await;
                    super::$name(&it).await;
                    it.site.stop().await;
                }
            )+
        }
        mod puppet8 {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(obstacle) = super::Puppet8::obstacle() {
                        eprintln!("SKIPPED: no Puppet 8: {obstacle}");
                        return;
                    }
                    let it = super::AgainSite::start_with_puppet8().await;
                    super::$name(&it).await;
                    it.site.stop().await;
                }
            )+
        }
    };
}

with_both!(
    a_run_of_a_person_is_repeated_until_it_requests_nothing,
    requests_coalesce_and_delta_is_a_minimum,
    noop_a_disabled_agent_and_the_cap_are_honoured,
    a_daemon_is_told_to_run_and_replaced_if_it_has_gone,
    a_killed_waiter_is_replaced_and_another_run_is_waited_for,
);

async fn a_run_of_a_person_is_repeated_until_it_requests_nothing(it: &AgainSite) {
    it.deploy("production", 'a', THREE_STEPS);
    let (status, printed) = it.run(&[]).await;
    assert_eq!(status, Some(2), "{printed}");
    assert!(
        printed.contains("after the end of this run (rerun 1 of at most 10)"),
        "{printed}"
    );
    it.all_is_done().await;
    assert_eq!(it.runs().len(), 3);
    let listing = it.listing("human").await;
    assert!(listing.starts_with("no rerun is requested\n"), "{listing}");
    assert!(
        listing.contains("agent production: 2 reruns in a row; last, at "),
        "{listing}"
    );
    assert!(listing.trim_end().ends_with(": unchanged"), "{listing}");

    // an unchanged run starts nothing, and a new episode counts from the beginning
    let (status, printed) = it.run(&[]).await;
    assert_eq!(status, Some(0), "{printed}");
    assert_eq!(it.waiting_processes(), Vec::<u32>::new());
    std::fs::remove_file(it.site.target().join("runs")).unwrap();

    // from cron, in an environment without anything
    let mut command = Command::new("env");
    command
        .args(["-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin"])
        .arg(it.agent.program())
        .args(["agent", "--onetime", "--no-daemonize"])
        .stdin(Stdio::null());
    let ran = command.output().await.unwrap();
    assert!(ran.status.success(), "{:?}", outcome(&ran));
    it.all_is_done().await;
    let runs = it.runs();
    assert_eq!(runs.len(), 3, "{runs:?}");
    assert!(runs.iter().all(|run| run.home == runs[0].home), "{runs:?}");
}

async fn requests_coalesce_and_delta_is_a_minimum(it: &AgainSite) {
    // fifty notifications, of which most have the same key
    let manifest = "
        class { 'common::again': max_delay => 0, jitter => 0 }
        demo_step { 'TARGET/runs': steps => 1 }
        $titles = range_of_titles
        common::again::delta { 'once':
          delta => 4, jitter => 0.25, key => 'peers', subscribe => Demo_step['TARGET/runs'],
        }
        common::again::delta { 'twice \"quoted\" and \\'more\\'':
          delta => '4', key => 'peers', jitter => 0.25, subscribe => Demo_step['TARGET/runs'],
        }
        common::again::delta { 'from now':
          delta => 6, start_timer_now => true, jitter => 0, key => \"a key of \\u{1F980} and 'quotes'\",
          subscribe => Demo_step['TARGET/runs'],
        }
        $titles.each |$title| {
          common::again::delta { $title:
            delta => 1, key => 'many', jitter => 0, subscribe => Demo_step['TARGET/runs'],
          }
        }
        demo_step { 'TARGET/end': steps => 0, require => Demo_step['TARGET/runs'] }
    ";
    let titles: Vec<_> = (0..50).map(|number| format!("'many {number}'")).collect();
    let manifest = manifest.replace("range_of_titles", &format!("[{}]", titles.join(", ")));
    it.deploy("production", 'a', &manifest);
    let (status, printed) = it.run(&[]).await;
    assert_eq!(status, Some(2), "{printed}");
    let requests = it.requests().await;
    let mut keys: Vec<_> = requests
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["key"])
        .collect();
    keys.sort_by_key(|key| key.to_string());
    assert_eq!(
        keys,
        ["a key of \u{1F980} and 'quotes'", "many", "peers"],
        "{requests}"
    );
    it.all_is_done().await;
    let runs = it.runs();
    // one for the key `many`, and at most one for each of the others
    assert!((2..=4).contains(&runs.len()), "{runs:?}");
    let last = runs.last().unwrap().at - runs[0].at;
    assert!(last >= 4.0, "{runs:?}");
    assert!(runs[1].at - runs[0].at >= 1.0, "{runs:?}");
}

async fn noop_a_disabled_agent_and_the_cap_are_honoured(it: &AgainSite) {
    it.deploy("production", 'a', THREE_STEPS);
    let (status, printed) = it.run(&["--noop"]).await;
    assert_eq!(status, Some(0), "{printed}");
    assert!(!it.state("state.json").exists(), "{printed}");
    assert!(it.runs()[0].is_noop);
    std::fs::remove_file(it.site.target().join("runs")).unwrap();

    // the administrator disables the agent while a request waits for the end of the run
    it.deploy(
        "production",
        'b',
        "common::again::delta { 'soon': delta => 1, jitter => 0 }
        demo_step { 'TARGET/runs': steps => 2, notify => Common::Again::Delta['soon'] }
        demo_wait { 'TARGET/go': require => Common::Again::Delta['soon'] }",
    );
    let disabling = async {
        it.waits_in_run().await;
        assert_eq!(it.requests().await[0]["key"], "soon");
        let disable = ["agent", "--disable", "a short rest"];
        let disabled = it.agent.run(&disable).await.unwrap();
        assert!(disabled.status.success(), "{disabled:?}");
        it.end_wait_in_run();
    };
    tokio::join!(it.run(&[]), disabling);
    it.all_is_done().await;
    assert_eq!(it.runs().len(), 1);
    let listing = it.listing("human").await;
    assert!(
        listing.contains("not run: Puppet is disabled (a short rest)"),
        "{listing}"
    );
    assert!(it.agent.state_dir().join("agent_disabled.lock").exists());
    it.agent.run(&["agent", "--enable"]).await.unwrap();

    // something that never settles
    it.deploy(
        "production",
        'c',
        "class { 'common::again': max_delay => 0, max_runs => 2 }
        demo_step { 'TARGET/runs': steps => 1000, notify => Exec['again'] }",
    );
    std::fs::remove_file(it.site.target().join("runs")).unwrap();
    std::fs::remove_dir_all(it.agent.state_dir().join("again")).unwrap();
    it.run(&[]).await;
    it.all_is_done().await;
    assert_eq!(it.runs().len(), 3);
    let (_, printed) = it.run(&[]).await;
    assert!(
        printed.contains("2 reruns have not been enough, and max_runs allows no more"),
        "{printed}"
    );
    assert_eq!(it.waiting_processes(), Vec::<u32>::new());
    let listing = it.listing("human").await;
    assert!(listing.contains("exhausted"), "{listing}");

    // a request can be canceled, and then no process is left
    it.deploy(
        "production",
        'd',
        &THREE_STEPS.replace("max_delay => 1", "max_delay => 600, jitter => 0"),
    );
    std::fs::remove_file(it.site.target().join("runs")).unwrap();
    std::fs::remove_dir_all(it.agent.state_dir().join("again")).unwrap();
    it.run(&[]).await;
    assert_eq!(it.waiting_processes().len(), 1);
    let (status, printed) = it.again(&["cancel", "other"]).await;
    assert_eq!(status, Some(1));
    assert!(
        printed.contains("no request has the key \"other\""),
        "{printed}"
    );
    let (status, printed) = it.again(&["cancel", "again"]).await;
    assert_eq!(
        (status, printed.as_str()),
        (Some(0), "canceled again (agent production)\n")
    );
    it.all_is_done().await;
    assert_eq!(it.runs().len(), 1);
}

/// A daemon of the agent in the foreground, which runs once when it starts.
fn daemon(it: &AgainSite) -> Child {
    let mut command = Command::new(it.agent.program());
    command
        .args([
            "agent",
            "--no-daemonize",
            "--runinterval",
            "3600",
            "--logdest",
        ])
        .arg(it.agent.home().join("daemon.log"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command.spawn().unwrap()
}

/// Waits until the runs in the file of runs are so many.
async fn runs_are(it: &AgainSite, number: usize) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while it.runs().len() < number {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    if waited.await.is_err() {
        let log = std::fs::read_to_string(it.agent.home().join("daemon.log"));
        panic!("{:?}\n{log:?}\n{}", it.runs(), it.listing("human").await);
    }
}

async fn a_daemon_is_told_to_run_and_replaced_if_it_has_gone(it: &AgainSite) {
    it.deploy("production", 'a', THREE_STEPS);
    let mut first = daemon(it);
    runs_are(it, 3).await;
    it.all_is_done().await;
    let log = std::fs::read_to_string(it.agent.home().join("daemon.log")).unwrap();
    assert_eq!(log.matches("Caught USR1").count(), 2, "{log}");
    let listing = it.listing("human").await;
    assert!(listing.contains(": done by the daemon"), "{listing}");

    // the daemon ends while a request waits
    it.deploy(
        "production",
        'b',
        &THREE_STEPS.replace("max_delay => 1", "max_delay => 4"),
    );
    std::fs::remove_file(it.site.target().join("runs")).unwrap();
    first.kill().await.unwrap();
    let pidfile = outcome(
        &it.agent
            .run(&["config", "print", "pidfile", "--section", "agent"])
            .await
            .unwrap(),
    );
    let _ = std::fs::remove_file(pidfile.1.trim());
    let mut second = daemon(it);
    runs_are(it, 1).await;
    let requested = tokio::time::timeout(PATIENCE, async {
        while it.requests().await.as_array().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    requested.await.unwrap();
    second.kill().await.unwrap();
    it.all_is_done().await;
    assert_eq!(it.runs().len(), 3);
    let listing = it.listing("human").await;
    assert!(listing.trim_end().ends_with(": unchanged"), "{listing}");
}

async fn a_killed_waiter_is_replaced_and_another_run_is_waited_for(it: &AgainSite) {
    let steps = "
        class { 'common::again': max_delay => 0 }
        common::again::delta { 'soon': delta => 5, jitter => 0 }
        demo_step { 'TARGET/runs': steps => 1, notify => Common::Again::Delta['soon'] }
    ";
    it.deploy("production", 'a', steps);
    let waiting = "include common::again\ndemo_wait { 'TARGET/go': }\n";
    it.deploy("other", 'b', waiting);
    it.run(&[]).await;
    let waiter = it.waiting_processes();
    assert_eq!(waiter.len(), 1);
    let killed = Command::new("kill")
        .args(["-KILL", &waiter[0].to_string()])
        .status();
    assert!(killed.await.unwrap().success());
    it.all_is_done().await;
    let listing = it.listing("human").await;
    assert!(listing.contains("no process waits"), "{listing}");

    // a run of another environment starts a new one, and satisfies nothing; the rerun waits for its end
    let program = it.agent.program();
    let other = tokio::spawn(async move {
        let mut command = Command::new(program);
        command.args(["agent", "--test", "--environment", "other"]);
        command.output().await.unwrap()
    });
    it.waits_in_run().await;
    assert_eq!(it.waiting_processes().len(), 1);
    let due = tokio::time::timeout(PATIENCE, async {
        while it.requests().await[0]["due_in_s"] != 0.0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    due.await.unwrap();
    // the request is due, and nothing is started
    let listing: Value = serde_json::from_str(&it.listing("json").await).unwrap();
    assert_eq!(listing["episodes"][0]["reruns"], 0, "{listing}");
    assert_eq!(it.waiting_processes().len(), 1, "{listing}");
    assert_eq!(it.runs().len(), 1, "{listing}");
    it.end_wait_in_run();
    let ran = outcome(&other.await.unwrap());
    assert!(ran.1.contains("Applied catalog"), "{ran:?}");
    it.all_is_done().await;
    assert_eq!(it.runs().len(), 2);
}
