//! The audit of scheduled launches: [`AuditRecord`].
//!
//! Invariant: nothing starts without a durable entry, and the result is a second entry. The actor
//! is the owner, through the scheduler.

use std::sync::Arc;

use async_trait::async_trait;
use audit::{ActorKind, Audit, AuditActor, AuditObject, AuditedAction};
use schedules::{SlotEvent, SlotOutcome, SlotRecorder};
use serde_json::{Map, json};
use store::{LaunchedJob, now_ms};
use telemetry::metrics::Counter;

/// Writes audit entries, and counts them.
#[derive(Clone, Debug)]
pub(super) struct AuditRecord(pub(super) Audit, pub(super) Arc<LaunchCounters>);

telemetry::metrics! {
    /// Counters of slots since the start of the server, by result.
    pub(crate) struct LaunchCounters {
        /// Jobs that the scheduler started.
        pub(crate) launched: Counter = "schedules_launched",
        /// Jobs that the scheduler started more than a minute late.
        pub(crate) late: Counter = "schedules_late",
        /// Slots whose job was refused; the audit log has the reason.
        pub(crate) refused: Counter = "schedules_refused",
        /// Slots that were skipped.
        pub(crate) skipped: Counter = "schedules_skipped",
    }
}

/// Delay from which a launch counts as late: the server was down, or launches waited. The scheduler
/// polls every few seconds.
const LATE_MS: i64 = 60_000;

// === impl LaunchCounters ===

impl LaunchCounters {
    fn count(&self, firing: &SlotEvent, outcome: &SlotOutcome) {
        let counter = match outcome {
            SlotOutcome::Launched(_) => &self.launched,
            SlotOutcome::Refused(_) => &self.refused,
            SlotOutcome::Skipped(_) => &self.skipped,
        };
        counter.inc();
        let now_ms = now_ms();
        let is_late = now_ms.saturating_sub(firing.slot.slot_ms) > LATE_MS;
        if matches!(outcome, SlotOutcome::Launched(_)) && is_late {
            self.late.inc();
        }
    }
}

#[async_trait]
impl SlotRecorder for AuditRecord {
    async fn before_start(&self, firing: &SlotEvent) -> Result<(), String> {
        let entry = launch_event(firing, "scheduled_job_start");
        let recorded = self.0.record(&entry, &audit::AuditOutcome::default()).await;
        recorded.map(|_| ()).map_err(|error| error.to_string())
    }

    async fn after_outcome(&self, firing: &SlotEvent, outcome: &SlotOutcome) {
        self.1.count(firing, outcome);
        let (entry, result) = match outcome {
            SlotOutcome::Launched(job) => {
                let kind = match job {
                    LaunchedJob::Job(_) => "job",
                    LaunchedJob::Plan(_) => "plan_job",
                };
                let result = audit::AuditOutcome {
                    status: Some(202),
                    object: Some(AuditObject::named(kind, &job.to_string())),
                    ..audit::AuditOutcome::default()
                };
                (launch_event(firing, "scheduled_job_started"), result)
            }
            SlotOutcome::Refused(error) => {
                let result = audit::AuditOutcome {
                    error: Some(error.kind.clone()),
                    ..audit::AuditOutcome::default()
                };
                (launch_event(firing, "scheduled_job_refused"), result)
            }
            SlotOutcome::Skipped(skip) => {
                let mut entry = launch_event(firing, "scheduled_job_skipped");
                let reason = json!(skip.reason.as_str());
                entry.details.insert("reason".to_owned(), reason);
                (entry, audit::AuditOutcome::default())
            }
        };
        if let Err(error) = self.0.record(&entry, &result).await {
            tracing::error!(%error, slot = ?firing.slot, "cannot record what came of a slot");
        }
    }
}

fn launch_event(firing: &SlotEvent, action: &str) -> AuditedAction {
    let id = firing.slot.schedule.to_string();
    AuditedAction {
        actor: AuditActor {
            kind: ActorKind::User,
            id: firing.owner_id.clone(),
            name: firing.owner.clone(),
            address: None,
        },
        service: "orchestrator".to_owned(),
        action: action.to_owned(),
        object: AuditObject {
            kind: "scheduled_job".to_owned(),
            id,
            name: firing.name.clone(),
        },
        details: Map::from_iter([
            (
                "slot".to_owned(),
                json!(api_types::Timestamp::from_ms(firing.slot.slot_ms)),
            ),
            ("type".to_owned(), json!(firing.kind.as_str())),
        ]),
        ..AuditedAction::default()
    }
}
