//! A store, a clock that is set by hand, and a scripted launcher of jobs: [`World`].

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use pki::seal::SealKey;
use schedules::{
    JobLauncher, ScheduleDraft, ScheduleView, ScheduledJobKind, Schedules, SchedulesConfig,
    SlotEvent, SlotJob, SlotOutcome, SlotRecorder, SubmissionError, Timetable, TimetableRule,
};
use serde_json::{Map, Value, json};
use store::{
    Clock, JobListFilter, LaunchedJob, ListPage, NewJob, NewPlanJob, PlanJobFilter, SlotKey, Store,
    StoreConfig,
};
use testkit::engine::Database;
use tokio::sync::mpsc;

pub(crate) fn ms(text: &str) -> i64 {
    let at: jiff::Timestamp = text.parse().unwrap();
    at.as_millisecond()
}

/// A clock that is set by hand.
#[derive(Clone, Debug)]
pub(crate) struct Hand(Arc<AtomicI64>);

impl Hand {
    pub(crate) fn set(&self, at_ms: i64) {
        self.0.store(at_ms, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }

    fn steady_ms(&self) -> i64 {
        self.now_ms()
    }
}

/// Behaviour of the launcher.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mood {
    Works,
    Refuses,
    Breaks,
    /// Never answers, and creates no job.
    Hangs,
    /// Creates the job, and never answers.
    HangsAfterwards,
    /// Creates a plan job, and never answers.
    HangsAfterPlanJob,
}

pub(crate) struct Launcher {
    pub(crate) store: Store,
    pub(crate) mood: Mutex<Mood>,
    pub(crate) seen: mpsc::UnboundedSender<(SlotJob, SlotKey)>,
}

#[async_trait]
impl JobLauncher for Launcher {
    async fn launch(&self, job: &SlotJob, slot: SlotKey) -> Result<LaunchedJob, SubmissionError> {
        let mood = *self.mood.lock().unwrap();
        // The test may have ended.
        let _ = self.seen.send((job.clone(), slot));
        match mood {
            Mood::Refuses => {
                return Err(SubmissionError::new("x/no", "the owner may not"));
            }
            Mood::Breaks => panic!("a bug"),
            Mood::Hangs => std::future::pending().await,
            Mood::Works | Mood::HangsAfterwards | Mood::HangsAfterPlanJob => {}
        }
        let store = &self.store;
        let made = match mood {
            Mood::HangsAfterPlanJob => {
                let new = new_plan_job("a");
                let made = store.insert_plan_run(&new, vec![7], None, Some(slot));
                made.await.map(LaunchedJob::Plan)
            }
            _ => store
                .insert_job(new_job(Some(slot)))
                .await
                .map(LaunchedJob::Job),
        };
        if mood != Mood::Works {
            std::future::pending::<()>().await;
        }
        made.map_err(|error| SubmissionError::new("x/store", error.to_string()))
    }
}

