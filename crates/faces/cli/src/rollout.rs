//! The options of canary rollouts. Main type: [`Rollout`].

use api_types::Job;
use api_types::rollout::{BatchSizes, Portion, RolloutOptions};

use crate::terminal;
use crate::values::duration;

/// Batches, pauses between them, and how many nodes may fail.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Rollout {
    /// Take the nodes in batches of this size, such as 5 or 10%; several sizes with commas are a ramp (1,10%,100%), whose
    /// last size repeats
    #[arg(long, value_name = "SIZES", help_heading = "Rollout")]
    pub(crate) batch: Option<BatchSizes>,
    /// Wait between the end of a batch and the start of the next: seconds, or 15m, 4h, 1d
    #[arg(
        long,
        value_name = "TIME",
        value_parser = crate::span::seconds,
        requires = "batch",
        help_heading = "Rollout"
    )]
    pub(crate) pause_between_batches: Option<u64>,
    /// How many nodes may fail, such as 2 or 10%; with one more, no other node starts [default: any number, unless every
    /// node of a batch failed]
    #[arg(long, value_name = "N", help_heading = "Rollout")]
    pub(crate) max_failures: Option<Portion>,
}

/// The options of a job's rollout in words; `None`: it is none.
pub(crate) fn of_job(job: &Job) -> Option<String> {
    let options = serde_json::to_value(&job.options).ok()?;
    let options: RolloutOptions = serde_json::from_value(options).ok()?;
    let mut words = Vec::new();
    words.extend(options.batch.map(|sizes| format!("batches of {sizes}")));
    let pause = options.pause_between_batches.filter(|seconds| *seconds > 0);
    words.extend(pause.map(|seconds| format!("{} between them", duration(seconds as f64))));
    let limit = options.max_failures;
    words.extend(limit.map(|portion| format!("at most {portion} may fail")));
    (!words.is_empty()).then(|| words.join(", "))
}

/// The batch that a job is in; `None`: it has none.
pub(crate) fn progress_of(job: &Job) -> Option<String> {
    let rollout = job.rollout.as_ref()?;
    let of = format!("{} of {}", rollout.batch, rollout.batches);
    Some(match &rollout.next_batch_timestamp {
        Some(next) => format!(
            "{of} {}",
            terminal::warn(format!("(paused; the next one starts at {next})"))
        ),
        None => of,
    })
}
