//! The budget of reruns: one example for each rule, and any number of interleaved jobs.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use crate::rerun_budget::{
    LeftOutNode, LeftOutReason, RerunAnswer, RerunBudget, RerunCandidate, RerunLimits, RerunRate,
    RerunWait,
};

const HOUR: Duration = Duration::from_secs(3_600);
const PLENTY: RerunRate = rate(1_000, 1_000);

const fn rate(burst: u32, per_hour: u32) -> RerunRate {
    RerunRate { burst, per_hour }
}

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(60 * count)
}

fn wave(names: &[&str]) -> Vec<RerunCandidate> {
    let candidate = |name: &&str| RerunCandidate {
        certname: (*name).to_owned(),
        waits_for: None,
    };
    names.iter().map(candidate).collect()
}

/// Full buckets, and a time.
fn budget(node: RerunRate, fleet: RerunRate) -> (RerunBudget, Duration) {
    (RerunBudget::new(RerunLimits { node, fleet }), 1_000 * HOUR)
}

fn started() -> RerunAnswer {
    RerunAnswer::Start {
        left_out: Vec::new(),
    }
}

/// The wait, in whole seconds.
fn wait(answer: RerunAnswer) -> (u64, Option<String>) {
    match answer {
        RerunAnswer::Wait(RerunWait { pause, last }) => (pause.as_secs(), last),
        RerunAnswer::Start { left_out } => panic!("it starts without {left_out:?}"),
    }
}

fn left_out(answer: RerunAnswer) -> Vec<(String, LeftOutReason)> {
    match answer {
        RerunAnswer::Wait(wait) => panic!("it waits: {wait:?}"),
        RerunAnswer::Start { left_out } => left_out
            .into_iter()
            .map(|LeftOutNode { certname, reason }| (certname, reason))
            .collect(),
    }
}

#[test]
fn a_wave_waits_for_its_slowest_node_and_takes_nothing_meanwhile() {
    let (mut budget, now) = budget(rate(2, 6), PLENTY);
    for _ in 0..2 {
        assert_eq!(budget.draw(now, wave(&["a"]), HOUR), started());
    }
    let both = budget.draw(now + minutes(4), wave(&["a", "b"]), HOUR);
    assert_eq!(wait(both), (360, Some("a".to_owned())));
    assert_eq!(budget.buckets(), 1, "b has taken none");
    let later = now + minutes(10);
    assert_eq!(budget.draw(later, wave(&["a", "b"]), HOUR), started());
    let again = budget.draw(later, wave(&["a"]), HOUR);
    assert_eq!(wait(again).0, 600, "the next token of a");
}

#[test]
fn a_node_without_a_rerun_in_time_is_left_out_and_the_others_start() {
    let (mut budget, now) = budget(rate(1, 6), PLENTY);
    assert_eq!(budget.draw(now, wave(&["a"]), HOUR), started());
    let answer = budget.draw(now, wave(&["a", "b"]), minutes(9));
    let (name, reason) = left_out(answer).remove(0);
    let LeftOutReason::Node(next) = reason else {
        panic!("{reason:?}")
    };
    assert_eq!((name.as_str(), next.as_secs()), ("a", 600));
    let answer = budget.draw(now + minutes(9), wave(&["a"]), Duration::ZERO);
    assert_eq!(left_out(answer).len(), 1);
    let answer = budget.draw(now + minutes(10), wave(&["a"]), Duration::ZERO);
    assert_eq!(answer, started(), "being left out took no token");
}

