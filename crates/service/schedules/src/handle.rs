//! The handle that the rest of the server holds: [`Schedules`].
//!
//! Invariant: every change that it confirms is durable, and after [`Schedules::shutdown`] no job
//! starts.

pub use super::error::ScheduleError;
use std::sync::Arc;

use partial_debug::partial_debug;
use pki::seal::SealKey;
use store::{Clock, ListPage, NewSchedule, ScheduleFilter, ScheduleProgress, Store, SystemClock};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::actor::ScheduleActor;
use crate::defaults::SCHEDULES_OF_OWNER;
use crate::draft::{ScheduleDraft, ScheduledJobKind, initial_advance};
use crate::launch::{JobLauncher, NoSlotRecorder, SlotRecorder};
use crate::view::ScheduleView;

/// The handle to the scheduled jobs. Cheap to clone.
#[derive(Clone)]
pub struct Schedules {
    shared: Arc<SchedulesHandleState>,
}

struct SchedulesHandleState {
    parts: Arc<ScheduleServices>,
    tasks: TaskTracker,
}

/// State that the handle and the actor share.
pub(crate) struct ScheduleServices {
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) seal: SealKey,
    pub(crate) launch: Arc<dyn JobLauncher>,
    pub(crate) record: Arc<dyn SlotRecorder>,
    /// Notified after a schedule was written.
    pub(crate) written: Notify,
    /// Cancelled when no further job may start.
    pub(crate) stopped: CancellationToken,
}

/// Settings of the schedules.
#[derive(Clone)]
pub struct SchedulesConfig {
    /// Source of the current time.
    pub clock: Arc<dyn Clock>,
    /// Receiver of audit records of started and skipped slots.
    pub record: Arc<dyn SlotRecorder>,
}

impl Default for SchedulesConfig {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            record: Arc::new(NoSlotRecorder),
        }
    }
}

// === impl Schedules ===

impl Schedules {
    /// Starts the actor, which first handles slots that were claimed before and have no outcome
    /// yet.
    pub fn start(
        config: SchedulesConfig,
        store: Store,
        seal: SealKey,
        launch: Arc<dyn JobLauncher>,
    ) -> Self {
        let parts = Arc::new(ScheduleServices {
            store,
            clock: config.clock,
            seal,
            launch,
            record: config.record,
            written: Notify::new(),
            stopped: CancellationToken::new(),
        });
        let tasks = TaskTracker::new();
        tasks.spawn(ScheduleActor::new(Arc::clone(&parts)).run());
        tasks.close();
        let shared = SchedulesHandleState { parts, tasks };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Creates a scheduled job; returns its number.
    pub async fn create(
        &self,
        kind: ScheduledJobKind,
        owner: &str,
        owner_id: &str,
        draft: ScheduleDraft,
    ) -> Result<i64, ScheduleError> {
        let parts = &self.shared.parts;
        let now_ms = parts.clock.now_ms();
        draft.timetable.check(now_ms)?;
        draft.check_size()?;
        if parts.store.schedules_of_owner(owner_id).await? >= SCHEDULES_OF_OWNER {
            return Err(ScheduleError::TooMany);
        }
        let timetable = draft.timetable.clone();
        let mut edit = draft.into_edit(0, now_ms, &parts.seal)?;
        // The spread depends on the number; until then a slot starts at its own time at the
        // earliest.
        edit.advance.next_ms = edit.advance.next_slot_ms;
        let new = NewSchedule {
            request_id: Uuid::now_v7().to_string(),
            kind: kind.as_str().to_owned(),
            owner: owner.to_owned(),
            owner_id: owner_id.to_owned(),
            created_ms: now_ms,
            edit,
        };
        let id = parts.store.insert_schedule(new).await?;
        if timetable.spread_seconds > 0 {
            let advance: ScheduleProgress = initial_advance(&timetable, id, now_ms)?;
            // An edit in between has computed its own value.
            parts.store.pass_slots(id, 1, advance, None).await?;
        }
        parts.written.notify_one();
        Ok(id)
    }

    /// Replaces the schedule that was read with `revision`. With `new_times` the timetable is
    /// checked and starts again; otherwise it continues from its current state.
    pub async fn replace(
        &self,
        read: &ScheduleView,
        draft: ScheduleDraft,
        new_times: bool,
    ) -> Result<(), ScheduleError> {
        let parts = &self.shared.parts;
        let now_ms = parts.clock.now_ms();
        let id = read.id;
        draft.check_size()?;
        if new_times {
            draft.timetable.check(now_ms)?;
        }
        // Decided slots stay decided, even if the machine's clock was set back.
        let decided_ms = self.get_row(id).await?.edit.advance.cursor_ms;
        let from_ms = decided_ms.map_or(now_ms, |decided| now_ms.max(decided.saturating_add(1)));
        let edit = draft.into_edit(id, from_ms, &parts.seal)?;
        let written = parts
            .store
            .update_schedule(id, read.revision, edit, new_times);
        if !written.await? {
            return Err(ScheduleError::Edited(id));
        }
        parts.written.notify_one();
        Ok(())
    }

    /// Deletes a scheduled job permanently; its number and its past runs are kept.
    pub async fn disable(&self, id: i64) -> Result<(), ScheduleError> {
        if self.shared.parts.store.disable_schedule(id).await? {
            return Ok(());
        }
        self.get_row(id).await?;
        Err(ScheduleError::Disabled(id))
    }

    /// The scheduled job with this number, including deleted ones.
    pub async fn get(&self, id: i64) -> Result<ScheduleView, ScheduleError> {
        ScheduleView::from_row(self.get_row(id).await?)
    }

    /// The definition of the scheduled job with its secrets, in a form that can be written again.
    pub async fn get_draft(&self, id: i64) -> Result<ScheduleDraft, ScheduleError> {
        ScheduleDraft::open(&self.get_row(id).await?, &self.shared.parts.seal)
    }

    /// A page of the scheduled jobs that are not deleted, with their total number.
    pub async fn list(
        &self,
        filter: &ScheduleFilter,
        page: ListPage,
    ) -> Result<(Vec<ScheduleView>, u64), ScheduleError> {
        let (rows, total) = self.shared.parts.store.schedules(filter, page).await?;
        let items = rows.into_iter().map(ScheduleView::from_row);
        Ok((items.collect::<Result<_, _>>()?, total))
    }

    /// Makes the actor read the clock now, for tests that set it.
    pub fn wake_actor(&self) {
        self.shared.parts.written.notify_one();
    }

    /// Stops the actor: no further slot is claimed, and launches in progress are completed.
    pub async fn shutdown(&self) {
        self.shared.parts.stopped.cancel();
        self.shared.tasks.wait().await;
    }

    async fn get_row(&self, id: i64) -> Result<store::ScheduleRow, ScheduleError> {
        let row = self.shared.parts.store.schedule(id).await?;
        row.ok_or(ScheduleError::Unknown(id))
    }
}

impl Drop for SchedulesHandleState {
    fn drop(&mut self) {
        // The handle was dropped without a shutdown: cancel the actor.
        self.parts.stopped.cancel();
    }
}

partial_debug!(Schedules {});

partial_debug!(SchedulesConfig { clock });