pub(crate) fn new_job(slot: Option<SlotKey>) -> NewJob {
    NewJob {
        command: "task".to_owned(),
        kind: "task".to_owned(),
        task: Some("package".to_owned()),
        environment: "production".to_owned(),
        options: "{}".to_owned(),
        sealed: None,
        owner: "ada".to_owned(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms: 1,
        states: vec!["ready".to_owned()],
        batches: None,
        runs: Vec::new(),
        events: Vec::new(),
        slot,
        plan_job: None,
        mark: None,
    }
}

pub(crate) fn new_plan_job(request_id: &str) -> NewPlanJob {
    NewPlanJob {
        request_id: request_id.to_owned(),
        plan: "test".to_owned(),
        environment: String::new(),
        options: "{}".to_owned(),
        userdata: "{}".to_owned(),
        owner: "ada".to_owned(),
        owner_id: "7".to_owned(),
        created_ms: 1,
    }
}

/// Keeps the outcomes that it receives.
#[derive(Default)]
pub(crate) struct Records {
    pub(crate) fired: Mutex<Vec<(i64, SlotOutcome)>>,
    pub(crate) full: Mutex<bool>,
}

#[async_trait]
impl SlotRecorder for Records {
    async fn before_start(&self, _: &SlotEvent) -> Result<(), String> {
        match *self.full.lock().unwrap() {
            true => Err("the disk is full".to_owned()),
            false => Ok(()),
        }
    }

    async fn after_outcome(&self, firing: &SlotEvent, outcome: &SlotOutcome) {
        let told = (firing.slot.slot_ms, outcome.clone());
        self.fired.lock().unwrap().push(told);
    }
}

/// State that outlives the server process.
struct Home {
    database: Database,
    directory: tempfile::TempDir,
}

pub(crate) struct World {
    home: Arc<Home>,
    pub(crate) store: Store,
    pub(crate) clock: Hand,
    pub(crate) launcher: Arc<Launcher>,
    pub(crate) records: Arc<Records>,
    pub(crate) schedules: Schedules,
    pub(crate) launched: mpsc::UnboundedReceiver<(SlotJob, SlotKey)>,
}

impl World {
    pub(crate) async fn at(now: &str) -> Self {
        let home = Home {
            database: Database::empty().await.unwrap(),
            directory: tempfile::tempdir().unwrap(),
        };
        Self::open(Arc::new(home), ms(now), Mood::Works).await
    }

    async fn open(home: Arc<Home>, now_ms: i64, mood: Mood) -> Self {
        let config = StoreConfig::new(home.database.url());
        let store = Store::open(&config).await.unwrap();
        let clock = Hand(Arc::new(AtomicI64::new(now_ms)));
        let (seen, launched) = mpsc::unbounded_channel();
        let launcher = Arc::new(Launcher {
            store: store.clone(),
            mood: Mutex::new(mood),
            seen,
        });
        let records = Arc::<Records>::default();
        let config = SchedulesConfig {
            clock: Arc::new(clock.clone()),
            record: Arc::clone(&records) as Arc<dyn SlotRecorder>,
        };
        let seal = SealKey::open_or_create(&home.directory.path().join("seal.key")).unwrap();
        let launch = Arc::clone(&launcher) as Arc<dyn JobLauncher>;
        let schedules = Schedules::start(config, store.clone(), seal, launch);
        Self {
            home,
            store,
            clock,
            launcher,
            records,
            schedules,
            launched,
        }
    }

    /// Ends the process at once, as by a power cut, and starts it again at `now_ms`.
    pub(crate) async fn cut(self, now_ms: i64, mood: Mood) -> Self {
        let home = Arc::clone(&self.home);
        self.store.close().await;
        drop(self);
        Self::open(home, now_ms, mood).await
    }

    pub(crate) fn database(&self) -> &Database {
        &self.home.database
    }

    pub(crate) fn mood(&self, mood: Mood) {
        *self.launcher.mood.lock().unwrap() = mood;
    }

    /// Sets the clock and makes the actor read it.
    pub(crate) fn set(&self, at_ms: i64) {
        self.clock.set(at_ms);
        self.schedules.wake_actor();
    }

    pub(crate) async fn create(&self, timetable: Timetable) -> i64 {
        let draft = draft(timetable);
        let made = self
            .schedules
            .create(ScheduledJobKind::Task, "ada", "u-1", draft);
        made.await.unwrap()
    }

    /// Waits until `is` holds for the schedule, and returns it.
    pub(crate) async fn until(&self, id: i64, is: impl Fn(&ScheduleView) -> bool) -> ScheduleView {
        let waiting = async {
            loop {
                let now = self.schedules.get(id).await.unwrap();
                if is(&now) {
                    return now;
                }
                self.schedules.wake_actor();
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        let patience = std::time::Duration::from_secs(20);
        match tokio::time::timeout(patience, waiting).await {
            Ok(found) => found,
            Err(_) => panic!("it stays {:?}", self.schedules.get(id).await.unwrap()),
        }
    }

    /// Number of plan jobs.
    pub(crate) async fn plan_jobs(&self) -> u64 {
        let (filter, page) = (PlanJobFilter::default(), ListPage::default());
        self.store.plan_jobs(&filter, page).await.unwrap().1
    }

    pub(crate) async fn jobs(&self) -> u64 {
        let (_, total) = self
            .store
            .jobs(&JobListFilter::default(), ListPage::default())
            .await
            .unwrap();
        total
    }
}

pub(crate) fn draft(timetable: Timetable) -> ScheduleDraft {
    let object = |value: Value| -> Map<String, Value> { serde_json::from_value(value).unwrap() };
    ScheduleDraft {
        name: "package".to_owned(),
        environment: "production".to_owned(),
        description: "nightly".to_owned(),
        userdata: object(json!({"ticket": 7})),
        input: object(json!({"scope": {"nodes": ["a"]}, "parameters": {"name": {"value": "x"}}})),
        secrets: object(json!({"password": "hunter2"})),
        timetable,
    }
}

/// A timetable with a slot every hour from `start` on.
pub(crate) fn hourly(start: &str) -> Timetable {
    Timetable {
        rule: TimetableRule::Every { seconds: 3_600 },
        ..Timetable::once(ms(start))
    }
}
