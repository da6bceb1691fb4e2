//! Recovery after a restart: the unfinished jobs, from the store.
//!
//! Invariant: a run that bears the mark is queried and never sent afresh; a run without the mark was
//! certainly not sent.
//! A job that was [withdrawn](crate::withdrawals) is ended: nothing of it was sent.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::{Duration, SystemTime};

use api_types::rollout::RolloutOptions;
use pcp::Certname;
use pki::seal::SealKey;
use pxp::TransactionId;
use store::{BatchStateRow, JobNumber, ListPage, RunFilter, RunRow, StoreError, UnfinishedJob};
use tokio::sync::watch;
use tokio::time::Instant;

use super::active_jobs::{ActiveJob, ActiveRun, DispatchedRun, OutputProgress, RunPhase};
use super::dispatch::JobDispatch;
use super::leases::end_kind;
use super::state::JobEngine;
use crate::applications::RunOrder;
use crate::defaults::FAILED_NAMED;
use crate::events::{self, RunMark};
use crate::in_flight::InFlightRun;
use crate::keys::{JobKey, RunKey};
use crate::kind::JobKind;
use crate::leases::{RunEndKind, WantedLease};
use crate::rollout::{Rollout, SplayedStarts};
use crate::state::{JobState, RunState};
use crate::tally::{RunTally, StopSeverity};
use crate::verdict::RunVerdict;

/// Output that a recovered run's agent may send: it is unknown how much it sent before the restart,
/// so the credit must be large enough. 64 MiB; the queues of slow readers are bounded all the same.
const RECOVERED_OUTPUT_BYTES: u64 = 64 * 1_024 * 1_024;

// === impl JobEngine ===

impl JobEngine {
    /// Loads the jobs that are not over. To be called once, before [`JobEngine::run`].
    pub(crate) async fn recover(
        &mut self,
        seal: &SealKey,
        mut withdrawn: HashSet<TransactionId>,
    ) -> Result<(), StoreError> {
        // Leases are taken from now on, and their nodes may come back.
        let returning_until = Instant::now() + self.deps.away_grace;
        self.deps.returning.expect_until(returning_until);
        let unfinished = self.deps.store.unfinished_jobs().await?;
        let (jobs, mut runs) = (unfinished.len(), 0);
        let mut leases = Vec::new();
        for job in unfinished {
            runs += job.runs.len();
            let found = job
                .runs
                .iter()
                .find_map(|run| withdrawn.take(run.transaction_id.as_str()));
            let fallen_back = match JobKind::from_command(&job.job.command) {
                JobKind::Command | JobKind::Script | JobKind::Upload | JobKind::Download => {
                    self.load_fallen_back(job.job.number).await?
                }
                JobKind::Task | JobKind::Apply | JobKind::ApplyPrep | JobKind::Puppet => {
                    HashSet::new()
                }
            };
            let dispatch = JobDispatch::unseal(job.sealed.as_deref(), seal);
            let before = self.load_previous_ends(&job, &dispatch).await?;
            leases.extend(self.resume_job(job, dispatch, found, &fallen_back, before));
        }
        self.resume_leases(leases);
        // These jobs were not stored, or are over.
        for transaction in withdrawn {
            self.deps.withdrawals.forget(&transaction);
        }
        if jobs > 0 {
            tracing::info!(jobs, runs, "unfinished jobs are taken up again");
        }
        Ok(())
    }

