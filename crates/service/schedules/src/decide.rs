//! Decides the next step for a schedule: [`decide`].
//!
//! Invariants: a decision moves the cursor over the slots that it covers, and the cursor never
//! goes back, even if the clock does; a slot that does not run is recorded with its reason.

use serde::{Deserialize, Serialize};
use store::ScheduleProgress;

use crate::compiled_timetable::{CompiledTimetable, ScheduleSlot, to_milliseconds};
use crate::defaults::ON_TIME_MS;
use crate::timetable::{MissedSlotPolicy, OverlapPolicy};

/// The state of a schedule, as input of a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotProgress {
    /// Slots up to this time are decided, in milliseconds since 1970; `None` if none is.
    pub cursor_ms: Option<i64>,
    /// A slot that waits for the end of the previous run.
    pub queued_ms: Option<i64>,
    /// Number of slots that have run.
    pub runs: u64,
    /// `true` while the previous run is in progress.
    pub running: bool,
}

/// The next step for a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleDecision {
    /// Do nothing before the time in the value.
    Wait(ScheduleProgress),
    /// Claim the slot and launch its job.
    Launch {
        /// Time of the slot, which identifies it, in milliseconds since 1970.
        slot_ms: i64,
        /// State of the schedule after the claim.
        advance: ScheduleProgress,
    },
    /// Skip one or more slots.
    Pass {
        /// The skipped slots, with the reason.
        skip: SkippedSlots,
        /// State of the schedule after the skip.
        advance: ScheduleProgress,
    },
}

/// A range of slots that were skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedSlots {
    /// Time of the first slot, in milliseconds since 1970.
    pub first_ms: i64,
    /// Time of the last slot, in milliseconds since 1970.
    pub last_ms: i64,
    /// The reason for skipping them.
    pub reason: SkipReason,
}

/// The reason for skipping a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The previous run was still in progress.
    Overlap,
    /// The slot could not start in time.
    Missed,
    /// A blackout had begun when the slot could start.
    Blackout,
    /// The schedule had ended when the slot could start.
    Over,
    /// The timetable is no longer usable on this server.
    Broken,
}

impl SkipReason {
    /// Text of the reason, shown to users.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Overlap => "the run before it went on",
            Self::Missed => "the server could not start it in time",
            Self::Blackout => "when it could start, a blackout had begun",
            Self::Over => "when it could start, the schedule was over",
            Self::Broken => {
                "the timetable cannot be used on this server any more (is its time zone gone?)"
            }
        }
    }
}

/// Decides the next step at `now_ms`. Must be called again after a launch or a pass.
pub fn decide(plan: &CompiledTimetable, standing: &SlotProgress, now_ms: i64) -> ScheduleDecision {
    let standing = *standing;
    let cursor_ms = effective_cursor(plan, standing.cursor_ms);
    if let Some(queued_ms) = standing.queued_ms
        && let Some(decision) = decide_queued(plan, &standing, queued_ms, now_ms)
    {
        return decision;
    }
    let left = standing.runs < plan.max_runs;
    let due = left.then(|| plan.last_due(cursor_ms, now_ms)).flatten();
    let Some(due) = due else {
        return ScheduleDecision::Wait(next_advance(plan, &standing, standing.cursor_ms));
    };
    // Earlier slots are skipped one step before, so that each is recorded.
    let first = plan.next_after(cursor_ms).unwrap_or(due);
    if first.slot_ms < due.slot_ms {
        let last_ms = due.slot_ms - 1;
        return pass_decision(plan, &standing, first, last_ms, SkipReason::Missed);
    }
    let reason = if is_too_late(plan.missed, due, now_ms) {
        Some(SkipReason::Missed)
    } else if plan.blocked_until(now_ms).is_some() {
        Some(SkipReason::Blackout)
    } else if plan.is_over(now_ms) && now_ms - due.start_ms > ON_TIME_MS {
        Some(SkipReason::Over)
    } else {
        None
    };
    if let Some(reason) = reason {
        return pass_decision(plan, &standing, due, due.slot_ms, reason);
    }
    match (standing.running, plan.overlap) {
        (false, _) | (true, OverlapPolicy::Allow) => launch_decision(plan, &standing, due.slot_ms),
        (true, OverlapPolicy::Queue) if standing.queued_ms.is_none() => {
            let queued = SlotProgress {
                queued_ms: Some(due.slot_ms),
                ..standing
            };
            ScheduleDecision::Wait(next_advance(plan, &queued, Some(due.slot_ms)))
        }
        (true, _) => pass_decision(plan, &standing, due, due.slot_ms, SkipReason::Overlap),
    }
}

