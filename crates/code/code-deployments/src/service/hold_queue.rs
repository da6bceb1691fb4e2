//! Shared and exclusive holds on environments, without I/O: [`EnvironmentHolds`].
//!
//! Plans and jobs that need an unchanged environment share a hold on it; a deployment that switches
//! it has an exclusive hold. Invariants: no switch happens while a worker holds the environment,
//! and no worker begins during a switch; requests are granted in their order, so that neither a
//! stream of workers delays a deployment forever, nor the other way round.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;

use environments::EnvironmentName;

/// Identifies a request for a hold; also its position in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct HoldTicket(u64);

/// A worker that uses the code of an environment and needs it unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CodeUser {
    /// The plan job with this number.
    Plan(i64),
    /// The job with this number, which runs Puppet.
    Job(i64),
}

/// The requester of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HoldRequester {
    /// A plan or a job; `None` until it has a number.
    Worker(Option<CodeUser>),
    /// The deployment with this number.
    Deployment(i64),
}

/// The plans, jobs and deployments that a request waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldBlockers {
    /// Plans that hold the environment; those that have no number yet are not named.
    pub plans: Vec<i64>,
    /// Jobs that hold the environment; those that have no number yet are not named.
    pub jobs: Vec<i64>,
    /// Deployments that switch the environment, or that requested it earlier.
    pub deployments: Vec<i64>,
}

impl fmt::Display for HoldBlockers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = [
            ("plan jobs", &self.plans),
            ("jobs", &self.jobs),
            ("deployments", &self.deployments),
        ];
        let named = groups.iter().filter(|(_, numbers)| !numbers.is_empty());
        let named = named.map(|(what, numbers)| {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            format!("{what} {}", numbers.join(", "))
        });
        match named.collect::<Vec<_>>() {
            named if named.is_empty() => write!(out, "one that is just starting"),
            named => write!(out, "{}", named.join(" and ")),
        }
    }
}

/// The holds on all environments.
#[derive(Debug, Default)]
pub(super) struct EnvironmentHolds {
    last: u64,
    lanes: HashMap<EnvironmentName, HoldQueue>,
}

#[derive(Debug, Default)]
struct HoldQueue {
    holding: BTreeMap<HoldTicket, HoldRequester>,
    waiting: VecDeque<(HoldTicket, HoldRequester)>,
}

impl EnvironmentHolds {
    /// Adds a request to the queue.
    pub(super) fn enqueue(
        &mut self,
        environment: &EnvironmentName,
        who: HoldRequester,
    ) -> HoldTicket {
        self.last += 1;
        let ticket = HoldTicket(self.last);
        let lane = self.lanes.entry(environment.clone()).or_default();
        lane.waiting.push_back((ticket, who));
        ticket
    }

    /// Grants the requests whose turn it is, and returns their tickets.
    pub(super) fn grant_next(&mut self, environment: &EnvironmentName) -> Vec<HoldTicket> {
        let Some(lane) = self.lanes.get_mut(environment) else {
            return Vec::new();
        };
        let mut admitted = Vec::new();
        while let Some((ticket, who)) = lane.waiting.front().copied() {
            let is_free = match who {
                HoldRequester::Worker(_) => !lane.is_switching(),
                HoldRequester::Deployment(_) => lane.holding.is_empty(),
            };
            if !is_free {
                break;
            }
            lane.waiting.pop_front();
            lane.holding.insert(ticket, who);
            admitted.push(ticket);
        }
        admitted
    }

    /// Removes a request, granted or not.
    pub(super) fn release(&mut self, environment: &EnvironmentName, ticket: HoldTicket) {
        let Some(lane) = self.lanes.get_mut(environment) else {
            return;
        };
        lane.holding.remove(&ticket);
        lane.waiting.retain(|(waiting, _)| *waiting != ticket);
        if lane.holding.is_empty() && lane.waiting.is_empty() {
            self.lanes.remove(environment);
        }
    }

    /// Records the number of a worker.
    pub(super) fn set_worker(
        &mut self,
        environment: &EnvironmentName,
        ticket: HoldTicket,
        worker: CodeUser,
    ) {
        let lane = self.lanes.get_mut(environment);
        if let Some(who) = lane.and_then(|lane| lane.holding.get_mut(&ticket)) {
            *who = HoldRequester::Worker(Some(worker));
        }
    }

    /// The holders and earlier requests that a request waits for.
    pub(super) fn blockers(
        &self,
        environment: &EnvironmentName,
        ticket: HoldTicket,
    ) -> HoldBlockers {
        let mut blockers = HoldBlockers::default();
        let Some(lane) = self.lanes.get(environment) else {
            return blockers;
        };
        let before = lane
            .waiting
            .iter()
            .take_while(|(other, _)| *other != ticket);
        let before = before.map(|(_, who)| who);
        for who in lane.holding.values().chain(before) {
            match who {
                HoldRequester::Worker(None) => {}
                HoldRequester::Worker(Some(CodeUser::Plan(number))) => blockers.plans.push(*number),
                HoldRequester::Worker(Some(CodeUser::Job(number))) => blockers.jobs.push(*number),
                HoldRequester::Deployment(id) => blockers.deployments.push(*id),
            }
        }
        blockers
    }
}