    fn resume_job(
        &mut self,
        row: UnfinishedJob,
        dispatch: JobDispatch,
        withdrawn: Option<TransactionId>,
        fallen_back: &HashSet<String>,
        before: PreviousRunEnds,
    ) -> Option<ResumedLease> {
        let key = self.new_key();
        let mut dispatch = dispatch.with_counted_params(&self.deps.node_params);
        if dispatch.action.is_none() {
            tracing::error!(job = %row.job.number, "the job's parameters cannot be unsealed; its \
                waiting runs will be errored, those in flight are still asked about");
        }
        let timeout = dispatch.timeout();
        let state = JobState::parse(&row.job.state).unwrap_or(JobState::Running);
        let stop = if state == JobState::Stopping || withdrawn.is_some() {
            StopSeverity::Gently
        } else {
            StopSeverity::No
        };
        let mut skipped = Vec::new();
        let (mut first, mut in_flight) = (Vec::new(), 0);
        let mut later = BTreeMap::<u32, Vec<usize>>::new();
        let mut rollout = self.restore_rollout(&row, &before.batches);
        let batch = rollout.current_batch().batch;
        let mut runs = Vec::with_capacity(row.runs.len());
        for run in &row.runs {
            let Some(mut run) = self.restore_run(run, timeout) else {
                continue;
            };
            if withdrawn.is_some() {
                run.phase = RunPhase::Waiting;
            }
            // a damaged number is one of the last batch, so that no run begins too early
            run.batch = run.batch.min(rollout.batches());
            run.as_task = fallen_back.contains(run.certname.as_str());
            let index = runs.len();
            match run.phase {
                RunPhase::Dispatched(_) => in_flight += 1,
                _ if stop != StopSeverity::No => skipped.push(RunKey { job: key, index }),
                _ if run.batch > batch => later.entry(run.batch).or_default().push(index),
                _ => first.push(index),
            }
            runs.push(run);
        }
        if stop != StopSeverity::No {
            rollout.close();
        }
        self.timed_starts
            .extend(rollout.pause_end().map(|until| (until, key)));
        let kind = JobKind::from_command(&row.job.command);
        self.scheduler
            .resume(key, kind.pool(), dispatch.concurrency, in_flight);
        if state != JobState::New
            && state != JobState::Ready
            && let Some(started_ms) = row.job.started_ms
        {
            let age = self.job_age(started_ms, &row.runs);
            let begin = Instant::now().checked_sub(age);
            let begin = begin.unwrap_or_else(Instant::now);
            self.deps.running.begin(row.job.number, begin);
        }
        let stored = dispatch.order.take();
        let (order, blocked) = match &stored {
            Some(stored) if stop == StopSeverity::No => {
                let nodes = runs.iter().map(|run| &run.certname);
                let (order, blocked) = RunOrder::restore(stored, nodes, &before.unsuccessful);
                (Some(order), blocked)
            }
            _ => (None, BTreeMap::new()),
        };
        let wanted = stored.filter(|_| withdrawn.is_none());
        let lease = wanted.and_then(WantedLease::of).map(|wanted| ResumedLease {
            job: key,
            wanted,
            unsuccessful: before.unsuccessful,
        });
        first.retain(|index| !blocked.contains_key(index));
        let splay = rollout_options(&row).splay.map(Duration::from_secs);
        let splayed = splay.map(|splay| {
            let (nodes, age) = (rollout.nodes(), self.time_since(row.job.created_ms));
            SplayedStarts::resume(
                std::mem::take(&mut first),
                nodes,
                splay,
                age,
                Instant::now(),
            )
        });
        let mut job = ActiveJob {
            number: row.job.number,
            kind,
            dispatch: dispatch.with_job_number(kind, row.job.number),
            started: state != JobState::New && state != JobState::Ready,
            after_restart: true,
            tally: RunTally::new(runs.len(), count_unsuccessful(&row), stop),
            runs,
            waiting: VecDeque::new(),
            later,
            rollout,
            splayed,
            order,
            has_batches: row.job.rollout.is_some(),
            failed: before.failed,
            halted: None,
            watchers: Vec::new(),
            commits: watch::Sender::new(0),
        };
        let count = job.queue(first);
        trace_dispatched(&mut job, &row);
        self.active_jobs.insert(key, job);
        self.scheduler.add_waiting(key, count);
        self.start_splayed(key);
        let verdict = match withdrawn {
            Some(transaction) => {
                self.stop_withdrawn(key, row.job.number, transaction);
                RunVerdict::Withdrawn
            }
            None => RunVerdict::NotStarted,
        };
        for run in skipped {
            self.give_up(run, &verdict);
        }
        for (index, by) in blocked {
            self.skip_blocked(RunKey { job: key, index }, by);
        }
        self.advance(key);
        // Otherwise it is due when the leases are known, on which its end depends.
        if lease.is_none() {
            self.end_job_if_due(key);
        }
        lease
    }

