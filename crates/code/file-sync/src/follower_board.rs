//! Announcements to followers and their reports, without I/O: [`FollowerBoard`].
//!
//! Invariant: generations only grow, regardless of the reports.

use std::collections::BTreeMap;

use environments::EnvironmentName;

use crate::defaults::{FOLLOWER_FORGET, FOLLOWERS};
use code_store::version::VersionSignature;

/// Announced and offered versions, and the last report of each follower.
#[derive(Debug)]
pub(super) struct FollowerBoard {
    lease_ms: i64,
    environments: BTreeMap<EnvironmentName, AnnouncedSwitch>,
    offered: BTreeMap<EnvironmentName, VersionSignature>,
    followers: BTreeMap<String, FollowerCheckIn>,
    highest_generation: i64,
    change_count: u64,
    force_count: u64,
}

/// The last switch of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnouncedSwitch {
    /// Number of the switch among the switches of all environments.
    pub generation: i64,
    /// The version that it made live; `None` if the environment was removed.
    pub signature: Option<VersionSignature>,
}

/// Reported state of a follower, by environment.
pub(super) type FollowerReport = BTreeMap<EnvironmentName, ReportedEnvironment>;

/// Reported state of an environment on a follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReportedEnvironment {
    pub(super) generation: i64,
    pub(super) signature: Option<VersionSignature>,
    pub(super) staged: Option<VersionSignature>,
    /// The version that could not be used, and the cause.
    pub(super) failed: Option<(VersionSignature, String)>,
}

/// The last check-in of a follower.
#[derive(Clone, Debug)]
struct FollowerCheckIn {
    at_ms: i64,
    report: FollowerReport,
}

/// A follower that lacks a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaggingFollower {
    pub(super) name: String,
    pub(super) why: String,
    /// True if it is connected and reported no failure, so that waiting is useful.
    pub(super) may_catch_up: bool,
}

/// State of a follower, for the API and the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowerState {
    /// Certname of the follower.
    pub name: String,
    /// Time of its last check-in, in milliseconds since 1970.
    pub heard_ms: i64,
    /// True if that is within the lease.
    pub is_living: bool,
    /// True if it has all announced versions.
    pub is_synced: bool,
    /// Live versions on the follower, with the generations of their switches.
    pub live: Vec<(EnvironmentName, i64, VersionSignature)>,
    /// Environments whose version it could not use, with the cause.
    pub failed: Vec<(EnvironmentName, String)>,
}

/// Error: there are [`FOLLOWERS`] followers already.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FollowerLimitReached;

// === impl FollowerBoard ===

impl FollowerBoard {
    pub(super) fn new(lease_ms: i64) -> Self {
        Self {
            lease_ms,
            environments: BTreeMap::new(),
            offered: BTreeMap::new(),
            followers: BTreeMap::new(),
            highest_generation: 0,
            change_count: 0,
            force_count: 0,
        }
    }

    /// Returns an unused generation.
    pub(super) fn next_generation(&mut self) -> i64 {
        self.highest_generation += 1;
        self.highest_generation
    }

    /// Records the switch of an environment and ends its offer.
    pub(super) fn announce(&mut self, environment: &EnvironmentName, announced: AnnouncedSwitch) {
        self.highest_generation = self.highest_generation.max(announced.generation);
        self.environments.insert(environment.clone(), announced);
        self.offered.remove(environment);
        self.change_count += 1;
    }

    /// Offers a version, so that followers stage it.
    pub(super) fn offer(&mut self, environment: &EnvironmentName, signature: &VersionSignature) {
        self.offered.insert(environment.clone(), signature.clone());
        self.change_count += 1;
    }

    /// Ends the offer of an environment.
    pub(super) fn withdraw(&mut self, environment: &EnvironmentName) {
        if self.offered.remove(environment).is_some() {
            self.change_count += 1;
        }
    }

    /// Makes all followers check every environment once more.
    pub(super) fn force(&mut self) {
        self.force_count += 1;
        self.change_count += 1;
    }

    /// Records the report of a follower. Returns the environments for which the follower knows a
    /// later switch than this board: these have to be announced anew.
    pub(super) fn check_in(
        &mut self,
        name: &str,
        report: FollowerReport,
        now_ms: i64,
    ) -> Result<Vec<EnvironmentName>, FollowerLimitReached> {
        if !self.followers.contains_key(name) && self.followers.len() >= FOLLOWERS {
            return Err(FollowerLimitReached);
        }
        let mut ahead = Vec::new();
        for (environment, had) in &report {
            let told = self.environments.get(environment);
            if told.is_some_and(|told| told.generation < had.generation) {
                self.highest_generation = self.highest_generation.max(had.generation);
                ahead.push(environment.clone());
            }
        }
        let heard = FollowerCheckIn {
            at_ms: now_ms,
            report,
        };
        self.followers.insert(name.to_owned(), heard);
        Ok(ahead)
    }

