//! The server process is stopped between claim, launch and outcome, or killed at random.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use pki::seal::SealKey;
use schedules::{
    BlackoutPeriod, JobLauncher, MissedSlotPolicy, OverlapPolicy, ScheduledJobKind, Schedules,
    SchedulesConfig, SlotJob, SubmissionError, Timetable, TimetableRule,
};
use store::{JobListFilter, LaunchedJob, ListPage, ScheduleFilter, SlotKey, Store, StoreConfig};
use testkit::engine::Database;

use crate::world::{Mood, World, draft, hourly, ms, new_job};

testkit::both!(
    claimed_and_cut_off_it_is_launched_when_the_server_is_soon_back,
    claimed_and_cut_off_for_long_it_is_told_as_interrupted,
    claimed_and_cut_off_for_long_it_runs_within_its_grace,
    claimed_and_cut_off_it_does_not_start_in_a_blackout,
    launched_and_cut_off_before_the_answer_it_does_not_run_again,
    cut_off_after_the_plan_job_it_has_that_plan_job_alone,
    kills_at_random_moments_make_no_slot_run_twice_and_lose_none_silently,
);

const START: &str = "2026-01-01T01:00:00Z";
const CHILD: &str = "TUTTI_SCHEDULES_KILL_TEST";
/// Environment variable of the child: URL of its store.
const DATABASE: &str = "TUTTI_SCHEDULES_KILL_DATABASE";
const KILLS: usize = 12;

/// Ends the server in the slot of `START`, and starts it again later.
async fn cut_in(mood: Mood, back_after_s: i64, timetable: Timetable) -> (World, i64) {
    let mut world = World::at("2026-01-01T00:30:00Z").await;
    world.mood(mood);
    let id = world.create(timetable).await;
    world.set(ms(START));
    world.launched.recv().await.unwrap();
    if matches!(mood, Mood::HangsAfterwards | Mood::HangsAfterPlanJob) {
        while world.jobs().await + world.plan_jobs().await == 0 {
            tokio::task::yield_now().await;
        }
    }
    let world = world
        .cut(ms(START) + back_after_s * 1_000, Mood::Works)
        .await;
    (world, id)
}

fn ended(now: &schedules::ScheduleView) -> bool {
    let pending = "tutti/submission-pending";
    let outcome = now.last.as_ref().map(|last| &last.outcome);
    outcome.is_some_and(|outcome| {
        outcome.as_ref().is_ok_and(|_| true)
            || outcome.as_ref().is_err_and(|error| error.kind != pending)
    })
}

async fn claimed_and_cut_off_it_is_launched_when_the_server_is_soon_back() {
    let (mut world, id) = cut_in(Mood::Hangs, 5, hourly(START)).await;
    let (_, slot) = world.launched.recv().await.unwrap();
    assert_eq!(slot.slot_ms, ms(START), "the same slot");
    let now = world.until(id, ended).await;
    assert_eq!((now.runs, world.jobs().await), (1, 1));
    assert!(now.last.unwrap().outcome.is_ok());
}

async fn claimed_and_cut_off_for_long_it_is_told_as_interrupted() {
    let (world, id) = cut_in(Mood::Hangs, 600, hourly(START)).await;
    let now = world.until(id, ended).await;
    let error = now.last.unwrap().outcome.unwrap_err();
    assert_eq!(error.kind, "tutti/submission-interrupted");
    assert!(error.msg.contains("nothing was started"), "{error}");
    assert_eq!(world.jobs().await, 0);
}

async fn claimed_and_cut_off_for_long_it_runs_within_its_grace() {
    let timetable = Timetable {
        missed: MissedSlotPolicy::RunOnce { grace_seconds: 900 },
        ..hourly(START)
    };
    let (world, id) = cut_in(Mood::Hangs, 600, timetable).await;
    let now = world.until(id, ended).await;
    assert!(now.last.unwrap().outcome.is_ok());
    assert_eq!(world.jobs().await, 1);
}

async fn claimed_and_cut_off_it_does_not_start_in_a_blackout() {
    let timetable = Timetable {
        blackouts: vec![BlackoutPeriod::Once {
            from_ms: ms(START) + 1_000,
            until_ms: ms(START) + 60_000,
        }],
        ..hourly(START)
    };
    let (world, id) = cut_in(Mood::Hangs, 5, timetable).await;
    let now = world.until(id, ended).await;
    let error = now.last.unwrap().outcome.unwrap_err();
    assert_eq!(error.kind, "tutti/submission-interrupted");
    assert!(error.msg.contains("blackout"), "{error}");
    assert_eq!(world.jobs().await, 0);
}

