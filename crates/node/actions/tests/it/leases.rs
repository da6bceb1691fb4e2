//! Leases, with a scripted `puppet` and real lease holders.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use actions::defaults::LEASE_LOOK_INTERVAL;
use actions::leases::NodeLeases;
use pxp::action::{
    HoldLeaseResult, HoldLeaseState, PuppetCause, PuppetErrorType, PuppetResult, lease_variable,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use uuid::Uuid;

use super::fake::{Node, PATIENCE, until};
use super::puppet_fake::{Puppet, end, locks_until_go, reports};

/// Longer than a test takes.
const LONG: Option<u32> = Some(300);
/// Short enough to be waited for.
const SHORT: Option<u32> = Some(1);

const IN_PROGRESS: &str = "Run of Puppet configuration client already in progress; skipping";

fn lease(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

async fn hold(node: &Node, number: u128, ttl_s: Option<u32>) -> HoldLeaseResult {
    let mut params = json!({
        "lease": lease(number), "job": number.to_string(), "reason": "release of the shop",
    });
    if let Some(ttl_s) = ttl_s {
        params["ttl_s"] = ttl_s.into();
    }
    node.blocking("tutti", "hold_lease", &params);
    serde_json::from_value(node.broker.results().await).unwrap()
}

async fn release(node: &Node, number: u128) -> bool {
    node.blocking("tutti", "release_lease", &json!({ "lease": lease(number) }));
    node.broker.results().await["released"].as_bool().unwrap()
}

/// Asks until the answer is as wanted, as an orchestrator does.
async fn hold_until(
    node: &Node,
    (number, ttl_s): (u128, Option<u32>),
    is_wanted: impl Fn(&HoldLeaseResult) -> bool,
) -> HoldLeaseResult {
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let answer = hold(node, number, ttl_s).await;
        if is_wanted(&answer) {
            return answer;
        }
        assert!(tokio::time::Instant::now() < deadline, "never: {answer:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn hold_fully(node: &Node, number: u128, ttl_s: Option<u32>) {
    hold_until(node, (number, ttl_s), |answer| {
        answer.state == HoldLeaseState::Held
    })
    .await;
}

fn lease_file(node: &Node, name: &str) -> PathBuf {
    node.config.spool_dir.join(".lease").join(name)
}

fn leases(node: &Node) -> NodeLeases {
    NodeLeases::below(&node.config.spool_dir)
}

fn run_params(number: Option<u128>) -> Value {
    let env: Vec<String> = number
        .into_iter()
        .map(|it| lease_variable(lease(it)))
        .collect();
    json!({"flags": [], "env": env})
}

impl Puppet {
    /// A run that names the lease.
    async fn run_with_lease(&self, number: u128) -> PuppetResult {
        let params = run_params(Some(number));
        self.node.blocking("puppet", "run", &params);
        self.result().await
    }

    /// Begins a run that names the lease.
    async fn begin_with_lease(&self, number: u128) {
        let params = run_params(Some(number));
        let id = self.node.non_blocking("puppet", "run", &params);
        assert_eq!(self.node.broker.provisional().await, id);
    }

    /// The output of `puppet agent`, as a timer or an administrator starts it.
    fn run_by_hand(&self) -> String {
        let report = self.home.join("by_hand.yaml");
        let output = Command::new(self.home.join("puppet"))
            .args(["agent", "--onetime", "--lastrunreport"])
            .arg(report)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    fn lock(&self) -> PathBuf {
        self.home.join("run.lock")
    }

    /// The process that has Puppet's lock.
    fn lock_pid(&self) -> Option<u32> {
        let text = std::fs::read_to_string(self.lock()).ok()?;
        text.trim().parse().ok()
    }

    fn go(&self) {
        std::fs::write(self.home.join("go"), "").unwrap();
    }

    async fn until_unlocked(&self) {
        until("the lock is given back", || !self.lock().exists()).await;
    }
}

fn process_name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_lease_is_held_when_the_run_in_progress_has_ended() {
    let puppet = Puppet::start(&locks_until_go()).await;
    let other = puppet.other_run();
    let first = hold(&puppet.node, 1, LONG).await;
    assert_eq!(first.state, HoldLeaseState::Waiting);
    let answer = hold_until(&puppet.node, (1, LONG), |answer| answer.run_pid.is_some()).await;
    assert_eq!(answer.state, HoldLeaseState::Waiting);
    assert_eq!(answer.run_pid, Some(other.id()));
    assert_eq!(puppet.lock_pid(), Some(other.id()));
    let listing = leases(&puppet.node).show().unwrap().unwrap();
    assert_eq!(listing.run_pid, Some(other.id()));
    // Its end changes no file, and no renewal wakes the holder.
    let (pid, ended) = (other.id(), Instant::now());
    end(other);
    until("the holder has the lock", || puppet.lock_pid() != Some(pid)).await;
    assert!(ended.elapsed() < LEASE_LOOK_INTERVAL, "not by chance");
    hold_fully(&puppet.node, 1, LONG).await;
    let holder = puppet.lock_pid().unwrap();
    assert_eq!(process_name(holder).as_deref(), Some("puppet-lease"));
    let by_hand = puppet.run_by_hand();
    assert!(by_hand.contains(IN_PROGRESS), "{by_hand}");
    assert!(release(&puppet.node, 1).await);
    puppet.until_unlocked().await;
}

#[tokio::test]
async fn only_runs_that_name_the_lease_start() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, LONG).await;
    let id = puppet.begin().await;
    let waiting = puppet.node.entry(&id).join("waiting.json");
    until("it waits", || waiting.exists()).await;
    let status = puppet.node.status(&id).await;
    let text = status.waiting.unwrap();
    let name = "the lease of job 1 (release of the shop)";
    assert!(text.ends_with(&format!("for the end of {name}")), "{text}");
    let output = std::fs::read_to_string(puppet.node.entry(&id).join("stdout")).unwrap();
    let says = format!("tutti-agent: {name} keeps other runs of Puppet from starting until 2");
    assert!(output.contains(&says), "{output}");

    for _ in 0..2 {
        let result = puppet.run_with_lease(1).await;
        assert_eq!((result.status.as_str(), result.error), ("changed", None));
        assert_eq!(result.waited_ms, 0);
        let args = puppet.lines("args");
        let option = args
            .iter()
            .position(|arg| arg == "--agent_catalog_run_lockfile");
        let lock = lease_file(&puppet.node, "run.lock").canonicalize();
        assert!(lock.is_err(), "Puppet removed it");
        let value = &args[option.expect("the option") + 1];
        assert!(value.ends_with("spool/.lease/run.lock"), "{value}");
    }
    assert!(waiting.exists(), "the other run still waits");

    assert!(release(&puppet.node, 1).await);
    let result = puppet.result().await;
    assert_eq!((result.status.as_str(), result.error), ("changed", None));
    assert!(result.waited_ms > 0);
    let args = puppet.lines("args");
    assert!(!args.iter().any(|arg| arg == "--agent_catalog_run_lockfile"));
}

#[tokio::test]
async fn runs_of_one_lease_follow_one_another() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    puppet.begin_with_lease(1).await;
    until("it runs", || lease_file(&puppet.node, "run.lock").exists()).await;
    let params = run_params(Some(1));
    let second = puppet.node.non_blocking("puppet", "run", &params);
    assert_eq!(puppet.node.broker.provisional().await, second);
    let waiting = puppet.node.entry(&second).join("waiting.json");
    until("the second waits", || waiting.exists()).await;
    let text = puppet.node.status(&second).await.waiting.unwrap();
    assert!(text.contains("for another run of Puppet"), "{text}");
    puppet.go();
    for _ in 0..2 {
        assert_eq!(puppet.result().await.status, "changed");
    }
    assert!(release(&puppet.node, 1).await);
    puppet.until_unlocked().await;
}

#[tokio::test]
async fn a_run_without_the_lease_waits_no_longer_than_the_node_allows() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, LONG).await;
    puppet.configure(&json!({"puppet_bin": puppet.home.join("puppet"), "lock_wait_s": 0}));
    for number in [None, Some(2)] {
        puppet.node.blocking("puppet", "run", &run_params(number));
        let result = puppet.result().await;
        assert_eq!(
            result.error_type,
            Some(PuppetErrorType::AgentAlreadyRunning)
        );
        assert_eq!(result.cause, Some(PuppetCause::AlreadyRunning));
        let error = result.error.unwrap();
        assert!(
            error.contains("the lease of job 1 (release of the shop) keeps"),
            "{error}"
        );
        assert!(error.contains("`tutti-agent lease release`"), "{error}");
    }
    assert_eq!(puppet.run_with_lease(1).await.status, "changed");
    release(&puppet.node, 1).await;
}

