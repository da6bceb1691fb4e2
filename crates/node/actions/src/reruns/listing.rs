//! Requested reruns as a user sees them: [`RerunListing`].

use std::fmt;

use jiff::{Timestamp, Unit};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::state::{RequestState, StateFile};

/// Id of this start of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// All requests of a node.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct RerunListing {
    /// Id of the process that waits for the time of the requests.
    pub waiter: Option<u32>,
    pub requests: Vec<RerunRequest>,
    pub episodes: Vec<RerunEpisode>,
}

/// A run of Puppet that an earlier run requested, and that has not started yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RerunRequest {
    /// The run of Puppet that is repeated, such as `agent production`.
    pub run: String,
    pub key: String,
    /// Seconds until the rerun, not negative; `None` until the run that made the request has ended.
    pub due_in_s: Option<f64>,
    /// Shortest pause in seconds, as requested.
    pub delta_s: f64,
    /// Pause in seconds, with the growing part and the jitter.
    pub pause_s: f64,
    /// Number that the rerun will have in its episode.
    pub rerun: u64,
    pub max_runs: u64,
}

/// The reruns of a run of Puppet up to one that requested nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RerunEpisode {
    /// The run of Puppet that is repeated, such as `agent production`.
    pub run: String,
    pub reruns: u64,
    /// Time of the newest outcome.
    pub last_at: Option<Timestamp>,
    pub last_outcome: Option<String>,
}

// === impl RerunListing ===

impl RerunListing {
    pub(super) fn of(state: Option<&StateFile>, waiter: Option<u32>) -> Self {
        let mut listing = Self {
            waiter,
            ..Self::default()
        };
        let Some(state) = state else {
            return listing;
        };
        let is_this_boot =
            std::fs::read_to_string(BOOT_ID).is_ok_and(|id| id.trim() == state.boot_id());
        for (run, found) in state.parse_scopes() {
            for (key, request) in RequestState::of(&found) {
                listing.requests.push(RerunRequest {
                    run: run.to_owned(),
                    key,
                    due_in_s: due_in(&request, is_this_boot),
                    delta_s: request.delta,
                    pause_s: request.wait,
                    rerun: found.reruns + 1,
                    max_runs: request.max_runs,
                });
            }
            let last_at = found.last.as_ref().and_then(|last| to_timestamp(last.at));
            listing.episodes.push(RerunEpisode {
                run: run.to_owned(),
                reruns: found.reruns,
                last_at,
                last_outcome: found.last.map(|last| last.outcome),
            });
        }
        listing
    }

    /// The listing as one JSON document.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("texts and numbers");
        format!("{text}\n")
    }
}

impl fmt::Display for RerunListing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.requests.is_empty() {
            writeln!(f, "no rerun is requested")?;
        } else {
            self.fmt_requests(f)?;
        }
        let begun = self.episodes.iter();
        for episode in begun.filter(|it| it.reruns > 0 || it.last_outcome.is_some()) {
            writeln!(f, "{episode}")?;
        }
        Ok(())
    }
}

impl RerunListing {
    fn fmt_requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.requests.iter().map(|it| it.run.chars().count());
        let keys = self.requests.iter().map(|it| it.key.chars().count());
        let run_width = runs.chain(["RUN".len()]).max().unwrap_or_default();
        let key_width = keys.chain(["KEY".len()]).max().unwrap_or_default();
        writeln!(
            f,
            "{:run_width$}  {:key_width$}  {:16}  RERUN",
            "RUN", "KEY", "DUE"
        )?;
        for request in &self.requests {
            let due = match request.due_in_s {
                Some(seconds) if seconds > 0.0 => format!("in {:.0} s", seconds.ceil()),
                Some(_) => "now".to_owned(),
                None => format!("{:.0} s after run", request.pause_s.ceil()),
            };
            writeln!(
                f,
                "{:run_width$}  {:key_width$}  {due:16}  {} of {}",
                request.run, request.key, request.rerun, request.max_runs
            )?;
        }
        match self.waiter {
            Some(pid) => writeln!(f, "process {pid} waits"),
            None => writeln!(
                f,
                "no process waits; the next run with the module common starts one"
            ),
        }
    }
}

impl fmt::Display for RerunEpisode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { run, reruns, .. } = self;
        let noun = if *reruns == 1 { "rerun" } else { "reruns" };
        write!(f, "{run}: {reruns} {noun} in a row")?;
        match (&self.last_outcome, self.last_at) {
            (Some(outcome), Some(at)) => write!(f, "; last, at {at}: {outcome}"),
            _ => Ok(()),
        }
    }
}

/// Seconds until a request is due. Times of an earlier start of the machine count by the date.
fn due_in(request: &RequestState, is_this_boot: bool) -> Option<f64> {
    let due = request.due?;
    if !is_this_boot {
        let now = Timestamp::now().as_duration().as_secs_f64();
        return Some((request.due_at - now).clamp(0.0, request.wait.max(0.0)));
    }
    let now = clock_gettime(ClockId::Boottime);
    #[expect(
        clippy::cast_precision_loss,
        reason = "seconds since a start are far below 2^52"
    )]
    let now = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9;
    Some((due - now).max(0.0))
}

/// A time in seconds since 1970; `None` if it is out of range.
fn to_timestamp(seconds: f64) -> Option<Timestamp> {
    let duration = jiff::SignedDuration::try_from_secs_f64(seconds).ok()?;
    let time = Timestamp::from_duration(duration).ok()?;
    time.round(Unit::Second).ok()
}