/// Decides on the queued slot; `None` if it continues to wait.
fn decide_queued(
    plan: &CompiledTimetable,
    standing: &SlotProgress,
    queued_ms: i64,
    now_ms: i64,
) -> Option<ScheduleDecision> {
    let without = SlotProgress {
        queued_ms: None,
        ..*standing
    };
    if plan.is_over(now_ms) || standing.runs >= plan.max_runs {
        let skip = SkippedSlots {
            first_ms: queued_ms,
            last_ms: queued_ms,
            reason: SkipReason::Over,
        };
        let advance = next_advance(plan, &without, standing.cursor_ms);
        return Some(ScheduleDecision::Pass { skip, advance });
    }
    if standing.running || plan.blocked_until(now_ms).is_some() {
        return None;
    }
    Some(launch_decision(plan, &without, queued_ms))
}

/// Returns `true` if it is too late to start a slot.
fn is_too_late(missed: MissedSlotPolicy, slot: ScheduleSlot, now_ms: i64) -> bool {
    let late_ms = now_ms.saturating_sub(slot.start_ms);
    let grace_ms = match missed {
        MissedSlotPolicy::Skip => 0,
        MissedSlotPolicy::RunOnce { grace_seconds } => to_milliseconds(grace_seconds),
    };
    late_ms > grace_ms.max(ON_TIME_MS)
}

fn launch_decision(
    plan: &CompiledTimetable,
    standing: &SlotProgress,
    slot_ms: i64,
) -> ScheduleDecision {
    let after = SlotProgress {
        runs: standing.runs.saturating_add(1),
        ..*standing
    };
    let cursor_ms = standing
        .cursor_ms
        .map_or(slot_ms, |cursor| cursor.max(slot_ms));
    ScheduleDecision::Launch {
        slot_ms,
        advance: next_advance(plan, &after, Some(cursor_ms)),
    }
}

fn pass_decision(
    plan: &CompiledTimetable,
    standing: &SlotProgress,
    first: ScheduleSlot,
    last_ms: i64,
    reason: SkipReason,
) -> ScheduleDecision {
    let skip = SkippedSlots {
        first_ms: first.slot_ms,
        last_ms,
        reason,
    };
    ScheduleDecision::Pass {
        skip,
        advance: next_advance(plan, standing, Some(last_ms)),
    }
}

/// State of the schedule with this cursor.
fn next_advance(
    plan: &CompiledTimetable,
    standing: &SlotProgress,
    cursor_ms: Option<i64>,
) -> ScheduleProgress {
    let left = standing.runs < plan.max_runs;
    let next = left.then(|| plan.next_after(effective_cursor(plan, cursor_ms)));
    let next = next.flatten();
    ScheduleProgress {
        cursor_ms,
        next_slot_ms: next.map(|slot| slot.slot_ms),
        next_ms: next.map(|slot| slot.start_ms),
        queued_ms: standing.queued_ms,
    }
}

/// The cursor, or the moment before the first slot.
fn effective_cursor(plan: &CompiledTimetable, cursor_ms: Option<i64>) -> i64 {
    cursor_ms.unwrap_or(plan.first_ms.saturating_sub(1))
}