/// A node in quarantine may be so for days.
#[tokio::test]
async fn a_run_does_not_wait_for_a_lease_without_an_end() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, None).await;
    puppet.node.blocking("tutti", "show_lease", &json!({}));
    let shown = puppet.node.broker.results().await;
    assert_eq!(shown["lease"]["state"], "held");
    assert_eq!(shown["lease"].get("ends_in_s"), None);
    puppet.node.blocking("puppet", "run", &run_params(None));
    let result = puppet.result().await;
    assert_eq!(
        result.error_type,
        Some(PuppetErrorType::AgentAlreadyRunning)
    );
    let error = result.error.unwrap();
    assert!(error.contains("`tutti node release` ends it"), "{error}");
    puppet.node.blocking("tutti", "release_lease", &json!({}));
    assert_eq!(
        puppet.node.broker.results().await,
        json!({"released": true})
    );
    puppet.until_unlocked().await;
    puppet.node.blocking("puppet", "run", &run_params(None));
    assert_eq!(puppet.result().await.status, "changed");
}

/// The release at the end of a run may be faster than the renewal that brings the lease of the next one.
#[tokio::test]
async fn a_run_that_names_a_lease_waits_for_it_beside_one_without_an_end() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, None).await;
    let params = run_params(Some(2));
    let id = puppet.node.non_blocking("puppet", "run", &params);
    assert_eq!(puppet.node.broker.provisional().await, id);
    let waiting = puppet.node.entry(&id).join("waiting.json");
    until("it waits", || waiting.exists()).await;
    hold_fully(&puppet.node, 2, LONG).await;
    let result = puppet.result().await;
    assert_eq!((result.status.as_str(), result.error), ("changed", None));
    release(&puppet.node, 2).await;
    puppet.until_unlocked().await;
}