#[test]
fn the_fleet_has_a_bucket_of_its_own() {
    let (mut budget, now) = budget(rate(10, 1), rate(4, 60));
    assert_eq!(budget.draw(now, wave(&["a", "b", "c"]), HOUR), started());
    let answer = budget.draw(now, wave(&["d", "e", "f"]), HOUR);
    assert_eq!(wait(answer), (120, None));
    // nodes with fewer reruns come first
    let answer = budget.draw(now, wave(&["a", "d", "e", "f"]), minutes(1));
    assert_eq!(wait(answer), (60, None));
    let later = now + minutes(2);
    let answer = budget.draw(later, wave(&["a", "d", "e", "f"]), Duration::ZERO);
    let (name, reason) = left_out(answer).remove(0);
    let LeftOutReason::Fleet(next) = reason else {
        panic!("{reason:?}")
    };
    assert_eq!((name.as_str(), next.as_secs()), ("a", 60));
}

#[test]
fn a_wave_that_is_larger_than_the_bucket_of_the_fleet_starts_in_part() {
    let (mut budget, now) = budget(PLENTY, rate(2, 60));
    let answer = budget.draw(now, wave(&["a", "b", "c", "d"]), 10 * HOUR);
    let names: Vec<String> = left_out(answer).into_iter().map(|it| it.0).collect();
    assert_eq!(names, ["c", "d"]);
}

#[test]
fn a_node_does_not_start_without_the_node_that_it_waits_for() {
    let waiting = || {
        let mut wave = wave(&["a", "b", "c"]);
        wave[0].waits_for = Some("c".to_owned());
        wave
    };
    let (mut budget, now) = budget(rate(1, 1), PLENTY);
    assert_eq!(budget.draw(now, wave(&["c"]), HOUR), started());
    let left = left_out(budget.draw(now, waiting(), Duration::ZERO));
    let reason = LeftOutReason::WaitsFor("c".to_owned());
    assert_eq!(left[0], ("a".to_owned(), reason));
    assert_eq!((left[1].0.as_str(), left.len()), ("c", 2));
    assert_eq!(budget.draw(now, wave(&["a"]), Duration::ZERO), started());

    let (mut budget, now) = self::budget(PLENTY, rate(2, 1));
    let left = left_out(budget.draw(now, waiting(), Duration::ZERO));
    assert_eq!(
        left[0].0, "a",
        "c has one of the two tokens, and a comes after c"
    );
    assert_eq!(left.len(), 1);
}

