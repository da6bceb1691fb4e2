//! Options of canary rollouts. Main types: [`RolloutArguments`], [`JobLimits`].

use api_types::Job;
use api_types::rollout::{BatchSizes, Portion, RolloutOptions};

use crate::terminal::style_warning;
use crate::values::duration;
use crate::{CommandFailure, Result};

/// Batches, pauses between them, and the number of nodes that may fail.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct RolloutArguments {
    /// Run the nodes in batches of this size, such as 5 or 10%; several sizes separated by commas
    /// are a ramp (1,10%,100%), whose last size repeats
    #[arg(long, value_name = "SIZES", help_heading = "Rollout")]
    pub(crate) batch: Option<BatchSizes>,
    /// Pause between the end of a batch and the start of the next: seconds, or 15m, 4h, 1d
    #[arg(
        long,
        value_name = "TIME",
        value_parser = crate::duration::parse_seconds,
        requires = "batch",
        help_heading = "Rollout"
    )]
    pub(crate) pause_between_batches: Option<u64>,
    /// Number of nodes that may fail, such as 2 or 10%; after one more, no other node starts
    /// [default: any number, unless nodes of a batch failed and none succeeded]
    #[arg(long, value_name = "N", help_heading = "Rollout")]
    pub(crate) max_failures: Option<Portion>,
    /// Spread the starts of the nodes evenly over this time: seconds, or 15m, 4h, 1d. Puppet runs skip nodes on which
    /// another job runs Puppet
    #[arg(
        long,
        value_name = "TIME",
        value_parser = crate::duration::parse_seconds,
        conflicts_with = "batch",
        help_heading = "Rollout"
    )]
    pub(crate) splay: Option<u64>,
}

/// Limits of a job: the nodes at once, its batches, and the time for one node.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct JobLimits {
    /// Number of nodes at once [default: the server's limit]
    #[arg(long, value_name = "N", value_parser = crate::duration::parse_node_count)]
    pub(crate) concurrency: Option<u32>,
    #[command(flatten)]
    pub(crate) rollout: RolloutArguments,
    /// Time limit for one node: seconds, or 15m, 4h, 1d
    #[arg(long, value_name = "TIME", value_parser = crate::duration::parse_seconds)]
    pub(crate) timeout: Option<u64>,
}

impl RolloutArguments {
    /// The options in the form of the API, checked as the server checks them.
    pub(crate) fn to_checked_options(&self) -> Result<RolloutOptions> {
        let options = RolloutOptions {
            batch: self.batch.clone(),
            pause_between_batches: self.pause_between_batches,
            max_failures: self.max_failures,
            splay: self.splay,
        };
        let checked = options.check();
        checked.map_err(|problem| {
            let option = problem.option.replace('_', "-");
            CommandFailure::Usage(format!("--{option} {}", problem.rule))
        })?;
        Ok(options)
    }
}

/// A job's rollout options in words; `None` if it has no batches.
pub(crate) fn describe_job_rollout(job: &Job) -> Option<String> {
    let options = serde_json::to_value(&job.options).ok()?;
    let options: RolloutOptions = serde_json::from_value(options).ok()?;
    describe_rollout(&options)
}

/// The number of batches and their sizes: `11 (sizes 1, 9 × 3, 2)`.
pub(crate) fn describe_batch_sizes(sizes: &[usize]) -> String {
    let groups = sizes.chunk_by(|a, b| a == b).map(|group| match group {
        [size] => size.to_string(),
        _ => format!("{} × {}", group.len(), group[0]),
    });
    let groups: Vec<String> = groups.collect();
    let size = if groups.len() == 1 { "size" } else { "sizes" };
    format!("{} ({size} {})", sizes.len(), groups.join(", "))
}

/// Rollout options in words; `None` if there are none.
pub(crate) fn describe_rollout(options: &RolloutOptions) -> Option<String> {
    let mut words = Vec::new();
    let sizes = options.batch.as_ref();
    words.extend(sizes.map(|sizes| format!("batches of {sizes}")));
    let pause = options.pause_between_batches.filter(|seconds| *seconds > 0);
    words.extend(pause.map(|seconds| format!("{} between them", duration(seconds as f64))));
    let limit = options.max_failures;
    words.extend(limit.map(|portion| format!("at most {portion} may fail")));
    let splay = options.splay;
    words.extend(splay.map(|seconds| format!("starts spread over {}", duration(seconds as f64))));
    (!words.is_empty()).then(|| words.join(", "))
}

/// The current batch of a job; `None` if it has no batches.
pub(crate) fn describe_progress(job: &Job) -> Option<String> {
    let rollout = job.rollout.as_ref()?;
    let of = format!("{} of {}", rollout.batch, rollout.batches);
    Some(match &rollout.next_batch_timestamp {
        Some(next) => format!(
            "{of} {}",
            style_warning(format!("(paused; the next one starts at {next})"))
        ),
        None => of,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_batches_are_counted() {
        for (sizes, words) in [
            (&[1][..], "1 (size 1)"),
            (&[2, 2, 1], "3 (sizes 2 × 2, 1)"),
            (&[1, 3, 3, 26], "4 (sizes 1, 2 × 3, 26)"),
        ] {
            assert_eq!(describe_batch_sizes(sizes), words);
        }
    }
}