/// Collects the processes that have Puppet's lock, as often as possible, until dropped.
struct LockWatch {
    stop: mpsc::Sender<()>,
    seen: std::thread::JoinHandle<BTreeSet<Option<u32>>>,
}

impl LockWatch {
    fn start(puppet: &Puppet) -> Self {
        let lock = puppet.lock();
        let (stop, stopped) = mpsc::channel();
        let seen = std::thread::spawn(move || {
            let mut seen = BTreeSet::new();
            while stopped.try_recv() == Err(mpsc::TryRecvError::Empty) {
                let text = std::fs::read_to_string(&lock).unwrap_or_default();
                seen.insert(text.trim().parse().ok());
                std::thread::sleep(Duration::from_micros(200));
            }
            seen
        });
        Self { stop, seen }
    }

    fn end(self) -> Vec<Option<u32>> {
        self.stop.send(()).unwrap();
        self.seen.join().unwrap().into_iter().collect()
    }
}

async fn until_held_by(puppet: &Puppet, number: u128) {
    let leases = leases(&puppet.node);
    until("the other lease is held", || {
        let shown = leases.show().unwrap();
        shown.is_some_and(|it| it.lease == lease(number) && it.state == HoldLeaseState::Held)
    })
    .await;
}

#[tokio::test]
async fn a_replaced_quarantine_is_back_without_a_gap() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, None).await;
    let holder = puppet.lock_pid();
    let watch = LockWatch::start(&puppet);
    // The orchestrator of the second job is gone.
    hold_fully(&puppet.node, 2, LONG).await;
    assert_eq!(puppet.run_with_lease(2).await.status, "changed");
    hold(&puppet.node, 2, SHORT).await;
    let began = Instant::now();
    until_held_by(&puppet, 1).await;
    assert!(began.elapsed() < LEASE_LOOK_INTERVAL, "not by chance");
    // The third job fails.
    hold_fully(&puppet.node, 3, LONG).await;
    let params = json!({ "lease": lease(3), "restore": true });
    puppet.node.blocking("tutti", "release_lease", &params);
    assert_eq!(
        puppet.node.broker.results().await,
        json!({"released": true})
    );
    until_held_by(&puppet, 1).await;
    assert!(puppet.run_by_hand().contains(IN_PROGRESS));
    assert_eq!(watch.end(), [holder], "the lock was never free");
    // The fourth one succeeds.
    hold_fully(&puppet.node, 4, LONG).await;
    assert!(release(&puppet.node, 4).await);
    puppet.until_unlocked().await;
    for number in [1, 3, 4] {
        let late = hold(&puppet.node, number, None).await;
        assert_eq!(late.state, HoldLeaseState::Refused);
    }
}

