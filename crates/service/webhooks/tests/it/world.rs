//! A store and its webhooks, which can be restarted.

use api_types::NewWebhook;
use pki::seal::SealKey;
use store::{
    NewEvent, NewJob, NewPlanEvent, NewPlanJob, NewPuppetRunEvent, NewRun, PlanOutcome,
    RunReportDetailRow, RunReportRow, RunReportWrite, Store, StoreConfig,
};
use tempfile::TempDir;
use testkit::engine::Database;
use uuid::Uuid;
use webhooks::Webhooks;

pub(crate) struct World {
    pub(crate) directory: TempDir,
    pub(crate) database: Database,
    pub(crate) store: Store,
    pub(crate) webhooks: Webhooks,
}

impl World {
    pub(crate) async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::empty().await.unwrap();
        let (store, webhooks) = open(&directory, &database).await;
        Self {
            directory,
            database,
            store,
            webhooks,
        }
    }

    /// Simulates a restart of the server.
    pub(crate) async fn restarted(self) -> Self {
        self.webhooks.shutdown().await;
        self.store.close().await;
        let Self {
            directory,
            database,
            ..
        } = self;
        let (store, webhooks) = open(&directory, &database).await;
        Self {
            directory,
            database,
            store,
            webhooks,
        }
    }

    /// Creates a webhook for these types of events; returns its id and its key.
    pub(crate) async fn hook(&self, url: &str, events: &[&str]) -> (Uuid, String) {
        let created = self
            .webhooks
            .create(new_webhook(url, events), "admin".to_owned());
        let (hook, secret) = created.await.unwrap();
        (hook.id.parse().unwrap(), secret.expose().to_owned())
    }

    /// Stores a job with these events.
    pub(crate) async fn happens(&self, kinds: &[&str]) {
        let event = |kind: &&str| NewEvent {
            kind: (*kind).to_owned(),
            at_ms: 1_000,
            certname: None,
            details: "{\"x\":1}".to_owned(),
            message: format!("{kind} happened"),
        };
        let events = kinds.iter().map(event).collect();
        self.store
            .insert_job(job(None, events, Vec::new()))
            .await
            .unwrap();
    }

    /// Stores a running plan job; returns its number.
    pub(crate) async fn plan(&self, plan: &str) -> i64 {
        let new = NewPlanJob {
            request_id: Uuid::new_v4().to_string(),
            plan: plan.to_owned(),
            environment: "production".to_owned(),
            options: "{}".to_owned(),
            userdata: "{}".to_owned(),
            owner: "anna".to_owned(),
            owner_id: String::new(),
            created_ms: 1_000,
        };
        self.store.insert_plan_job(&new).await.unwrap()
    }

    pub(crate) async fn happens_in_plan(&self, number: i64, kind: &str, message: &str) {
        let event = plan_event(kind, message);
        assert!(self.store.insert_plan_event(number, &event).await.unwrap());
    }

    /// Stores the report of a Puppet run on web1 that ended with this status.
    pub(crate) async fn puppet_ran(&self, report_id: &str, status: &str) {
        let details = serde_json::json!({
            "report": report_id, "status": status, "environment": "production",
            "resources": {"total": 12, "failed": 0, "changed": 3},
        });
        let report = RunReportRow {
            report_id: report_id.to_owned(),
            certname: "web1.example.com".to_owned(),
            transaction_uuid: format!("uuid-{report_id}"),
            received_ms: 1_000,
            status: status.to_owned(),
            job_id: None,
            summary: "{}".to_owned(),
        };
        let write = RunReportWrite {
            row: RunReportDetailRow {
                report,
                detail: vec![1],
            },
            keep: 100,
            command: None,
            event: Some(NewPuppetRunEvent {
                kind: format!("puppet_run_{status}"),
                details: details.to_string(),
            }),
            programs: Vec::new(),
        };
        self.store.put_run_report(&write, None).await.unwrap();
    }

    /// Waits until the webhook has counted so many deliveries: its receiver has an event before the
    /// webhook knows that.
    pub(crate) async fn counts(&self, id: Uuid, delivered: i64) {
        while self.webhooks.get(id).await.unwrap().delivered < delivered {
            tokio::task::yield_now().await;
        }
    }

    /// Ends a plan job as failed.
    pub(crate) async fn plan_ends(&self, number: i64) {
        let outcome = PlanOutcome {
            state: "failure".to_owned(),
            result: "{}".to_owned(),
            event: plan_event("plan_failed", "it failed"),
        };
        let ended = self.store.finish_plan_job(number, &outcome).await;
        assert!(ended.unwrap());
    }

    /// Stores an ended job of this task, whose nodes ended with these events.
    pub(crate) async fn runs(&self, task: &str, kinds: &[&str]) {
        let event = |kind: &str, certname: Option<String>| NewEvent {
            kind: kind.to_owned(),
            at_ms: 1_000,
            certname,
            details: "{\"state\":\"failed\"}".to_owned(),
            message: format!("{kind} happened"),
        };
        let names = (1..=kinds.len()).map(|number| format!("node{number}.example.com"));
        let names: Vec<String> = names.collect();
        let nodes = kinds.iter().zip(&names);
        let events = nodes.map(|(kind, name)| event(kind, Some(name.clone())));
        let events = events.chain([event("job_finished", None)]).collect();
        let runs = names.iter().map(|name| run(name)).collect();
        let job = NewJob {
            owner: "anna".to_owned(),
            environment: "production".to_owned(),
            description: "weekly".to_owned(),
            ..job(Some(task), events, runs)
        };
        self.store.insert_job(job).await.unwrap();
    }
}

pub(crate) fn new_webhook(url: &str, events: &[&str]) -> NewWebhook {
    NewWebhook {
        url: url.to_owned(),
        events: events.iter().map(|event| (*event).to_owned()).collect(),
        template: None,
        description: String::new(),
        secret: None,
    }
}

fn plan_event(kind: &str, message: &str) -> NewPlanEvent {
    NewPlanEvent {
        kind: kind.to_owned(),
        at_ms: 1_000,
        details: "{\"x\":1}".to_owned(),
        message: message.to_owned(),
    }
}

fn run(certname: &str) -> NewRun {
    NewRun {
        certname: certname.to_owned(),
        transaction_id: Uuid::new_v4().to_string(),
        state: "ready".to_owned(),
        details: None,
        result: None,
        event: None,
        batch: None,
    }
}

fn job(task: Option<&str>, events: Vec<NewEvent>, runs: Vec<NewRun>) -> NewJob {
    NewJob {
        command: "task".to_owned(),
        kind: "task".to_owned(),
        task: task.map(str::to_owned),
        environment: String::new(),
        options: "{}".to_owned(),
        sealed: None,
        owner: "admin".to_owned(),
        description: String::new(),
        userdata: "{}".to_owned(),
        created_ms: 1_000,
        states: vec!["ready".to_owned()],
        batches: None,
        runs,
        events,
        slot: None,
        plan_job: None,
        mark: None,
    }
}

async fn open(directory: &TempDir, database: &Database) -> (Store, Webhooks) {
    let config = StoreConfig::new(database.url());
    let store = Store::open(&config).await.unwrap();
    let seal = SealKey::open_or_create(&directory.path().join("seal.key")).unwrap();
    let webhooks = Webhooks::open(store.clone(), seal).await.unwrap();
    (store, webhooks)
}
