//! What followers are told and what they told, without I/O: [`FollowerBoard`].
//!
//! The rule that must hold: generations only grow, whoever says what.

use std::collections::BTreeMap;

use environments::EnvironmentName;

use crate::defaults::{FOLLOWER_FORGET, FOLLOWERS};
use code_store::version::VersionSignature;

/// All that is known of environments and followers.
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
    /// Its number among the switches of all environments.
    pub generation: i64,
    /// To which version; `None`: it was taken away.
    pub signature: Option<VersionSignature>,
}

/// What a follower has, by environment.
pub(super) type FollowerReport = BTreeMap<EnvironmentName, ReportedEnvironment>;

/// What a follower has of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ReportedEnvironment {
    pub(super) generation: i64,
    pub(super) signature: Option<VersionSignature>,
    pub(super) staged: Option<VersionSignature>,
    /// Which version it cannot have, and why.
    pub(super) failed: Option<(VersionSignature, String)>,
}

/// A follower, as it was heard last.
#[derive(Clone, Debug)]
struct FollowerCheckIn {
    at_ms: i64,
    report: FollowerReport,
}

/// A follower that lacks something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaggingFollower {
    pub(super) name: String,
    pub(super) why: String,
    /// Whether it may have it in a moment.
    pub(super) may_catch_up: bool,
}

/// A follower, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowerState {
    /// Its certname.
    pub name: String,
    /// When it was heard, in milliseconds since 1970.
    pub heard_ms: i64,
    /// Whether that is not too long ago.
    pub is_living: bool,
    /// Whether it has all that is live.
    pub is_synced: bool,
    /// What is live there.
    pub live: Vec<(EnvironmentName, i64, VersionSignature)>,
    /// What it cannot have, and why.
    pub failed: Vec<(EnvironmentName, String)>,
}

/// As many followers as there may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FollowerLimitReached;

// === impl Board ===

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

    /// A number for a switch that nobody has yet.
    pub(super) fn next_generation(&mut self) -> i64 {
        self.highest_generation += 1;
        self.highest_generation
    }

    /// An environment was switched; it is not offered any more.
    pub(super) fn announce(&mut self, environment: &EnvironmentName, announced: AnnouncedSwitch) {
        self.highest_generation = self.highest_generation.max(announced.generation);
        self.environments.insert(environment.clone(), announced);
        self.offered.remove(environment);
        self.change_count += 1;
    }

    /// Followers get a version ready.
    pub(super) fn offer(&mut self, environment: &EnvironmentName, signature: &VersionSignature) {
        self.offered.insert(environment.clone(), signature.clone());
        self.change_count += 1;
    }

    /// They need not any more.
    pub(super) fn withdraw(&mut self, environment: &EnvironmentName) {
        if self.offered.remove(environment).is_some() {
            self.change_count += 1;
        }
    }

    /// All followers are to look once more.
    pub(super) fn force(&mut self) {
        self.force_count += 1;
        self.change_count += 1;
    }

    /// A follower tells what it has. The environments of which it knows a later switch than this one: they
    /// are to be announced anew.
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

    /// What a follower had told before.
    pub(super) fn report_of(&self, name: &str) -> Option<&FollowerReport> {
        self.followers.get(name).map(|heard| &heard.report)
    }

    /// Those that were not heard for long are not followers any more.
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

    /// Who has not got a version ready.
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

    /// Who has not switched.
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

    /// Whether a version may be handed out.
    pub(super) fn is_published(
        &self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) -> bool {
        self.published_versions()
            .any(|(of, published)| of == environment && published == signature)
    }

    /// All versions that may be.
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

    /// Changes whenever followers have to be told something.
    pub(super) fn change_count(&self) -> u64 {
        self.change_count
    }

    pub(super) fn force_count(&self) -> u64 {
        self.force_count
    }

    /// All followers.
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