#[tokio::test]
async fn native_checks_of_files_wait_for_a_lease_too() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    puppet.configure(&json!({"puppet_bin": puppet.home.join("puppet"), "files": "native"}));
    hold_fully(&puppet.node, 1, LONG).await;
    let id = puppet.begin().await;
    let waiting = puppet.node.entry(&id).join("waiting.json");
    until("it waits", || waiting.exists()).await;
    let output = std::fs::read_to_string(puppet.node.entry(&id).join("stdout")).unwrap();
    assert!(output.contains("the lease of job 1"), "{output}");
    assert_eq!(puppet.lines("runs").len(), 0);
    release(&puppet.node, 1).await;
    assert_eq!(puppet.result().await.status, "changed");
}

#[tokio::test]
async fn an_expired_lease_leaves_a_node_as_it_was_without_its_agent() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, LONG).await;
    let holder = puppet.lock_pid().unwrap();
    assert!(puppet.run_by_hand().contains(IN_PROGRESS));
    hold(&puppet.node, 1, SHORT).await;
    puppet.node.engine.shutdown(PATIENCE).await;
    let began = Instant::now();
    puppet.until_unlocked().await;
    assert!(began.elapsed() < LEASE_LOOK_INTERVAL, "not by chance");
    let leases = leases(&puppet.node);
    until("the holder ends", || {
        process_name(holder).as_deref() != Some("puppet-lease")
    })
    .await;
    assert_eq!(leases.show().unwrap(), None);
    assert!(!lease_file(&puppet.node, "lease.json").exists());
    assert!(!lease_file(&puppet.node, "holder.json").exists());
    assert_eq!(puppet.run_by_hand(), "");
}

/// True if a thread of the process waits for a lock of the kernel.
fn awaits_lock(pid: u32) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let pid = pid.to_string();
    let mut waiting = locks.lines().filter(|line| line.contains("-> FLOCK"));
    waiting.any(|line| line.split_ascii_whitespace().any(|field| field == pid))
}

#[tokio::test]
async fn a_run_in_flight_outlives_the_end_of_its_lease() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    let holder = puppet.lock_pid().unwrap();
    puppet.begin_with_lease(1).await;
    until("it runs", || lease_file(&puppet.node, "run.lock").exists()).await;
    hold(&puppet.node, 1, SHORT).await;
    until("the lease is over", || {
        leases(&puppet.node).show().unwrap().is_none()
    })
    .await;
    until("the holder awaits the run", || awaits_lock(holder)).await;
    assert_eq!(puppet.lock_pid(), Some(holder));
    assert!(puppet.run_by_hand().contains(IN_PROGRESS));
    puppet.go();
    let result = puppet.result().await;
    assert_eq!((result.status.as_str(), result.error), ("changed", None));
    puppet.until_unlocked().await;
}

#[tokio::test]
async fn a_renewal_during_the_last_run_keeps_the_lease() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    let holder = puppet.lock_pid().unwrap();
    puppet.begin_with_lease(1).await;
    until("it runs", || lease_file(&puppet.node, "run.lock").exists()).await;
    hold(&puppet.node, 1, SHORT).await;
    until("the holder awaits the run", || awaits_lock(holder)).await;
    let answer = hold(&puppet.node, 1, LONG).await;
    assert_eq!(
        answer.state,
        HoldLeaseState::Held,
        "no other run could start"
    );
    puppet.go();
    assert_eq!(puppet.result().await.status, "changed");
    until("the holder has ended its wait", || !awaits_lock(holder)).await;
    assert_eq!(puppet.run_with_lease(1).await.status, "changed");
    assert_eq!(puppet.lock_pid(), Some(holder));
    release(&puppet.node, 1).await;
    puppet.until_unlocked().await;
}

