use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use RunState::{Errored, Failed, Finished, Skipped};

fn options(options: Value) -> RolloutOptions {
    serde_json::from_value(options).unwrap()
}

fn rollout(given: Value, nodes: usize) -> Rollout {
    Rollout::new(&options(given), nodes)
}

const PAUSE: Duration = Duration::from_secs(60);

fn begin(batch: u32) -> Option<RolloutStep> {
    Some(RolloutStep::Begin {
        batch,
        after_pause: false,
    })
}

fn halt(failures: usize, allowed: Option<usize>, batch: u32) -> Option<RolloutStep> {
    Some(RolloutStep::Halt(RolloutHalt {
        failures,
        allowed,
        batch,
    }))
}

#[test]
fn what_follows_from_the_ends_of_runs() {
    // Options, nodes, the ends of runs with what follows from each.
    type Ends = Vec<(u32, RunState, Option<RolloutStep>)>;
    let table: Vec<(Value, usize, Ends)> = vec![
        (
            json!({}),
            2,
            vec![(1, Finished, None), (1, Failed, Some(RolloutStep::Finish))],
        ),
        (
            json!({"batch": [1, 2]}),
            3,
            vec![
                (1, Finished, begin(2)),
                (2, Failed, None),
                (2, Finished, Some(RolloutStep::Finish)),
            ],
        ),
        // Without a limit, a batch of which nothing is left is enough.
        (json!({"batch": 1}), 3, vec![(1, Failed, halt(1, None, 1))]),
        (
            json!({"batch": 2}),
            4,
            vec![(1, Failed, None), (1, Errored, halt(2, None, 1))],
        ),
        (
            json!({"batch": 2}),
            4,
            vec![(1, Failed, None), (1, Finished, begin(2))],
        ),
        // A limit of its own allows that.
        (
            json!({"batch": 1, "max_failures": 1}),
            3,
            vec![(1, Failed, begin(2)), (2, Failed, halt(2, Some(1), 2))],
        ),
        // At once, and not at the end of the batch.
        (
            json!({"max_failures": 0}),
            9,
            vec![(1, Finished, None), (1, Failed, halt(1, Some(0), 1))],
        ),
        (
            json!({"max_failures": "20%"}),
            9,
            vec![(1, Failed, None), (1, Failed, halt(2, Some(1), 1))],
        ),
        // Failures count over all batches.
        (
            json!({"batch": 2, "max_failures": 1}),
            6,
            vec![
                (1, Failed, None),
                (1, Finished, begin(2)),
                (2, Errored, halt(2, Some(1), 2)),
            ],
        ),
        (
            json!({"batch": 1, "max_failures": "100%"}),
            2,
            vec![
                (1, Failed, begin(2)),
                (2, Failed, Some(RolloutStep::Finish)),
            ],
        ),
        // A node that was left out on purpose is no failure.
        (
            json!({"batch": 1, "max_failures": 0}),
            2,
            vec![
                (1, Skipped, begin(2)),
                (2, Skipped, Some(RolloutStep::Finish)),
            ],
        ),
    ];
    for (given, nodes, ends) in table {
        let mut rollout = rollout(given.clone(), nodes);
        let now = Instant::now();
        assert_eq!(rollout.next_step(now), None, "{given}");
        for (index, (batch, state, expected)) in ends.into_iter().enumerate() {
            rollout.record_run_end(batch, state);
            assert_eq!(rollout.next_step(now), expected, "{given}, end {index}");
            assert_eq!(rollout.next_step(now), None, "{given}, told twice");
        }
    }
}

#[test]
fn a_pause_ends_in_time_and_not_before() {
    let given = json!({"batch": 1, "pause_between_batches": 60});
    let mut rollout = rollout(given, 2);
    let start = Instant::now();
    rollout.record_run_end(1, Finished);
    let until = start + PAUSE;
    assert_eq!(rollout.next_step(start), Some(RolloutStep::Pause { until }));
    assert_eq!(rollout.next_step(until - Duration::from_millis(1)), None);
    let after_pause = true;
    let begin = RolloutStep::Begin {
        batch: 2,
        after_pause,
    };
    assert_eq!(rollout.next_step(until), Some(begin));
    rollout.record_run_end(2, Finished);
    assert_eq!(
        rollout.next_step(until),
        Some(RolloutStep::Finish),
        "there is no pause behind the last batch"
    );
}

#[test]
fn a_stopped_rollout_does_nothing_more() {
    let given = json!({"batch": 1, "pause_between_batches": 60});
    let mut rollout = rollout(given, 2);
    let start = Instant::now();
    rollout.record_run_end(1, Finished);
    rollout.next_step(start);
    rollout.close();
    assert_eq!(rollout.next_step(start + 2 * PAUSE), None);
}

#[test]
fn a_resumed_pause_has_what_was_left_and_never_more_than_it_was() {
    let given = json!({"batch": 1, "pause_between_batches": 60});
    let now = Instant::now();
    for (left, expected) in [(7, 7), (0, 0), (3_600, 60)] {
        let mut rollout = rollout(given.clone(), 2);
        rollout.restore_run_ends(1, Finished, 1);
        rollout.resume(1, Some(Duration::from_secs(left)), now);
        let until = now + Duration::from_secs(expected);
        if expected > 0 {
            assert_eq!(rollout.next_step(until - Duration::from_millis(1)), None);
        }
        assert!(matches!(
            rollout.next_step(until),
            Some(RolloutStep::Begin { batch: 2, .. })
        ));
    }
}

