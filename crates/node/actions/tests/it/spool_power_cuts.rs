//! The spool on a disk whose power is cut: no action runs twice, and the truth is reported for
//! each.
//!
//! The workload is an agent of another boot, whose controller and actions record their steps
//! outside of the disk. After each cut a new agent starts on the remaining state, and every request
//! is sent once more.

use std::collections::{HashMap, HashSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actions::{ActionEngine, EngineConfig};
use pcp::MessageId;
use pxp::action::{ActionResult, StatusResult, TransactionStatus};
use pxp::{PxpMessageBody, PxpRequest, PxpResponse, RpcError, TransactionId};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::json;
use testkit::power_cut::medium::Survivors;
use testkit::power_cut::{PowerCutDisk, Workload, cuts, print_figures, seed};

use super::fake::{Broker, PATIENCE, orchestrator, request, until, wrapper};

const DISK: &str = "TUTTI_TEST_SPOOL_DISK";
const LEDGER: &str = "TUTTI_TEST_SPOOL_LEDGER";

/// Number of different outcomes of one cut that are checked.
const OUTCOMES: u64 = 3;

/// The latest cut, in writes and flushes after the start of the agent: after some dozens of
/// actions.
const LATEST_EVENT: u64 = 600;

/// Number of concurrent actions, and of requests that are repeated at once.
const IN_FLIGHT: usize = 6;

/// Number of cuts after which the spool is purged, so that the next ones begin with an empty one:
/// two rounds of outcomes.
const CUTS_BETWEEN_PURGES: u64 = 2 * OUTCOMES;

// === the disk ===

fn config(disk: &Path) -> EngineConfig {
    let wrapper = vec![wrapper().into_os_string()];
    EngineConfig::new(disk.join("spool"), disk.join("tasks-cache"), wrapper)
}

async fn start(config: EngineConfig) -> (ActionEngine, Arc<Broker>) {
    let broker = Broker::new();
    let engine = ActionEngine::start(config, Arc::clone(&broker) as _).await;
    (engine.unwrap(), broker)
}

fn handle(engine: &ActionEngine, body: PxpMessageBody) {
    engine.handle(orchestrator(), MessageId::random(), body);
}

fn ask_for_status(engine: &ActionEngine, id: &TransactionId) {
    let params = json!({ "transaction_id": id });
    let query = request("status", "query", &params, None);
    handle(engine, PxpMessageBody::BlockingRequest(query));
}

/// The action of a transaction: it writes its line into the ledger, which is not on the disk under
/// test.
fn action(id: &TransactionId, ledger: &Path) -> PxpRequest {
    let command = format!(
        "echo {id} >>{}; {}; echo of {id}; exit {}",
        ledger.display(),
        if is_slow(id) { "sleep 0.05" } else { "true" },
        exitcode(id)
    );
    PxpRequest {
        transaction_id: id.clone(),
        ..request("command", "run", &json!({ "command": command }), Some(true))
    }
}

fn first_byte(id: &TransactionId) -> u8 {
    id.as_str().as_bytes()[0]
}

fn is_slow(id: &TransactionId) -> bool {
    first_byte(id).is_multiple_of(2)
}

fn exitcode(id: &TransactionId) -> i64 {
    i64::from(first_byte(id) % 3)
}

// === the agent whose power is cut ===

/// Messages about a transaction received by the controller of the workload, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    Requested,
    Taken,
    Told,
}

fn print(seen: Seen, id: &TransactionId) {
    let mut out = std::io::stdout().lock();
    // The test harness prints its own lines, one of them without a newline.
    writeln!(out, "\ncontroller {seen:?} {id}").unwrap();
    out.flush().unwrap();
}

/// Not a test: the agent that uses the disk, and its controller.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the process whose power is cut"]
async fn takes_requests_on_the_disk() {
    let (Some(disk), Some(ledger)) = (std::env::var_os(DISK), std::env::var_os(LEDGER)) else {
        return;
    };
    let (engine, broker) = start(config(Path::new(&disk))).await;
    let ledger = PathBuf::from(ledger);
    let mut in_flight = HashSet::new();
    loop {
        while in_flight.len() < IN_FLIGHT {
            let request = action(&TransactionId::random(), &ledger);
            let id = request.transaction_id.clone();
            print(Seen::Requested, &id);
            handle(&engine, PxpMessageBody::NonBlockingRequest(request));
            // Leaves a scratch directory, for which nothing is promised.
            let request = action(&TransactionId::random(), Path::new("/dev/null"));
            handle(&engine, PxpMessageBody::BlockingRequest(request));
            in_flight.insert(id);
        }
        match broker.next().await {
            PxpMessageBody::ProvisionalResponse { transaction_id: id } => {
                print(Seen::Taken, &id);
                ask_for_status(&engine, &id);
            }
            PxpMessageBody::NonBlockingResponse(PxpResponse { transaction_id, .. }) => {
                print(Seen::Told, &transaction_id);
                in_flight.remove(&transaction_id);
                handle(&engine, PxpMessageBody::OutcomeAck { transaction_id });
            }
            // The answer to a status query, or to one of the blocking actions.
            PxpMessageBody::BlockingResponse(response) => {
                match serde_json::from_str::<StatusResult>(response.results.get()) {
                    Ok(answer) if answer.status == TransactionStatus::Running => {
                        ask_for_status(&engine, &answer.transaction_id);
                    }
                    Ok(answer) => print(Seen::Told, &answer.transaction_id),
                    Err(_) => {}
                }
            }
            // About a transaction of an earlier boot.
            PxpMessageBody::Error(RpcError { transaction_id, .. })
                if !in_flight.contains(&transaction_id) =>
            {
                handle(&engine, PxpMessageBody::OutcomeAck { transaction_id });
            }
            // The disk is gone, and the process ends with it.
            PxpMessageBody::Error(_) => std::future::pending().await,
            other => panic!("{other:?}"),
        }
    }
}