/// The processor time that a process has used.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields = stat.rsplit(") ").next().unwrap().split(' ');
    // `utime` and `stime`.
    let used = fields.skip(11).take(2);
    used.map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn a_puppet_that_outlives_its_runner_keeps_the_lock() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    puppet.begin_with_lease(1).await;
    let lock = lease_file(&puppet.node, "run.lock");
    until("it runs", || {
        std::fs::read_to_string(&lock).is_ok_and(|text| text.ends_with('\n'))
    })
    .await;
    let pid: u32 = std::fs::read_to_string(&lock)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let runner = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
    kill(runner.parse().unwrap());
    assert_eq!(puppet.result().await.cause, Some(PuppetCause::Killed));
    assert!(release(&puppet.node, 1).await);
    let holder = puppet.lock_pid().unwrap();
    let used = cpu_ticks(holder);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let used = cpu_ticks(holder) - used;
    assert!(used < 10, "it sleeps, and used {used} ticks of 10 ms");
    // Another lease is not held either before that Puppet has ended.
    let answer = hold_until(&puppet.node, (2, LONG), |answer| answer.run_pid.is_some()).await;
    assert_eq!(answer.state, HoldLeaseState::Waiting);
    assert_eq!(answer.run_pid, Some(pid));
    assert_eq!(puppet.lock_pid(), Some(holder));
    puppet.go();
    hold_fully(&puppet.node, 2, LONG).await;
    assert_eq!(puppet.lock_pid(), Some(holder), "it was never given back");
    release(&puppet.node, 2).await;
    puppet.until_unlocked().await;
}

#[tokio::test]
async fn an_administrator_s_disable_is_respected_and_left_alone() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    let disabled = puppet.home.join("disabled.lock");
    let text = r#"{"disabled_message":"moving day"}"#;
    std::fs::write(&disabled, text).unwrap();
    hold_fully(&puppet.node, 1, LONG).await;
    let result = puppet.run_with_lease(1).await;
    assert_eq!(result.cause, Some(PuppetCause::Disabled));
    assert!(result.error.unwrap().contains("moving day"));
    release(&puppet.node, 1).await;
    puppet.until_unlocked().await;
    assert_eq!(std::fs::read_to_string(&disabled).unwrap(), text);
    std::fs::remove_file(&disabled).unwrap();
    hold_fully(&puppet.node, 2, LONG).await;
    assert!(!disabled.exists());
    release(&puppet.node, 2).await;
}

#[tokio::test]
async fn a_released_lease_stays_released() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, LONG).await;
    assert!(release(&puppet.node, 1).await);
    puppet.until_unlocked().await;
    assert!(!release(&puppet.node, 1).await);
    let late = hold(&puppet.node, 1, LONG).await;
    assert_eq!(late.state, HoldLeaseState::Refused);
    assert!(late.message.unwrap().contains("was released"));
    assert!(!puppet.lock().exists());
    // A run that names it is a usual one.
    let result = puppet.run_with_lease(1).await;
    assert_eq!(result.status, "changed");
    let args = puppet.lines("args");
    assert!(!args.iter().any(|arg| arg == "--agent_catalog_run_lockfile"));
}

#[tokio::test]
async fn an_administrator_ends_a_lease() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, None).await;
    let leases = leases(&puppet.node);
    let listing = leases.show().unwrap().unwrap();
    assert_eq!(listing.state, HoldLeaseState::Held);
    assert_eq!(listing.until, None);
    assert_eq!(leases.release_as_administrator().unwrap(), Some(listing));
    puppet.until_unlocked().await;
    let renewal = hold(&puppet.node, 1, None).await;
    assert_eq!(renewal.state, HoldLeaseState::Refused);
    let message = renewal.message.unwrap();
    assert!(message.contains("administrator"), "{message}");
}

#[tokio::test]
async fn a_second_lease_waits_while_the_first_is_held() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    let second = hold(&puppet.node, 2, LONG).await;
    assert_eq!(second.state, HoldLeaseState::Waiting);
    let message = second.message.unwrap();
    let says = "the lease of job 1 (release of the shop) is held until 2";
    assert!(message.contains(says), "{message}");
    release(&puppet.node, 1).await;
    hold_fully(&puppet.node, 2, LONG).await;
    release(&puppet.node, 2).await;
}

