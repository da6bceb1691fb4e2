//! The queue of deployments, without I/O: [`DeploymentQueue`].
//!
//! Invariants: one piece of work runs for each environment, and others wait in the order of their
//! requests; environments wait only for a free slot, not for each other; a request equal to one
//! that still waits joins it, since that one will see the current state of the sources.

use std::collections::{HashMap, HashSet, VecDeque};

use environments::EnvironmentName;

use super::deployment_record::DeploymentAction;
use code_store::version::VersionSignature;

/// Waiting work, and the environments with running work.
#[derive(Debug)]
pub(super) struct DeploymentQueue {
    concurrency: usize,
    capacity: usize,
    waiting: usize,
    running: usize,
    /// Environments with work that could begin, in the order of the requests.
    ready: VecDeque<EnvironmentName>,
    lanes: HashMap<EnvironmentName, EnvironmentQueue>,
}

/// One piece of work, for all deployments that requested it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeploymentWork {
    pub(super) environment: EnvironmentName,
    pub(super) action: DeploymentAction,
    /// The deployments that this work serves, in the order of their requests.
    pub(super) ids: Vec<i64>,
}

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueFull;

#[derive(Debug, Default)]
struct EnvironmentQueue {
    is_running: bool,
    waiting: VecDeque<DeploymentWork>,
}

impl DeploymentQueue {
    /// A queue that runs work for `places` environments at once, and holds at most `most`
    /// deployments.
    pub(super) fn new(places: usize, most: usize) -> Self {
        Self {
            concurrency: places,
            capacity: most,
            waiting: 0,
            running: 0,
            ready: VecDeque::new(),
            lanes: HashMap::new(),
        }
    }

    /// Changes the number of environments with running work; running work continues.
    pub(super) fn set_concurrency(&mut self, places: usize) {
        self.concurrency = places;
    }

    /// Fails if the queue cannot hold this many more deployments.
    pub(super) fn check_capacity(&self, more: usize) -> Result<(), QueueFull> {
        match self.waiting + more <= self.capacity {
            true => Ok(()),
            false => Err(QueueFull),
        }
    }

    /// Queues a deployment.
    pub(super) fn add(
        &mut self,
        environment: &EnvironmentName,
        action: &DeploymentAction,
        id: i64,
    ) {
        let lane = self.lanes.entry(environment.clone()).or_default();
        if let Some(last) = lane.waiting.back_mut()
            && last.action == *action
        {
            last.ids.push(id);
            self.waiting += 1;
            return;
        }
        if lane.waiting.is_empty() && !lane.is_running {
            self.ready.push_back(environment.clone());
        }
        lane.waiting.push_back(DeploymentWork {
            environment: environment.clone(),
            action: action.clone(),
            ids: vec![id],
        });
        self.waiting += 1;
    }

    /// The next work to begin now, if any.
    pub(super) fn next(&mut self) -> Option<DeploymentWork> {
        if self.running >= self.concurrency {
            return None;
        }
        let environment = self.ready.pop_front()?;
        let lane = self.lanes.get_mut(&environment)?;
        let work = lane.waiting.pop_front()?;
        lane.is_running = true;
        self.waiting -= work.ids.len();
        self.running += 1;
        Some(work)
    }

    /// The work on an environment is over.
    pub(super) fn finish(&mut self, environment: &EnvironmentName) {
        let Some(lane) = self.lanes.get_mut(environment) else {
            return;
        };
        self.running -= usize::from(lane.is_running);
        lane.is_running = false;
        match lane.waiting.is_empty() {
            true => drop(self.lanes.remove(environment)),
            false => self.ready.push_back(environment.clone()),
        }
    }

    /// True if any deployment waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// The versions that waiting work names.
    pub(super) fn queued_versions(&self) -> HashSet<(EnvironmentName, VersionSignature)> {
        let waiting = self.lanes.values().flat_map(|lane| &lane.waiting);
        let named = waiting.filter_map(|work| match &work.action {
            DeploymentAction::Rollback { signature } | DeploymentAction::Repair { signature } => {
                Some((work.environment.clone(), signature.clone()))
            }
            DeploymentAction::Promote { from, signature } => {
                Some((from.clone(), signature.clone()))
            }
            DeploymentAction::Deploy { .. }
            | DeploymentAction::Modules { .. }
            | DeploymentAction::Control { .. }
            | DeploymentAction::Remove
            | DeploymentAction::Publish => None,
        });
        named.collect()
    }

    /// True if no work is running.
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPLOY: DeploymentAction = DeploymentAction::Deploy { dry_run: false };

