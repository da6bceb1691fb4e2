//! The slots of a timetable: [`CompiledTimetable`].
//!
//! Invariants: slots strictly increase, and so do their starts; no start is in a blackout, before
//! its slot, or more than the spread after it; the same call has the same result at any time and
//! on any server.

use crate::blackout::CompiledBlackout;
use crate::defaults::{BLACKOUT_STEPS, PREVIEW_SLOTS};
use crate::rule::CompiledRule;
use crate::spread::delay_seconds;
use crate::timetable::{MissedSlotPolicy, OverlapPolicy, Timetable, TimetableError};

/// A slot: its time by the rule, and the time at which it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScheduleSlot {
    /// Time by the rule, which identifies the slot, in milliseconds since 1970.
    pub slot_ms: i64,
    /// Start time: the slot's time plus the spread, in milliseconds since 1970.
    pub start_ms: i64,
}

/// A compiled timetable that computes slots.
#[derive(Clone, Debug)]
pub struct CompiledTimetable {
    schedule: i64,
    /// Time of the earliest possible slot.
    pub(crate) first_ms: i64,
    rule: CompiledRule,
    spread_seconds: u64,
    blackouts: Vec<CompiledBlackout>,
    end_ms: i64,
    pub(crate) overlap: OverlapPolicy,
    pub(crate) missed: MissedSlotPolicy,
    pub(crate) max_runs: u64,
}

impl CompiledTimetable {
    /// Compiles the timetable of the schedule with this number, which seeds the spread.
    pub fn new(schedule: i64, timetable: &Timetable) -> Result<Self, TimetableError> {
        let blackouts = timetable.blackouts.iter().map(CompiledBlackout::new);
        Ok(Self {
            schedule,
            first_ms: timetable.start_ms,
            rule: CompiledRule::new(timetable)?,
            spread_seconds: timetable.spread_seconds,
            blackouts: blackouts.collect::<Result<_, _>>()?,
            end_ms: timetable.end_ms.unwrap_or(i64::MAX),
            overlap: timetable.overlap,
            missed: timetable.missed,
            max_runs: timetable.max_runs.unwrap_or(u64::MAX),
        })
    }

    /// The first slot after the slot time `after_ms`.
    pub fn next_after(&self, after_ms: i64) -> Option<ScheduleSlot> {
        let mut after_ms = after_ms;
        for _ in 0..BLACKOUT_STEPS {
            let slot_ms = self.rule.next_after(after_ms)?;
            let slot = ScheduleSlot {
                slot_ms,
                start_ms: slot_ms.checked_add(self.delay_ms(slot_ms))?,
            };
            if slot.start_ms > self.end_ms {
                return None;
            }
            let Some(until_ms) = self.blocked_until(slot.start_ms) else {
                return Some(slot);
            };
            after_ms = self.last_in_window(slot_ms, until_ms);
        }
        None
    }

    /// A time after which the first slot is the first one that may start after the window which ends
    /// at `until_ms` and contains the start of the slot `slot_ms`. A delay is shorter than the distance
    /// to the next slot, so of the slots in the window only the last one may start after it.
    fn last_in_window(&self, slot_ms: i64, until_ms: i64) -> i64 {
        if self.spread_seconds == 0 {
            return slot_ms.max(until_ms.saturating_sub(1));
        }
        let next_in_window = |after_ms: i64| {
            let next = self.rule.next_after(after_ms);
            next.filter(|next_ms| *next_ms < until_ms)
        };
        let longest_ms = to_milliseconds(self.spread_seconds);
        let after_ms = slot_ms.max(until_ms.saturating_sub(longest_ms).saturating_sub(1));
        let Some(mut last_ms) = next_in_window(after_ms) else {
            return after_ms;
        };
        let mut end_ms = until_ms;
        while last_ms.saturating_add(1) < end_ms {
            let middle_ms = i64::midpoint(last_ms, end_ms);
            match next_in_window(middle_ms) {
                Some(next_ms) => last_ms = next_ms,
                None => end_ms = middle_ms,
            }
        }
        last_ms - 1
    }

    /// The last slot after `cursor_ms` that has started by `now_ms`.
    pub fn last_due(&self, cursor_ms: i64, now_ms: i64) -> Option<ScheduleSlot> {
        let cursor_ms = cursor_ms.max(self.first_ms.saturating_sub(1));
        // Searches close to now first: after a year without a run there may be millions of earlier
        // slots.
        let mut look_back_ms = 60_000_i64;
        loop {
            let from_ms = now_ms.saturating_sub(look_back_ms).max(cursor_ms);
            let mut last = None;
            let mut next = self.next_after(from_ms);
            while let Some(slot) = next.filter(|slot| slot.start_ms <= now_ms) {
                last = Some(slot);
                next = self.next_after(slot.slot_ms);
            }
            if last.is_some() || from_ms <= cursor_ms {
                return last;
            }
            look_back_ms = look_back_ms.saturating_mul(8);
        }
    }

    /// End of the blackout that contains `at_ms`; `None` if there is none.
    pub fn blocked_until(&self, at_ms: i64) -> Option<i64> {
        let windows = self.blackouts.iter();
        windows
            .filter_map(|window| window.find_window_end(at_ms))
            .max()
    }

    /// Returns `true` if no slot may start at this time, because the schedule has ended.
    pub(crate) fn is_over(&self, at_ms: i64) -> bool {
        at_ms > self.end_ms
    }

    /// The next slots after `after_ms`, at most `count`.
    pub fn preview(&self, after_ms: i64, count: usize) -> Vec<ScheduleSlot> {
        let first = self.next_after(after_ms);
        std::iter::successors(first, |slot| self.next_after(slot.slot_ms))
            .take(count.min(PREVIEW_SLOTS))
            .collect()
    }

    /// Delay of a slot: shorter than the distance to the next slot, so that starts keep the order
    /// of slots.
    fn delay_ms(&self, slot_ms: i64) -> i64 {
        if self.spread_seconds == 0 {
            return 0;
        }
        let next_ms = self.rule.next_after(slot_ms).unwrap_or(i64::MAX);
        let gap = next_ms.saturating_sub(slot_ms).max(1_000).unsigned_abs() / 1_000;
        let at_most = self.spread_seconds.min(gap - 1);
        to_milliseconds(delay_seconds(self.schedule, slot_ms, at_most))
    }
}

pub(crate) fn to_milliseconds(seconds: u64) -> i64 {
    i64::try_from(seconds)
        .unwrap_or(i64::MAX)
        .saturating_mul(1_000)
}