    /// The last report of a follower.
    pub(super) fn report_of(&self, name: &str) -> Option<&FollowerReport> {
        self.followers.get(name).map(|heard| &heard.report)
    }

    /// Removes followers without a check-in for [`FOLLOWER_FORGET`]; returns their names.
    pub(super) fn remove_expired(&mut self, now_ms: i64) -> Vec<String> {
        let age = i64::try_from(FOLLOWER_FORGET.as_millis()).unwrap_or(i64::MAX);
        let is_gone = |heard: &FollowerCheckIn| now_ms - heard.at_ms > age;
        let gone: Vec<String> = self
            .followers
            .iter()
            .filter(|(_, heard)| is_gone(heard))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            self.followers.remove(name);
        }
        gone
    }

    /// Followers that have not staged a version.
    pub(super) fn unready_followers(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        now_ms: i64,
    ) -> Vec<LaggingFollower> {
        let is_ready = |had: Option<&ReportedEnvironment>| {
            had.is_some_and(|had| {
                had.staged.as_ref() == Some(signature) || had.signature.as_ref() == Some(signature)
            })
        };
        self.find_lagging(environment, Some(signature), now_ms, is_ready)
    }

    /// Followers that have not made a switch.
    pub(super) fn lagging_followers(
        &self,
        environment: &EnvironmentName,
        announced: &AnnouncedSwitch,
        now_ms: i64,
    ) -> Vec<LaggingFollower> {
        let signature = announced.signature.as_ref();
        let has_switched = |had: Option<&ReportedEnvironment>| match had {
            Some(had) => had.generation >= announced.generation,
            None => signature.is_none(),
        };
        self.find_lagging(environment, signature, now_ms, has_switched)
    }

    fn find_lagging(
        &self,
        environment: &EnvironmentName,
        signature: Option<&VersionSignature>,
        now_ms: i64,
        is_well: impl Fn(Option<&ReportedEnvironment>) -> bool,
    ) -> Vec<LaggingFollower> {
        let late = |(name, heard): (&String, &FollowerCheckIn)| {
            let had = heard.report.get(environment);
            if is_well(had) {
                return None;
            }
            let failed = had.and_then(|had| had.failed.as_ref());
            let failed = failed.filter(|(failed, _)| Some(failed) == signature);
            let silent_s = (now_ms - heard.at_ms) / 1_000;
            let (why, is_expected) = match (self.is_living(heard, now_ms), failed) {
                (false, _) => (format!("it was not heard for {silent_s} s"), false),
                (true, Some((_, why))) => (why.clone(), false),
                (true, None) => ("it is not done yet".to_owned(), true),
            };
            Some(LaggingFollower {
                name: name.clone(),
                why,
                may_catch_up: is_expected,
            })
        };
        self.followers.iter().filter_map(late).collect()
    }

    fn is_living(&self, heard: &FollowerCheckIn, now_ms: i64) -> bool {
        now_ms - heard.at_ms <= self.lease_ms
    }

    /// True if followers may fetch the version.
    pub(super) fn is_published(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> bool {
        self.published_versions()
            .any(|(of, published)| of == environment && published == signature)
    }

    /// All announced and offered versions.
    pub(super) fn published_versions(
        &self,
    ) -> impl Iterator<Item = (&EnvironmentName, &VersionSignature)> {
        let announced = self.environments.iter();
        let announced = announced.filter_map(|(of, it)| Some((of, it.signature.as_ref()?)));
        announced.chain(self.offered.iter())
    }

    pub(super) fn environments(&self) -> &BTreeMap<EnvironmentName, AnnouncedSwitch> {
        &self.environments
    }

    pub(super) fn offered(&self) -> &BTreeMap<EnvironmentName, VersionSignature> {
        &self.offered
    }

    /// Number of changes that followers have to learn of.
    pub(super) fn change_count(&self) -> u64 {
        self.change_count
    }

    pub(super) fn force_count(&self) -> u64 {
        self.force_count
    }

    /// The state of all followers.
    pub(super) fn followers(&self, now_ms: i64) -> Vec<FollowerState> {
        let state = |(name, heard): (&String, &FollowerCheckIn)| {
            let environments = self.environments.iter();
            let is_synced = environments.clone().all(|(of, announced)| {
                match (heard.report.get(of), &announced.signature) {
                    (Some(had), signature) => had.signature == *signature,
                    (None, signature) => signature.is_none(),
                }
            });
            let live = heard
                .report
                .iter()
                .filter_map(|(of, had)| Some((of.clone(), had.generation, had.signature.clone()?)));
            let failed = heard.report.iter().filter_map(|(of, had)| {
                let (_, why) = had.failed.as_ref()?;
                Some((of.clone(), why.clone()))
            });
            FollowerState {
                name: name.clone(),
                heard_ms: heard.at_ms,
                is_living: self.is_living(heard, now_ms),
                is_synced,
                live: live.collect(),
                failed: failed.collect(),
            }
        };
        self.followers.iter().map(state).collect()
    }
}

#[cfg(test)]
mod tests;