    fn name(text: &str) -> EnvironmentName {
        text.parse().unwrap()
    }

    fn begun(queue: &mut DeploymentQueue) -> Vec<(String, Vec<i64>)> {
        let next = || queue.next();
        std::iter::from_fn(next)
            .map(|work| (work.environment.to_string(), work.ids))
            .collect()
    }

    #[test]
    fn one_environment_is_worked_on_once_at_a_time() {
        let mut queue = DeploymentQueue::new(4, 10);
        queue.add(&name("a"), &DEPLOY, 1);
        assert_eq!(begun(&mut queue), [("a".to_owned(), vec![1])]);
        queue.add(&name("a"), &DEPLOY, 2);
        queue.add(&name("b"), &DEPLOY, 3);
        assert_eq!(begun(&mut queue), [("b".to_owned(), vec![3])]);
        queue.finish(&name("a"));
        assert_eq!(begun(&mut queue), [("a".to_owned(), vec![2])]);
        assert!(!queue.is_idle());
        queue.finish(&name("a"));
        queue.finish(&name("b"));
        assert!(queue.is_idle() && queue.lanes.is_empty());
    }

    #[test]
    fn what_waits_already_is_joined_but_never_overtaken() {
        let mut queue = DeploymentQueue::new(1, 10);
        queue.add(&name("a"), &DEPLOY, 1);
        queue.add(&name("a"), &DEPLOY, 2);
        assert_eq!(begun(&mut queue), [("a".to_owned(), vec![1, 2])]);
        let signature = "0".repeat(40).parse().unwrap();
        let back = DeploymentAction::Rollback { signature };
        queue.add(&name("a"), &DEPLOY, 3);
        queue.add(&name("a"), &back, 4);
        queue.add(&name("a"), &DEPLOY, 5);
        queue.add(&name("a"), &DEPLOY, 6);
        for ids in [vec![3], vec![4], vec![5, 6]] {
            queue.finish(&name("a"));
            assert_eq!(begun(&mut queue), [("a".to_owned(), ids)]);
        }
    }

    #[test]
    fn places_are_given_in_turn_and_waiting_is_bounded() {
        let mut queue = DeploymentQueue::new(2, 3);
        for (id, environment) in [(1, "a"), (2, "b"), (3, "c")] {
            assert_eq!(queue.check_capacity(1), Ok(()));
            queue.add(&name(environment), &DEPLOY, id);
        }
        assert_eq!(queue.check_capacity(1), Err(QueueFull));
        assert_eq!(begun(&mut queue).len(), 2);
        assert_eq!(queue.check_capacity(2), Ok(()));
        // Environment a has more work, but c was queued before.
        queue.add(&name("a"), &DEPLOY, 4);
        queue.finish(&name("a"));
        assert_eq!(begun(&mut queue), [("c".to_owned(), vec![3])]);
        queue.finish(&name("b"));
        assert_eq!(begun(&mut queue), [("a".to_owned(), vec![4])]);
    }

    #[test]
    fn whatever_happens_every_deployment_is_begun_once_and_in_order() {
        let mut seed = 7_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(seed >> 33).unwrap() % below
        };
        let (mut queue, mut running) = (
            DeploymentQueue::new(3, 1_000),
            Vec::<EnvironmentName>::new(),
        );
        let mut seen: HashMap<EnvironmentName, Vec<i64>> = HashMap::new();
        for id in 0..1_000 {
            let environment = name(["a", "b", "c", "d", "e"][random(5)]);
            let dry_run = random(3) == 0;
            queue.add(&environment, &DeploymentAction::Deploy { dry_run }, id);
            while let Some(work) = queue.next() {
                assert!(!running.contains(&work.environment));
                seen.entry(work.environment.clone())
                    .or_default()
                    .extend(work.ids);
                running.push(work.environment);
                assert!(running.len() <= 3);
            }
            if random(2) == 0 && !running.is_empty() {
                queue.finish(&running.swap_remove(random(running.len())));
            }
        }
        while !queue.is_idle() {
            running
                .drain(..)
                .for_each(|environment| queue.finish(&environment));
            while let Some(work) = queue.next() {
                seen.entry(work.environment.clone())
                    .or_default()
                    .extend(work.ids);
                running.push(work.environment);
            }
        }
        let mut all: Vec<i64> = seen.values().flatten().copied().collect();
        all.sort_unstable();
        assert!(all.iter().copied().eq(0..1_000));
        assert!(seen.values().all(|ids| ids.is_sorted()));
    }
}