#[test]
fn full_buckets_are_forgotten() {
    let (mut budget, now) = budget(rate(5, 60), PLENTY);
    let names: Vec<String> = (0..100).map(|it| format!("n{it}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(budget.draw(now, wave(&names), HOUR), started());
    assert_eq!(budget.buckets(), 100);
    let later = now + minutes(2);
    assert_eq!(budget.draw(later, wave(&["n1"]), HOUR), started());
    assert_eq!(budget.buckets(), 1);
}

/// A bucket as an amount of tokens, and not as the time when it is full. Tokens are counted in nanoseconds.
#[derive(Clone, Copy)]
struct Level {
    rate: RerunRate,
    amount: u128,
}

impl Level {
    fn token(rate: RerunRate) -> u128 {
        HOUR.as_nanos().div_ceil(rate.per_hour.into())
    }

    fn full(rate: RerunRate) -> Self {
        let amount = Self::token(rate) * u128::from(rate.burst);
        Self { rate, amount }
    }

    fn after(self, time: Duration) -> Self {
        let amount = (self.amount + time.as_nanos()).min(Self::full(self.rate).amount);
        Self { amount, ..self }
    }

    fn tokens(self) -> usize {
        usize::try_from(self.amount / Self::token(self.rate)).unwrap()
    }

    fn take(&mut self, tokens: usize) {
        let taken = Self::token(self.rate) * tokens as u128;
        self.amount = self
            .amount
            .checked_sub(taken)
            .expect("a token that was not there");
    }
}

/// A wave of some job: seconds since the one before, nodes, and the longest wait in seconds.
type Draw = (u64, BTreeSet<u8>, u64);

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let nodes = prop::collection::btree_set(0_u8..12, 1..12);
    let times = || prop_oneof![0_u64..5, 0_u64..900];
    prop::collection::vec((times(), nodes, times()), 1..80)
}

/// Fails if a time span has more starts than the rate allows. A start is a time and a number of nodes.
pub(super) fn check_windows(
    rate: RerunRate,
    starts: &[(Duration, usize)],
) -> Result<(), TestCaseError> {
    for first in 0..starts.len() {
        let mut sum = 0;
        for (at, count) in &starts[first..] {
            sum += count;
            let span = (*at - starts[first].0).as_nanos();
            let refill = span * u128::from(rate.per_hour) / HOUR.as_nanos();
            prop_assert!(sum as u128 <= u128::from(rate.burst) + refill, "{starts:?}");
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_node_and_no_fleet_has_more_reruns_than_its_rate_allows(
        (node_burst, node_per_hour) in (1_u32..6, 1_u32..100),
        (fleet_burst, fleet_per_hour) in (1_u32..40, 1_u32..2_000),
        draws in draws(),
    ) {
        let limits = RerunLimits {
            node: rate(node_burst, node_per_hour),
            fleet: rate(fleet_burst, fleet_per_hour),
        };
        let (mut budget, mut now) = self::budget(limits.node, limits.fleet);
        let mut starts: BTreeMap<u8, Vec<(Duration, usize)>> = BTreeMap::new();
        let mut fleet_starts = Vec::new();
        let mut levels: BTreeMap<u8, Level> = BTreeMap::new();
        let mut fleet = Level::full(limits.fleet);
        for (gap, nodes, longest_wait) in draws {
            let (gap, longest_wait) = (Duration::from_secs(gap), Duration::from_secs(longest_wait));
            now += gap;
            levels.values_mut().for_each(|level| *level = level.after(gap));
            fleet = fleet.after(gap);
            let names: Vec<String> = nodes.iter().map(ToString::to_string).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let own = |node: &u8| levels.get(node).copied().unwrap_or(Level::full(limits.node));
            let in_time = nodes.iter().filter(|node| own(node).after(longest_wait).tokens() > 0);
            let in_time = in_time.count().min(fleet.after(longest_wait).tokens());
            let left = match budget.draw(now, wave(&names), longest_wait) {
                RerunAnswer::Wait(RerunWait { pause, .. }) => {
                    prop_assert!(pause <= longest_wait && !pause.is_zero());
                    let is_short = |node| own(node).after(pause - Duration::from_nanos(1)).tokens() == 0;
                    let is_fleet_short = fleet.after(pause - Duration::from_nanos(1)).tokens() < in_time;
                    prop_assert!(is_fleet_short || nodes.iter().any(is_short), "it could start sooner");
                    continue;
                }
                RerunAnswer::Start { left_out } => left_out,
            };
            prop_assert_eq!(nodes.len() - left.len(), in_time, "as many as possible start");
            for LeftOutNode { certname, reason } in &left {
                let own = own(&certname.parse().unwrap()).after(longest_wait).tokens();
                match reason {
                    LeftOutReason::Node(_) => prop_assert_eq!(own, 0),
                    LeftOutReason::Fleet(_) => prop_assert_eq!(in_time, fleet.after(longest_wait).tokens()),
                    LeftOutReason::WaitsFor(_) => prop_assert!(false),
                }
            }
            let left: BTreeSet<u8> = left.iter().map(|it| it.certname.parse().unwrap()).collect();
            for node in nodes.difference(&left) {
                levels.entry(*node).or_insert(Level::full(limits.node)).take(1);
                starts.entry(*node).or_default().push((now, 1));
            }
            fleet.take(in_time);
            fleet_starts.push((now, in_time));
            let recent = starts.values().filter(|starts| {
                let nanoseconds = Level::full(limits.node).amount;
                starts.last().is_some_and(|(at, _)| (now - *at).as_nanos() < nanoseconds)
            });
            prop_assert!(budget.buckets() <= recent.count());
        }
        for starts in starts.values() {
            check_windows(limits.node, starts)?;
        }
        check_windows(limits.fleet, &fleet_starts)?;
    }
}