    /// Takes the leases of jobs again; those that had them come first.
    fn resume_leases(&mut self, mut leases: Vec<ResumedLease>) {
        let jobs = &self.active_jobs.jobs;
        leases.sort_by_key(|lease| !jobs.get(&lease.job).is_some_and(|job| job.started));
        for ResumedLease {
            job: key,
            mut wanted,
            unsuccessful,
        } in leases
        {
            let job = self.active_jobs.jobs.get(&key);
            wanted.was_held = job.is_some_and(|job| job.started);
            self.take_leases(key, &wanted);
            let Some(job) = self.active_jobs.jobs.get(&key) else {
                continue;
            };
            let open: HashSet<&Certname> = job.runs.iter().map(|run| &run.certname).collect();
            for node in wanted.nodes.iter().filter(|node| !open.contains(node)) {
                let end = match unsuccessful.contains_key(node) {
                    true => RunEndKind::Failed,
                    false => end_kind(job, RunState::Finished),
                };
                self.leases.record_end(key, node, end);
            }
            if let Some(node) = wanted.nodes.first().filter(|_| job.started) {
                self.leases.record_begin(key, node);
            }
            self.end_job_if_due(key);
        }
    }

    /// The ends of a rollout's runs so far; empty for a job without a rollout.
    async fn load_previous_ends(
        &self,
        row: &UnfinishedJob,
        dispatch: &JobDispatch,
    ) -> Result<PreviousRunEnds, StoreError> {
        let (store, job) = (&self.deps.store, row.job.number);
        let mut before = PreviousRunEnds::default();
        if row.job.rollout.is_some() {
            before.batches = store.batch_states(job).await?;
        }
        for state in [RunState::Failed, RunState::Errored] {
            let of_state = row.node_states.get(state.as_str());
            if rollout_options(row) == RolloutOptions::default() || of_state.is_none() {
                continue;
            }
            let filter = RunFilter {
                state: Some(state.as_str().to_owned()),
                ..RunFilter::default()
            };
            let page = ListPage {
                limit: u64::try_from(FAILED_NAMED).ok(),
                ..ListPage::default()
            };
            let names = store.run_names(job, &filter, page).await?;
            let names = names.iter().filter_map(|name| name.parse().ok());
            before.failed.extend(names);
        }
        before.failed.truncate(FAILED_NAMED);
        if dispatch.order.is_some() {
            before.unsuccessful = self.load_unsuccessful(job).await?;
        }
        Ok(before)
    }

    /// The nodes whose runs are over without success; other runs may wait for them.
    async fn load_unsuccessful(
        &self,
        job: JobNumber,
    ) -> Result<HashMap<Certname, RunState>, StoreError> {
        let mut nodes = HashMap::new();
        for state in [RunState::Failed, RunState::Errored, RunState::Skipped] {
            let filter = RunFilter {
                state: Some(state.as_str().to_owned()),
                ..RunFilter::default()
            };
            let names = self.deps.store.run_names(job, &filter, ListPage::default());
            let names = names.await?;
            let names = names.iter().filter_map(|name| name.parse().ok());
            nodes.extend(names.map(|name| (name, state)));
        }
        Ok(nodes)
    }

    /// The rollout of a job as the previous server process left it.
    fn restore_rollout(&self, row: &UnfinishedJob, batches: &[BatchStateRow]) -> Rollout {
        let nodes = usize::try_from(row.job.node_count).unwrap_or(usize::MAX);
        let mut rollout = Rollout::new(&rollout_options(row), nodes);
        let mut ended = |batch, state: &str, count: u64| {
            let state = RunState::parse(state).filter(|state| state.is_terminal());
            if let Some(state) = state {
                rollout.restore_run_ends(
                    batch,
                    state,
                    usize::try_from(count).unwrap_or(usize::MAX),
                );
            }
        };
        let Some(stored) = row.job.rollout else {
            let states = row.node_states.iter();
            states.for_each(|(state, count)| ended(1, state, *count));
            return rollout;
        };
        for of_batch in batches {
            ended(of_batch.batch, &of_batch.state, of_batch.count);
        }
        let left = stored.next_batch_ms.map(|until_ms| {
            let left_ms = until_ms.saturating_sub(self.deps.clock.steady_ms());
            Duration::from_millis(left_ms.try_into().unwrap_or(0))
        });
        rollout.resume(stored.batch, left, Instant::now());
        rollout
    }

    /// Time since a job began. Its begin is stored as a time of day; the marks of its runs show by
    /// how much the clock was set since then.
    fn job_age(&self, started_ms: i64, runs: &[RunRow]) -> Duration {
        let age = self.time_since(started_ms);
        let flying = |run: &&RunRow| run.state == RunState::Running.as_str();
        let mut ages = runs.iter().filter(flying).filter_map(|run| {
            let by_steady_clock = self.mark_age(RunMark::from_details(run.details.as_deref()))?;
            Some((self.time_since(run.started_ms?), by_steady_clock))
        });
        match ages.next() {
            Some((by_day, steady)) => age
                .saturating_sub(by_day.saturating_sub(steady))
                .max(steady),
            None => age,
        }
    }