impl EnvironmentHolds {
    /// The deployments that wait, each with the holders that it waits for.
    pub(super) fn waiting_deployments(&self) -> HashMap<i64, HoldBlockers> {
        let mut waiting = HashMap::new();
        for (environment, lane) in &self.lanes {
            for (ticket, who) in &lane.waiting {
                if let HoldRequester::Deployment(id) = who {
                    waiting.insert(*id, self.blockers(environment, *ticket));
                }
            }
        }
        waiting
    }
}

impl HoldQueue {
    fn is_switching(&self) -> bool {
        let mut holding = self.holding.values();
        holding.any(|who| matches!(who, HoldRequester::Deployment(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> EnvironmentName {
        "production".parse().unwrap()
    }

    fn plan(number: i64) -> HoldRequester {
        HoldRequester::Worker(Some(CodeUser::Plan(number)))
    }

    #[test]
    fn workers_hold_together_and_a_switch_alone() {
        let mut holds = EnvironmentHolds::default();
        let (a, b) = (
            holds.enqueue(&name(), plan(1)),
            holds.enqueue(&name(), HoldRequester::Worker(None)),
        );
        assert_eq!(holds.grant_next(&name()), [a, b]);
        holds.set_worker(&name(), b, CodeUser::Job(2));
        let switch = holds.enqueue(&name(), HoldRequester::Deployment(7));
        assert_eq!(holds.grant_next(&name()), []);
        // A worker that comes later does not overtake the deployment.
        let late = holds.enqueue(&name(), plan(3));
        assert_eq!(holds.grant_next(&name()), []);
        let blockers = holds.blockers(&name(), switch);
        assert_eq!(blockers.to_string(), "plan jobs 1 and jobs 2");
        assert_eq!(holds.blockers(&name(), late).deployments, [7]);
        holds.release(&name(), a);
        assert_eq!(holds.grant_next(&name()), []);
        holds.release(&name(), b);
        assert_eq!(holds.grant_next(&name()), [switch]);
        assert_eq!(holds.grant_next(&name()), []);
        holds.release(&name(), switch);
        assert_eq!(holds.grant_next(&name()), [late]);
        holds.release(&name(), late);
        assert!(holds.lanes.is_empty());
    }

    #[test]
    fn who_gives_up_makes_way_and_environments_do_not_meet() {
        let mut holds = EnvironmentHolds::default();
        let first = holds.enqueue(&name(), plan(1));
        holds.grant_next(&name());
        let switch = holds.enqueue(&name(), HoldRequester::Deployment(7));
        let late = holds.enqueue(&name(), plan(2));
        let other = "staging".parse().unwrap();
        let elsewhere = holds.enqueue(&other, HoldRequester::Deployment(8));
        assert_eq!(holds.grant_next(&other), [elsewhere]);
        holds.release(&name(), switch);
        assert_eq!(holds.grant_next(&name()), [late]);
        for (environment, ticket) in [(name(), first), (name(), late), (other, elsewhere)] {
            holds.release(&environment, ticket);
        }
        assert!(holds.lanes.is_empty());
    }

    #[test]
    fn whatever_happens_nobody_is_forgotten_and_no_two_meet_who_must_not() {
        let mut seed = 11_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let mut holds = EnvironmentHolds::default();
        let (mut inside, mut outside) = (Vec::new(), Vec::new());
        let (mut asked, mut admitted) = (0, 0);
        for number in 0..2_000 {
            let who = match random(4) {
                0 => HoldRequester::Deployment(number),
                1 => HoldRequester::Worker(Some(CodeUser::Job(number))),
                _ => plan(number),
            };
            let ticket = holds.enqueue(&name(), who);
            outside.push((ticket, who));
            asked += 1;
            for ticket in holds.grant_next(&name()) {
                // Requests are granted in their order.
                let (first, who) = outside.remove(0);
                assert_eq!(first, ticket);
                inside.push((ticket, who));
                admitted += 1;
            }
            let switching = |(_, who): &&(HoldTicket, HoldRequester)| {
                matches!(who, HoldRequester::Deployment(_))
            };
            if inside.iter().any(|it| switching(&it)) {
                assert_eq!(inside.len(), 1);
            }
            if random(3) > 0 && !inside.is_empty() {
                let (ticket, _) = inside.swap_remove(random(inside.len()));
                holds.release(&name(), ticket);
            }
        }
        while !inside.is_empty() {
            inside
                .drain(..)
                .for_each(|(ticket, _)| holds.release(&name(), ticket));
            for ticket in holds.grant_next(&name()) {
                inside.push((ticket, outside.remove(0).1));
                admitted += 1;
            }
        }
        assert_eq!((asked, outside.len(), admitted), (2_000, 0, 2_000));
        assert!(holds.lanes.is_empty());
    }
}