async fn launched_and_cut_off_before_the_answer_it_does_not_run_again() {
    let (mut world, id) = cut_in(Mood::HangsAfterwards, 5, hourly(START)).await;
    let now = world.until(id, ended).await;
    assert!(now.last.unwrap().outcome.is_ok(), "the job says so itself");
    while !world.store.open_slots().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.jobs().await, 1);
    assert!(world.launched.try_recv().is_err(), "nobody was asked again");
}

/// As of a plan, or of Puppet runs in waves or passes.
async fn cut_off_after_the_plan_job_it_has_that_plan_job_alone() {
    let (mut world, id) = cut_in(Mood::HangsAfterPlanJob, 5, hourly(START)).await;
    let now = world.until(id, ended).await;
    assert_eq!(now.last.unwrap().outcome, Ok(LaunchedJob::Plan(1)));
    while !world.store.open_slots().await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!((world.plan_jobs().await, world.jobs().await), (1, 0));
    assert!(
        world.launched.try_recv().is_err(),
        "it is launched only once"
    );
}

/// A launcher that writes the job and prints the slot.
struct Printer(Store);

#[async_trait]
impl JobLauncher for Printer {
    async fn launch(&self, _: &SlotJob, slot: SlotKey) -> Result<LaunchedJob, SubmissionError> {
        let made = self.0.insert_job(new_job(Some(slot))).await;
        let number = made.map_err(|error| SubmissionError::new("x/store", error.to_string()))?;
        println!("launched {}", slot.slot_ms);
        Ok(LaunchedJob::Job(number))
    }
}

#[tokio::test]
async fn child() {
    // Not a test: this is the program that is killed.
    let Ok(path) = std::env::var(CHILD) else {
        return;
    };
    let directory = std::path::Path::new(&path);
    let config = StoreConfig::new(std::env::var(DATABASE).unwrap());
    let store = Store::open(&config).await.unwrap();
    let seal = SealKey::open_or_create(&directory.join("seal.key")).unwrap();
    let launch = Arc::new(Printer(store.clone()));
    let schedules = Schedules::start(SchedulesConfig::default(), store, seal, launch);
    let (_, total) = schedules
        .list(&ScheduleFilter::default(), ListPage::default())
        .await
        .unwrap();
    if total == 0 {
        let now_ms = jiff::Timestamp::now().as_millisecond();
        let timetable = Timetable {
            rule: TimetableRule::Every { seconds: 1 },
            overlap: OverlapPolicy::Allow,
            ..Timetable::once((now_ms / 1_000 + 1) * 1_000)
        };
        for _ in 0..5 {
            let made = schedules.create(
                ScheduledJobKind::Task,
                "ada",
                "u-1",
                draft(timetable.clone()),
            );
            made.await.unwrap();
        }
    }
    println!("up");
    std::future::pending::<()>().await;
}

async fn kills_at_random_moments_make_no_slot_run_twice_and_lose_none_silently() {
    let directory = tempfile::tempdir().unwrap();
    let database = Database::empty().await.unwrap();
    let mut launched = 0;
    for round in 0..KILLS {
        launched += killed_after(directory.path(), database.url(), 1 + (round * 5) % 9);
    }
    assert!(launched > 0);
    let config = StoreConfig::new(database.url());
    let store = Store::open(&config).await.unwrap();
    let (_, jobs) = store
        .jobs(&JobListFilter::default(), ListPage::default())
        .await
        .unwrap();
    assert!(jobs >= launched, "{jobs} jobs, {launched} told");
    // Every claimed slot has a job, or is open and decided at the next start.
    let open = store.open_slots().await.unwrap();
    let schedules = store
        .schedules(&ScheduleFilter::default(), ListPage::default())
        .await;
    let (schedules, _) = schedules.unwrap();
    let claimed: u64 = schedules.iter().map(|schedule| schedule.runs).sum();
    let without = u64::try_from(open.iter().filter(|slot| slot.job.is_none()).count()).unwrap();
    assert_eq!(claimed, jobs + without, "{without} are open");
    store.close().await;
}

/// Starts the child, kills it after this number of lines, and counts the launches that it printed.
fn killed_after(directory: &std::path::Path, database: &str, lines: usize) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["kill::child", "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, directory)
        .env(DATABASE, database)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = 0;
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut seen = 0;
    while seen < lines {
        let Some(Ok(line)) = output.next() else { break };
        seen += usize::from(line.contains("launched") || line == "up");
        told += u64::from(line.contains("launched"));
    }
    child.kill().unwrap();
    for line in output.map_while(Result::ok) {
        told += u64::from(line.contains("launched"));
    }
    child.wait().unwrap();
    told
}