    /// Time since a run was marked, by a clock that is never set; `None` if the mark has no such
    /// time.
    fn mark_age(&self, mark: RunMark) -> Option<Duration> {
        let passed_ms = self.deps.clock.steady_ms().saturating_sub(mark.marked_ms?);
        Some(Duration::from_millis(passed_ms.try_into().unwrap_or(0)))
    }

    /// Time since a stored time of day; zero if the clock was set back before it.
    fn time_since(&self, stored_ms: i64) -> Duration {
        let passed_ms = self.deps.clock.now_ms().saturating_sub(stored_ms);
        Duration::from_millis(passed_ms.try_into().unwrap_or(0))
    }

    fn restore_run(&self, row: &RunRow, timeout: Duration) -> Option<ActiveRun> {
        let (Ok(certname), Ok(transaction)) = (
            row.certname.parse(),
            row.transaction_id.parse::<TransactionId>(),
        ) else {
            // Only names that parsed were ever stored.
            tracing::error!(?row, "a stored run cannot be read; it is left alone");
            return None;
        };
        let phase = if row.state == RunState::Running.as_str() {
            let mark = RunMark::from_details(row.details.as_deref());
            let ago = self.mark_age(mark);
            let ago = ago.unwrap_or_else(|| self.time_since(row.started_ms.unwrap_or_default()));
            let (now, patience) = (Instant::now(), &self.deps.poll_settings);
            let mut flight =
                InFlightRun::from_recovered(now, ago, timeout, mark.spool_id, patience);
            if let Some(until_ms) = mark.silent_until_ms {
                let left_ms = until_ms.saturating_sub(self.deps.clock.steady_ms());
                let left = Duration::from_millis(left_ms.try_into().unwrap_or(0));
                flight.restore_silence(left, patience);
            }
            let output = OutputProgress {
                granted: RECOVERED_OUTPUT_BYTES,
                ..OutputProgress::default()
            };
            RunPhase::Dispatched(Box::new(DispatchedRun {
                output,
                handed_over: true,
                ..DispatchedRun::new(flight)
            }))
        } else {
            RunPhase::Waiting
        };
        Some(ActiveRun {
            certname,
            transaction,
            via: row
                .details
                .as_deref()
                .map(events::parse_transport)
                .unwrap_or_default(),
            batch: row.batch.unwrap_or(1),
            is_awaited: true,
            as_task: false,
            phase,
            trace: None,
        })
    }
}

/// Continues the traces of the runs in flight; they began when the runs were marked.
fn trace_dispatched(job: &mut ActiveJob, row: &UnfinishedJob) {
    let started: HashMap<&str, i64> = row
        .runs
        .iter()
        .filter_map(|run| Some((run.transaction_id.as_str(), run.started_ms?)))
        .collect();
    for index in 0..job.runs.len() {
        let run = &job.runs[index];
        let since = started.get(run.transaction.as_str());
        if let (RunPhase::Dispatched(_), Some(&since)) = (&run.phase, since) {
            let since = Duration::from_millis(since.try_into().unwrap_or(0));
            job.trace_run(index, SystemTime::UNIX_EPOCH + since);
        }
    }
}

/// The lease of a job that is taken up again.
struct ResumedLease {
    job: JobKey,
    wanted: WantedLease,
    /// The nodes whose runs ended without success.
    unsuccessful: HashMap<Certname, RunState>,
}

/// Ends of a rollout's runs under previous server processes.
#[derive(Default)]
struct PreviousRunEnds {
    batches: Vec<BatchStateRow>,
    /// The first nodes that failed.
    failed: Vec<Certname>,
    /// For a job whose runs wait for each other, the states of all nodes that did not succeed.
    unsuccessful: HashMap<Certname, RunState>,
}

/// The rollout options in the job's options, which hold no secret.
fn rollout_options(row: &UnfinishedJob) -> RolloutOptions {
    serde_json::from_str(&row.job.options).unwrap_or_default()
}

/// Runs that are over and did not finish.
fn count_unsuccessful(row: &UnfinishedJob) -> usize {
    let counts = row.node_states.iter().filter(|(state, _)| {
        RunState::parse(state).is_some_and(|s| s.is_terminal() && s != RunState::Finished)
    });
    counts
        .map(|(_, count)| usize::try_from(*count).unwrap_or(usize::MAX))
        .sum()
}
