//! The invariants under test.

use proptest::prelude::*;

use super::program::{SimulatedAct, deterministic_programs, random_programs};
use super::rollout::RolloutAct;
use super::world::SimulatedWorld;

/// The course of a simulation: numbers that choose each event, and the number of events after which
/// the server crashes first.
#[derive(Clone, Debug)]
struct CrashSchedule {
    chances: Vec<usize>,
    dies_every: usize,
}

fn luck() -> impl Strategy<Value = CrashSchedule> {
    (prop::collection::vec(any::<usize>(), 64), 1..12_usize).prop_map(|(chances, dies_every)| {
        CrashSchedule {
            chances,
            dies_every,
        }
    })
}

/// Runs a program to its end, with crashes if `mortal`.
fn run(acts: &[SimulatedAct], luck: &CrashSchedule, mortal: bool) -> SimulatedWorld {
    let mut world = SimulatedWorld::new(acts);
    let mut steps = 0;
    let mut life = 0;
    let mut longest = luck.dies_every;
    loop {
        let chance = luck.chances[steps % luck.chances.len()].rotate_left(steps as u32);
        if !world.step(chance) {
            return world;
        }
        steps += 1;
        life += 1;
        assert!(steps < 100_000, "it does not end");
        if mortal && life == longest && world.result.is_none() {
            world.crash();
            life = 0;
            // Each life is longer than the one before, so that the program ends.
            longest += 1;
        }
    }
}

fn check(world: &SimulatedWorld) -> Result<(), TestCaseError> {
    for (id, count) in &world.executed {
        prop_assert_eq!(*count, 1, "{} was done more than once", id);
    }
    let seen = world.seen.lock().unwrap();
    for before in &world.seen_at {
        prop_assert!(
            seen.starts_with(before),
            "an effect was begun by a plan that had seen {:#?}, which it had not in the end: {:#?}",
            before,
            seen
        );
    }
    let (end, again) = world.replayed();
    prop_assert_eq!(&end, &world.result);
    prop_assert_eq!(&again, &*seen);
    Ok(())
}

/// Returns true if some branch may fail.
fn fail(acts: &[SimulatedAct]) -> bool {
    acts.iter().any(|act| match act {
        SimulatedAct::Fail => true,
        SimulatedAct::Background(acts)
        | SimulatedAct::Impatient(acts)
        | SimulatedAct::Loop(_, acts) => fail(acts),
        SimulatedAct::Parallel(all) => all.iter().any(|acts| fail(acts)),
        SimulatedAct::IfOk(ok, not) => fail(ok) || fail(not),
        _ => false,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_plan_that_dies_ends_as_if_it_had_not(acts in deterministic_programs(), luck in luck()) {
        let calm = run(&acts, &luck, false);
        check(&calm)?;
        let mortal = run(&acts, &luck, true);
        check(&mortal)?;
        prop_assert_eq!(&calm.result, &mortal.result);
        // Parallel branches of a branch that fails are not awaited, so their progress is a race.
        // Without failures the same steps are taken, possibly in another order.
        let steps = |world: &SimulatedWorld| {
            let mut ids: Vec<_> = world.executed.keys().cloned().collect();
            ids.sort();
            (ids, world.events)
        };
        prop_assert!(fail(&acts) || steps(&calm) == steps(&mortal));
    }

    #[test]
    fn whatever_races_what_was_seen_stays_seen(acts in random_programs(), luck in luck()) {
        check(&run(&acts, &luck, false))?;
        check(&run(&acts, &luck, true))?;
    }
}

/// Two parallel rollouts, one of which stops at its limit.
fn rollouts() -> Vec<SimulatedAct> {
    let rollout = |fails: &[bool], max_failures| {
        SimulatedAct::Rollout(RolloutAct {
            fails: fails.to_vec(),
            batch: Some(vec![1, 2]),
            pauses: true,
            max_failures,
        })
    };
    let halted = rollout(&[false, true, false, true, false, false], Some(1));
    let complete = rollout(&[false, true, false, false], None);
    vec![
        SimulatedAct::Parallel(vec![vec![halted], vec![complete.clone()]]),
        SimulatedAct::IfOk(vec![SimulatedAct::Tell], vec![complete]),
    ]
}

#[test]
fn rollouts_survive_a_crash_at_every_point() {
    for chance in 0..50_usize {
        let chances = |step: usize| {
            let mixed = (chance + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            mixed.rotate_left(u32::try_from(step * 7 % 64).unwrap()) >> 8
        };
        let mut calm = SimulatedWorld::new(&rollouts());
        let mut points = 0;
        while calm.step(chances(points)) {
            points += 1;
        }
        assert!(points > 20, "{points}");
        for crash in 0..points {
            let mut mortal = SimulatedWorld::new(&rollouts());
            let mut step = 0;
            while mortal.step(chances(step)) {
                if step == crash && mortal.result.is_none() {
                    mortal.crash();
                }
                step += 1;
                assert!(step < 10_000, "it does not end");
            }
            check(&mortal).unwrap();
            assert_eq!(mortal.result, calm.result);
        }
    }
}
