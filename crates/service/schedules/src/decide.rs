//! What is to be done with a schedule now: [`decide`].
//!
//! The rules: a decision moves the cursor over the slots that it is about, and the cursor never
//! goes back, whatever clocks do; a slot that does not run is named with its reason.

use serde::{Deserialize, Serialize};
use store::Advance;

use crate::defaults::ON_TIME_MS;
use crate::plan::{Plan, Slot, milliseconds};
use crate::timetable::{Missed, Overlap};

/// Where a schedule stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Slots up to this one are decided; `None`: none is.
    pub cursor_ms: Option<i64>,
    /// A slot that waits for the run before it.
    pub queued_ms: Option<i64>,
    /// How many slots have run.
    pub runs: u64,
    /// Whether the run before goes on.
    pub running: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing before the time in it.
    Wait(Advance),
    /// Claim the slot and launch its job.
    Launch {
        /// The slot's name.
        slot_ms: i64,
        /// Where the schedule stands then.
        advance: Advance,
    },
    /// Leave slots out.
    Pass {
        /// Which, and why.
        skip: Skip,
        /// Where the schedule stands then.
        advance: Advance,
    },
}

/// Slots that were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skip {
    /// The first, or the only one.
    pub first_ms: i64,
    /// The last.
    pub last_ms: i64,
    /// Why.
    pub reason: SkipReason,
}

/// Why a slot was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// The run before it went on.
    Overlap,
    /// It could not start in time.
    Missed,
    /// When it could start, a blackout had begun.
    Blackout,
    /// When it could start, the schedule was over.
    Over,
    /// The timetable cannot be used on this server any more.
    Broken,
}

impl SkipReason {
    /// For people.
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

/// What is to be done at `now_ms`. To be asked again after a launch or a pass.
pub fn decide(plan: &Plan, standing: &Standing, now_ms: i64) -> Decision {
    let standing = *standing;
    let cursor_ms = cursor(plan, standing.cursor_ms);
    if let Some(queued_ms) = standing.queued_ms
        && let Some(decision) = queued(plan, &standing, queued_ms, now_ms)
    {
        return decision;
    }
    let left = standing.runs < plan.max_runs;
    let due = left.then(|| plan.last_due(cursor_ms, now_ms)).flatten();
    let Some(due) = due else {
        return Decision::Wait(advance(plan, &standing, standing.cursor_ms));
    };
    // Those before it go one step ahead, so that each is told.
    let first = plan.next_after(cursor_ms).unwrap_or(due);
    if first.slot_ms < due.slot_ms {
        let last_ms = due.slot_ms - 1;
        return pass(plan, &standing, first, last_ms, SkipReason::Missed);
    }
    let reason = if late(plan.missed, due, now_ms) {
        Some(SkipReason::Missed)
    } else if plan.blocked_until(now_ms).is_some() {
        Some(SkipReason::Blackout)
    } else if plan.is_over(now_ms) && now_ms - due.start_ms > ON_TIME_MS {
        Some(SkipReason::Over)
    } else {
        None
    };
    if let Some(reason) = reason {
        return pass(plan, &standing, due, due.slot_ms, reason);
    }
    match (standing.running, plan.overlap) {
        (false, _) | (true, Overlap::Allow) => launch(plan, &standing, due.slot_ms),
        (true, Overlap::Queue) if standing.queued_ms.is_none() => {
            let queued = Standing {
                queued_ms: Some(due.slot_ms),
                ..standing
            };
            Decision::Wait(advance(plan, &queued, Some(due.slot_ms)))
        }
        (true, _) => pass(plan, &standing, due, due.slot_ms, SkipReason::Overlap),
    }
}

/// What becomes of the queued slot; `None`: it goes on waiting.
fn queued(plan: &Plan, standing: &Standing, queued_ms: i64, now_ms: i64) -> Option<Decision> {
    let without = Standing {
        queued_ms: None,
        ..*standing
    };
    if plan.is_over(now_ms) || standing.runs >= plan.max_runs {
        let skip = Skip {
            first_ms: queued_ms,
            last_ms: queued_ms,
            reason: SkipReason::Over,
        };
        let advance = advance(plan, &without, standing.cursor_ms);
        return Some(Decision::Pass { skip, advance });
    }
    if standing.running || plan.blocked_until(now_ms).is_some() {
        return None;
    }
    Some(launch(plan, &without, queued_ms))
}

/// Whether a slot cannot start any more.
fn late(missed: Missed, slot: Slot, now_ms: i64) -> bool {
    let late_ms = now_ms.saturating_sub(slot.start_ms);
    let grace_ms = match missed {
        Missed::Skip => 0,
        Missed::RunOnce { grace_seconds } => milliseconds(grace_seconds),
    };
    late_ms > grace_ms.max(ON_TIME_MS)
}

fn launch(plan: &Plan, standing: &Standing, slot_ms: i64) -> Decision {
    let after = Standing {
        runs: standing.runs.saturating_add(1),
        ..*standing
    };
    let cursor_ms = standing
        .cursor_ms
        .map_or(slot_ms, |cursor| cursor.max(slot_ms));
    Decision::Launch {
        slot_ms,
        advance: advance(plan, &after, Some(cursor_ms)),
    }
}

fn pass(
    plan: &Plan,
    standing: &Standing,
    first: Slot,
    last_ms: i64,
    reason: SkipReason,
) -> Decision {
    let skip = Skip {
        first_ms: first.slot_ms,
        last_ms,
        reason,
    };
    Decision::Pass {
        skip,
        advance: advance(plan, standing, Some(last_ms)),
    }
}

/// Where the schedule stands with this cursor.
fn advance(plan: &Plan, standing: &Standing, cursor_ms: Option<i64>) -> Advance {
    let left = standing.runs < plan.max_runs;
    let next = left.then(|| plan.next_after(cursor(plan, cursor_ms)));
    let next = next.flatten();
    Advance {
        cursor_ms,
        next_slot_ms: next.map(|slot| slot.slot_ms),
        next_ms: next.map(|slot| slot.start_ms),
        queued_ms: standing.queued_ms,
    }
}

/// The cursor, or the moment before the first slot.
fn cursor(plan: &Plan, cursor_ms: Option<i64>) -> i64 {
    cursor_ms.unwrap_or(plan.first_ms.saturating_sub(1))
}