#[test]
fn what_a_server_before_saw_counts() {
    let given = json!({"batch": 2, "max_failures": 1});
    let now = Instant::now();
    let mut goes_on = rollout(given.clone(), 6);
    goes_on.restore_run_ends(1, Finished, 1);
    goes_on.restore_run_ends(1, Failed, 1);
    goes_on.resume(1, None, now);
    assert_eq!(goes_on.next_step(now), begin(2));
    let mut ends = rollout(given, 6);
    ends.restore_run_ends(1, Failed, 2);
    ends.resume(1, None, now);
    assert_eq!(ends.next_step(now), halt(2, Some(1), 1));
}

#[test]
fn every_node_is_in_one_batch() {
    let rollout = rollout(json!({"batch": [1, "50%"]}), 7);
    let batches: Vec<u32> = rollout.batch_numbers().collect();
    assert_eq!(batches, [1, 2, 2, 2, 3, 3, 3]);
    assert_eq!(rollout.batches(), 3);
}

/// A fleet that is driven by a rollout and a limit on what runs at once, in any order of ends.
struct Fleet {
    rollout: Rollout,
    now: Instant,
    /// By batch: those that wait for a slot, and those that run.
    waiting: Vec<usize>,
    running: Vec<usize>,
    began: u32,
    halted: bool,
}

impl Fleet {
    fn new(options: &RolloutOptions, nodes: usize) -> Self {
        let rollout = Rollout::new(options, nodes);
        let batches = rollout.batches() as usize;
        let mut waiting = vec![0; batches];
        for batch in rollout.batch_numbers() {
            waiting[batch as usize - 1] += 1;
        }
        Self {
            rollout,
            now: Instant::now(),
            waiting,
            running: vec![0; batches],
            began: 1,
            halted: false,
        }
    }

    fn steps(&mut self) -> Result<(), TestCaseError> {
        while let Some(step) = self.rollout.next_step(self.now) {
            match step {
                RolloutStep::Begin { batch, .. } => {
                    prop_assert!(!self.halted, "begins after it ended");
                    prop_assert_eq!(batch, self.began + 1, "leaves a batch out");
                    let before = batch as usize - 1;
                    prop_assert!(
                        self.waiting[..before].iter().all(|count| *count == 0)
                            && self.running[..before].iter().all(|count| *count == 0),
                        "begins while a batch before goes on"
                    );
                    self.began = batch;
                }
                RolloutStep::Pause { until } => self.now = until,
                RolloutStep::Halt(_) => self.halted = true,
                RolloutStep::Finish => {}
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> usize {
        self.running.iter().sum()
    }

    /// Starts what may start.
    fn start(&mut self, at_once: usize) {
        let began = self.began as usize;
        while !self.halted && self.in_flight() < at_once {
            let Some(batch) = (0..began).find(|batch| self.waiting[*batch] > 0) else {
                return;
            };
            self.waiting[batch] -= 1;
            self.running[batch] += 1;
        }
    }
}

proptest! {
    /// Whatever ends how: a batch waits for the one before, nothing starts when too many failed, and without that
    /// every node has its turn.
    #[test]
    fn batches_and_limits_hold(
        nodes in 1_usize..60,
        sizes in prop::collection::vec(prop_oneof![(1_u32..9).prop_map(|n| json!(n)),
            (1_u32..=100).prop_map(|p| json!(format!("{p}%")))], 1..4),
        limit in prop::option::of(prop_oneof![(0_u32..9).prop_map(|n| json!(n)),
            (0_u32..=100).prop_map(|p| json!(format!("{p}%")))]),
        pause in prop::option::of(1_u64..100),
        at_once in 1_usize..8,
        fails in prop::collection::vec(prop::bool::weighted(0.2), 60),
        order in prop::collection::vec(0_usize..8, 60),
    ) {
        let mut given = json!({"batch": sizes, "max_failures": limit});
        given["pause_between_batches"] = json!(pause);
        let options = options(given);
        options.check().unwrap();
        let mut fleet = Fleet::new(&options, nodes);
        let allowed = options.max_failures.map(|portion| portion.of(nodes));
        let (mut failures, mut ended) = (0, 0);
        let mut in_flight_at_halt = 0;
        for (fails, turn) in fails.iter().zip(order) {
            fleet.steps()?;
            fleet.start(at_once);
            prop_assert!(fleet.in_flight() <= at_once);
            let running: Vec<usize> =
                (0..fleet.running.len()).filter(|batch| fleet.running[*batch] > 0).collect();
            let Some(batch) = running.get(turn % running.len().max(1)).copied() else { break };
            prop_assert_eq!(running.len(), 1, "runs of two batches at once");
            fleet.running[batch] -= 1;
            ended += 1;
            failures += usize::from(*fails);
            fleet.rollout.record_run_end(batch as u32 + 1, if *fails { Failed } else { Finished });
            if !fleet.halted {
                fleet.steps()?;
                in_flight_at_halt = fleet.in_flight();
            }
        }
        fleet.steps()?;
        if let Some(allowed) = allowed {
            prop_assert_eq!(fleet.halted, failures > allowed);
            if fleet.halted {
                prop_assert!(failures <= allowed + 1 + in_flight_at_halt);
            }
        }
        if !fleet.halted {
            prop_assert_eq!(ended, nodes, "a node never had its turn");
        }
    }
}