fn start_workload(disk: &Path, ledger: &Path) -> Workload {
    let name = "spool_power_cuts::takes_requests_on_the_disk";
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture"]);
    command.env(DISK, disk).env(LEDGER, ledger);
    Workload::start_in_another_boot(&command).unwrap()
}

type Transactions = HashMap<TransactionId, Seen>;

fn note(workload: &Workload, all: &mut Transactions) {
    for line in workload.lines() {
        let Some(line) = line.strip_prefix("controller ") else {
            continue;
        };
        let (seen, id) = line.split_once(' ').unwrap();
        let known = [Seen::Requested, Seen::Taken, Seen::Told];
        let seen = known
            .into_iter()
            .find(|known| format!("{known:?}") == seen)
            .unwrap();
        let entry = all.entry(id.parse().unwrap()).or_insert(seen);
        *entry = seen.max(*entry);
    }
}

// === the agent afterwards ===

/// Report of an agent about a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// The true outcome.
    Outcome,
    Restarted,
}

/// The report contained in an answer; panics if it is not true.
fn word(body: &PxpMessageBody) -> Option<(TransactionId, Word)> {
    match body {
        PxpMessageBody::NonBlockingResponse(response) => {
            let id = response.transaction_id.clone();
            let result: ActionResult = serde_json::from_str(response.results.get()).unwrap();
            let expected = (exitcode(&id), Some(format!("of {id}\n")));
            assert_eq!((result.exitcode, result.stdout), expected);
            Some((id, Word::Outcome))
        }
        PxpMessageBody::Error(error) => {
            let text = &error.description;
            let is_restart = text.starts_with("the outcome is not known: ")
                && text.contains("the machine was restarted");
            assert!(is_restart, "{text}");
            Some((error.transaction_id.clone(), Word::Restarted))
        }
        PxpMessageBody::ProvisionalResponse { .. } => None,
        other => panic!("{other:?}"),
    }
}

/// Repeats each request, and returns the report for each.
async fn ask_again(
    engine: &ActionEngine,
    broker: &Broker,
    all: &Transactions,
    ledger: &Path,
) -> HashMap<TransactionId, Word> {
    let mut told: HashMap<TransactionId, Word> = HashMap::new();
    let mut left = all.keys();
    let mut asked: Vec<&TransactionId> = Vec::new();
    loop {
        asked.retain(|id| !told.contains_key(*id));
        while let Some(id) = (asked.len() < IN_FLIGHT).then(|| left.next()).flatten() {
            handle(
                engine,
                PxpMessageBody::NonBlockingRequest(action(id, ledger)),
            );
            asked.push(id);
        }
        if asked.is_empty() && told.len() == all.len() {
            return told;
        }
        if let Some((id, word)) = word(&broker.next().await) {
            let transaction_id = id.clone();
            handle(engine, PxpMessageBody::OutcomeAck { transaction_id });
            let before = told.insert(id, word.clone());
            assert!(before.is_none_or(|before| before == word), "told otherwise");
        }
    }
}

async fn status(engine: &ActionEngine, broker: &Broker, id: &TransactionId) -> TransactionStatus {
    ask_for_status(engine, id);
    loop {
        match broker.next().await {
            PxpMessageBody::BlockingResponse(response) => {
                let answer: StatusResult = serde_json::from_str(response.results.get()).unwrap();
                return answer.status;
            }
            // An outcome that was being sent when its request was repeated.
            other => drop(word(&other)),
        }
    }
}