#[tokio::test]
async fn a_lease_without_an_end_gives_way_and_its_last_run_is_waited_for() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, None).await;
    let holder = puppet.lock_pid();
    puppet.begin_with_lease(1).await;
    until("it runs", || lease_file(&puppet.node, "run.lock").exists()).await;
    let answer = hold_until(&puppet.node, (2, LONG), |answer| answer.run_pid.is_some()).await;
    assert_eq!(answer.state, HoldLeaseState::Waiting);
    assert!(puppet.run_by_hand().contains(IN_PROGRESS));
    puppet.go();
    assert_eq!(puppet.result().await.status, "changed");
    hold_fully(&puppet.node, 2, LONG).await;
    assert_eq!(puppet.lock_pid(), holder, "the lock was never given back");
    release(&puppet.node, 2).await;
}

#[tokio::test]
async fn a_lease_outlives_the_agent_and_a_killed_holder_is_replaced() {
    let mut puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, LONG).await;
    let holder = puppet.lock_pid().unwrap();
    puppet.node.restart().await;
    let answer = hold(&puppet.node, 1, LONG).await;
    assert_eq!(answer.state, HoldLeaseState::Held);
    assert_eq!(puppet.lock_pid(), Some(holder));

    kill(holder);
    until("it is gone", || process_name(holder).is_none()).await;
    assert_eq!(puppet.lock_pid(), Some(holder), "a stale lock is left");
    assert_eq!(puppet.run_by_hand(), "", "Puppet removes it");
    hold_fully(&puppet.node, 1, LONG).await;
    let second = puppet.lock_pid().unwrap();
    assert_ne!(second, holder);

    kill(second);
    until("it is gone", || process_name(second).is_none()).await;
    puppet.node.restart().await;
    until("the next agent starts one", || {
        puppet.lock_pid().is_some_and(|pid| pid != second)
    })
    .await;
    release(&puppet.node, 1).await;
    puppet.until_unlocked().await;
}

#[tokio::test]
async fn a_holder_that_replaces_a_killed_one_holds_the_lease_beside_its_run() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    let holder = puppet.lock_pid().unwrap();
    puppet.begin_with_lease(1).await;
    let run = lease_file(&puppet.node, "run.lock");
    until("it runs", || run.exists()).await;
    kill(holder);
    until("it is gone", || process_name(holder).is_none()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    assert!(run.exists(), "the run goes on");
    assert_ne!(puppet.lock_pid(), Some(holder));
    assert!(release(&puppet.node, 1).await);
    let holder = puppet.lock_pid().unwrap();
    until("the holder awaits the run", || awaits_lock(holder)).await;
    puppet.go();
    assert_eq!(puppet.result().await.status, "changed");
    puppet.until_unlocked().await;
}

#[tokio::test]
async fn a_lock_that_was_removed_by_hand_is_taken_again() {
    let puppet = Puppet::start(&locks_until_go()).await;
    hold_fully(&puppet.node, 1, LONG).await;
    let holder = puppet.lock_pid();
    std::fs::remove_file(puppet.lock()).unwrap();
    until("it is taken again", || puppet.lock_pid() == holder).await;
    // A run was faster.
    let run = puppet.other_run();
    let answer = hold_until(&puppet.node, (1, LONG), |answer| answer.run_pid.is_some()).await;
    assert_eq!(answer.run_pid, Some(run.id()));
    end(run);
    hold_fully(&puppet.node, 1, LONG).await;
    assert_eq!(puppet.lock_pid(), holder);
    release(&puppet.node, 1).await;
}

