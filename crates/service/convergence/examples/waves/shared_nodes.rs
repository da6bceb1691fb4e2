//! Several jobs of waves at once on the same nodes, with one budget of reruns: [`measure`].
//!
//! Invariant: the reruns are checked by their times, and not by the budget's own buckets.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use convergence::defaults::RERUN_LIMITS;
use convergence::{
    ConvergenceOptions, ConvergenceProgress, EndedWave, NextWave, NodeRun, RerunAnswer,
    RerunBudget, RerunRate,
};
use serde_json::json;

/// Jobs at once: with ten waves each they want 36 reruns of a node, and a bucket has 20.
const JOBS: usize = 4;

/// Of so many nodes one changes something else in each run, and requests another one for ever.
const RESTLESS: usize = 50;

/// Time that a wave takes.
const WAVE: Duration = Duration::from_secs(60);

const HOUR: Duration = Duration::from_secs(3_600);

/// A job, and its next event.
struct WaveJob {
    progress: ConvergenceProgress,
    wave: Vec<usize>,
    /// The wave that ends or is about to start.
    at: Duration,
    /// The next wave, and the time for which it may still wait; `None` if a wave runs.
    waiting: Option<(NextWave, Duration)>,
}

/// All jobs, their nodes and the time that the budget took.
struct SharedNodes {
    names: BTreeMap<String, usize>,
    budget: RerunBudget,
    longest_wait: Duration,
    /// By node, the times of its reruns.
    reruns: Vec<Vec<Duration>>,
    runs: Vec<u32>,
    took: Duration,
    waits: usize,
    left_out: usize,
}

/// Runs the jobs until all have ended, and checks the times of their reruns. A wave waits for the budget at most that long.
pub(crate) fn measure(nodes: usize, longest_wait: Duration) {
    let mut shared = SharedNodes::new(nodes, longest_wait);
    // an hour after which nothing was ever drawn, and starts that are some seconds apart
    let starts =
        (0..JOBS).map(|job| HOUR + Duration::from_secs(7) * u32::try_from(job).expect("few"));
    let mut jobs: Vec<WaveJob> = starts.map(|at| WaveJob::new(nodes, at)).collect();
    while !jobs.is_empty() {
        let next = (0..jobs.len())
            .min_by_key(|job| jobs[*job].at)
            .expect("there are jobs");
        if shared.go_on(&mut jobs[next]) {
            jobs.swap_remove(next);
        }
    }
    let most = shared.check();
    let total: usize = shared.reruns.iter().map(Vec::len).sum();
    println!(
        "{nodes} nodes in {JOBS} jobs at once, waits up to {} min: {total} reruns, no node with more than {most} in an \
         hour; {} waits, {} times a node was left out; the budget took {:.2?}",
        longest_wait.as_secs() / 60,
        shared.waits,
        shared.left_out,
        shared.took
    );
}

// === impl WaveJob ===

impl WaveJob {
    fn new(nodes: usize, at: Duration) -> Self {
        Self {
            progress: ConvergenceProgress::new(ConvergenceOptions::default()),
            wave: (0..nodes).collect(),
            at: at + WAVE,
            waiting: None,
        }
    }
}

// === impl SharedNodes ===

impl SharedNodes {
    fn new(nodes: usize, longest_wait: Duration) -> Self {
        Self {
            names: (0..nodes).map(|it| (super::name(it), it)).collect(),
            budget: RerunBudget::new(RERUN_LIMITS),
            longest_wait,
            reruns: vec![Vec::new(); nodes],
            runs: vec![0; nodes],
            took: Duration::ZERO,
            waits: 0,
            left_out: 0,
        }
    }

    /// Handles the next event of a job. Returns true if it was the last one.
    fn go_on(&mut self, job: &mut WaveJob) -> bool {
        let Some((next, left)) = job.waiting.take() else {
            return self.end_wave(job);
        };
        let since = Instant::now();
        let answer = self.budget.draw(job.at, job.progress.candidates(), left);
        self.took += since.elapsed();
        let left_out = match answer {
            RerunAnswer::Wait(wait) => {
                self.waits += 1;
                job.at += wait.pause;
                job.waiting = Some((next, left - wait.pause));
                return false;
            }
            RerunAnswer::Start { left_out } => left_out,
        };
        self.left_out += left_out.len();
        let left_out = left_out
            .into_iter()
            .map(|node| (node.certname, String::new()));
        let Some(next) = job.progress.leave_out(next, left_out.collect()) else {
            return true;
        };
        job.wave = next.nodes.iter().map(|node| self.names[node]).collect();
        for node in &job.wave {
            self.reruns[*node].push(job.at);
        }
        job.at += WAVE;
        false
    }

    fn end_wave(&mut self, job: &mut WaveJob) -> bool {
        let runs = job.wave.iter().map(|node| self.run(*node)).collect();
        let ended = EndedWave {
            runs,
            ..EndedWave::default()
        };
        let Some(next) = job.progress.record_wave(ended) else {
            return true;
        };
        job.waiting = Some((next, self.longest_wait));
        false
    }

    /// A run of any job. Settling nodes need 1 to 5 runs by all jobs together.
    fn run(&mut self, index: usize) -> NodeRun {
        self.runs[index] += 1;
        let number = self.runs[index];
        let is_restless = index.is_multiple_of(RESTLESS);
        let needed = u32::try_from(index % 5 + 1).expect("small");
        let mut value = json!({"status": "unchanged"});
        if is_restless || number < needed {
            value = json!({"status": "changed", "reruns": [{"key": "again", "delta_s": 0}], "resources":
                [{"type": "File", "title": "/x", "status": "changed", "messages": [format!("step {number}")]}]});
        }
        let result = json!({"target": super::name(index), "status": "success", "value": value});
        NodeRun::from_result(&result).expect("it names a node")
    }

    /// Checks every hour that begins with a rerun. Returns the most reruns of a node in an hour.
    fn check(&self) -> usize {
        let nodes = self.reruns.iter();
        let most = nodes.map(|times| most_in_an_hour(RERUN_LIMITS.node, times));
        let most = most.max().unwrap_or_default();
        let mut all: Vec<Duration> = self.reruns.iter().flatten().copied().collect();
        all.sort();
        most_in_an_hour(RERUN_LIMITS.fleet, &all);
        most
    }
}

/// The most reruns in an hour, which are no more than the rate allows. The times are sorted.
fn most_in_an_hour(rate: RerunRate, times: &[Duration]) -> usize {
    let (mut first, mut most) = (0, 0);
    for (last, at) in times.iter().enumerate() {
        while *at - times[first] > HOUR {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    let allowed = usize::try_from(rate.burst + rate.per_hour).expect("a small number");
    assert!(most <= allowed, "{most} reruns in an hour, and {rate:?}");
    most
}