fn is_acknowledged(disk: &Path, id: &TransactionId) -> bool {
    let record = std::fs::read(disk.join("spool").join(id.as_str()).join("metadata")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    record["tutti"]["delivery"]["acknowledged"] == true
}

/// The number of runs of each action.
fn runs(ledger: &Path) -> HashMap<TransactionId, u64> {
    let mut runs = HashMap::new();
    for line in std::fs::read_to_string(ledger).unwrap().lines() {
        *runs.entry(line.parse().unwrap()).or_default() += 1;
    }
    runs
}

/// Repeats every request to an agent of another boot, and returns the number of actions whose end
/// is unknown.
async fn check(disk: &Path, ledger: &Path, all: &Transactions, told: &str) -> usize {
    let before = runs(ledger);
    let (engine, broker) = start(config(disk)).await;
    let words = ask_again(&engine, &broker, all, ledger).await;
    let after = runs(ledger);
    for (id, seen) in all {
        let ran = after.get(id).copied().unwrap_or_default();
        assert!(ran <= 1, "{told}: {id} ran {ran} times");
        let word = &words[id];
        if *seen >= Seen::Taken {
            let ran_before = before.get(id).copied().unwrap_or_default();
            assert_eq!(ran, ran_before, "{told}: {id} was taken, and ran again");
        }
        if *seen == Seen::Told {
            assert_eq!(*word, Word::Outcome, "{told}: {id} was told otherwise");
        }
        if *word == Word::Outcome {
            assert_eq!(ran, 1, "{told}: {id} did not run");
        }
        let status = status(&engine, &broker, id).await;
        let expected = match (word, exitcode(id)) {
            (Word::Restarted, _) => TransactionStatus::Unknown,
            (Word::Outcome, 0) => TransactionStatus::Success,
            (Word::Outcome, _) => TransactionStatus::Failure,
        };
        assert_eq!(status, expected, "{told}: {id}");
    }
    let is_empty = |path: PathBuf| std::fs::read_dir(path).unwrap().next().is_none();
    until("blocking actions leave nothing", || {
        is_empty(disk.join("spool/.blocking"))
    })
    .await;
    until("every outcome is known as acknowledged", || {
        all.keys().all(|id| is_acknowledged(disk, id))
    })
    .await;
    engine.shutdown(PATIENCE).await;
    words
        .values()
        .filter(|word| **word == Word::Restarted)
        .count()
}

/// Removes every entry, as an agent does when the time to live is over.
async fn purge(disk: &Path) {
    let mut config = config(disk);
    config.spool_ttl = Some(Duration::ZERO);
    let (engine, _broker) = start(config).await;
    let spool = disk.join("spool");
    until("the spool is purged", || {
        let entries = std::fs::read_dir(&spool).unwrap();
        let mut names = entries.map(|entry| entry.unwrap().file_name());
        names.all(|name| [".blocking", "+spool-id"].contains(&name.to_str().unwrap()))
    })
    .await;
    engine.shutdown(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn power_cuts_repeat_no_action_and_lose_no_outcome_that_was_told() {
    let Some(mut disk) = PowerCutDisk::for_test() else {
        return;
    };
    let outside = tempfile::tempdir().unwrap();
    let ledger = outside.path().join("ledger");
    std::fs::write(&ledger, "").unwrap();
    let path = disk.path();
    let seed = seed();
    let mut random = StdRng::seed_from_u64(seed);
    let began = Instant::now();
    let mut all = Transactions::new();
    let (mut cut, mut unflushed, mut asked, mut unknown) = (0, 0, 0, 0);
    while cut < cuts() {
        let mut workload = start_workload(&path, &ledger);
        disk.cut_after(random.random_range(0..LATEST_EVENT));
        let is_cut = disk.wait_for_cut(PATIENCE);
        unflushed += disk.cut([&mut workload]).unwrap();
        assert!(is_cut, "the workload does nothing: {}", workload.stderr());
        note(&workload, &mut all);
        let ledger_at_cut = std::fs::read(&ledger).unwrap();
        for _ in 0..OUTCOMES {
            let seed: u64 = random.random();
            let survivors = Survivors::of_seed(seed);
            disk.restore(survivors, seed).unwrap();
            // Requests that were not on the disk ran in the previous outcome.
            std::fs::write(&ledger, &ledger_at_cut).unwrap();
            cut += 1;
            let told = format!("cut {cut}, {survivors:?}");
            unknown += Box::pin(check(&path, &ledger, &all, &told)).await;
            asked += all.len();
            if cut.is_multiple_of(CUTS_BETWEEN_PURGES) {
                Box::pin(purge(&path)).await;
            }
        }
        if cut.is_multiple_of(CUTS_BETWEEN_PURGES) {
            all.clear();
        }
        // The agent of the check ran in another boot than the next one.
        disk.sync().unwrap();
    }
    let more = format!(
        "{unflushed} writes were not flushed, {asked} times an action was asked for, {unknown} times its end was \
         not known"
    );
    print_figures(cut, began, &more);
}