#[tokio::test]
async fn a_reboot_ends_a_lease_unless_it_lasts_until_released() {
    let mut puppet = Puppet::start(&locks_until_go()).await;
    // The last one replaces the one before, which is back after the reboot.
    for (number, ttl_s, lasts) in [(0, LONG, false), (1, None, true), (2, LONG, true)] {
        hold_fully(&puppet.node, number, ttl_s).await;
        let path = lease_file(&puppet.node, "lease.json");
        let mut stored: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        // As the machine would leave it: the processes are gone, and the next boot has another id.
        let holder = puppet.lock_pid().unwrap();
        puppet.node.engine.shutdown(PATIENCE).await;
        kill(holder);
        until("it is gone", || {
            process_name(holder).as_deref() != Some("puppet-lease") || is_zombie(holder)
        })
        .await;
        if ttl_s.is_some() {
            stored["end"]["boot_id"] = "00000000-0000-0000-0000-000000000000".into();
        }
        std::fs::write(&path, stored.to_string()).unwrap();
        puppet.node.restart().await;
        if lasts {
            until("it is held again", || {
                puppet.lock_pid().is_some_and(|pid| pid != holder)
            })
            .await;
            until_held_by(&puppet, 1).await;
        } else {
            until("it is removed", || !path.exists()).await;
            assert_eq!(puppet.lock_pid(), Some(holder), "stale, and left to Puppet");
        }
    }
    release(&puppet.node, 1).await;
}

fn is_zombie(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") Z ")
}

#[tokio::test]
async fn a_node_without_puppet_refuses_a_lease() {
    let puppet = Puppet::start(&reports("changed", "")).await;
    puppet.configure(&json!({"puppet_bin": "/nonexistent/puppet"}));
    let refused = |answer: &HoldLeaseResult| answer.state == HoldLeaseState::Refused;
    let answer = hold_until(&puppet.node, (1, LONG), refused).await;
    let message = answer.message.unwrap();
    assert!(message.contains("Puppet is not installed"), "{message}");
    assert!(message.contains("/nonexistent/puppet"), "{message}");
    // It is installed; a renewal looks again.
    puppet.configure(&json!({"puppet_bin": puppet.home.join("puppet")}));
    hold_fully(&puppet.node, 1, LONG).await;
    release(&puppet.node, 1).await;
}

/// Replaces the file, which the lease holder may write again at any moment.
fn make_fifo(path: &Path) {
    let fifo = path.with_extension("fifo");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
    std::fs::rename(fifo, path).unwrap();
}

#[tokio::test]
async fn unusable_files_block_nothing() {
    let puppet = Puppet::start(&locks_until_go()).await;
    puppet.go();
    hold_fully(&puppet.node, 1, LONG).await;
    for name in ["lease.json", "released.json", "holder.json"] {
        make_fifo(&lease_file(&puppet.node, name));
        hold_fully(&puppet.node, 1, LONG).await;
        let path = lease_file(&puppet.node, name);
        let _ = std::fs::remove_file(&path);
        std::fs::File::create(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        hold_fully(&puppet.node, 1, LONG).await;
    }
    assert_eq!(puppet.run_with_lease(1).await.status, "changed");
    release(&puppet.node, 1).await;
    puppet.until_unlocked().await;
    make_fifo(&lease_file(&puppet.node, "state.lock"));
    let params = json!({"lease": lease(2), "job": "2", "reason": ""});
    puppet.node.blocking("tutti", "hold_lease", &params);
    let error = puppet.node.broker.error().await;
    assert!(error.contains("state.lock is damaged"), "{error}");
    assert_eq!(puppet.run().await.status, "changed");
}

#[tokio::test]
async fn hostile_texts_are_one_bounded_line() {
    let puppet = Puppet::start(&locks_until_go()).await;
    let params = json!({
        "lease": lease(1), "job": "1\n\u{1b}[31m", "ttl_s": 300,
        "reason": "\u{1b}[2Jgone\r\nforged: line".repeat(50_000),
    });
    puppet.node.blocking("tutti", "hold_lease", &params);
    puppet.node.broker.results().await;
    let listing = leases(&puppet.node).show().unwrap().unwrap();
    assert_eq!(listing.reason.chars().count(), 500);
    let shown = listing.to_string();
    assert_eq!(shown.lines().count(), 5, "{shown}");
    assert!(
        !shown.chars().any(|it| it.is_control() && it != '\n'),
        "{shown:?}"
    );
    assert!(release(&puppet.node, 1).await);
    let mode = std::fs::metadata(lease_file(&puppet.node, ""))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
}

#[tokio::test]
async fn the_files_of_leases_are_no_transactions() {
    let mut node = Node::start().await;
    assert_eq!(hold(&node, 1, LONG).await.state, HoldLeaseState::Waiting);
    node.restart().await;
    assert!(lease_file(&node, "lease.json").exists());
    assert!(node.engine.capabilities().leases);
    release(&node, 1).await;
}
