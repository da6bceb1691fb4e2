//! Decides the next steps of a follower, without I/O: [`FollowerCore`].
//!
//! Invariants: a follower switches to announced versions only; never to a lower generation than its
//! own; and only to a version that is staged completely. A power cut may have damaged the versions
//! that were live before the start, so they are staged once more, which compares them with the
//! server's list.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use api_types::{CheckedIn, FollowedEnvironment};
use environments::EnvironmentName;

use super::saved_state::SavedEnvironment;
use super::status::FollowedVersion;
use crate::follower_board::AnnouncedSwitch;
use code_store::version::VersionSignature;

/// State of a follower: its own versions, and those that the server announced.
#[derive(Debug, Default)]
pub(super) struct FollowerCore {
    environments: BTreeMap<EnvironmentName, LocalEnvironment>,
    announced: BTreeMap<EnvironmentName, AnnouncedSwitch>,
    offered: BTreeMap<EnvironmentName, VersionSignature>,
    /// Versions that are being fetched.
    staging: HashSet<(EnvironmentName, VersionSignature)>,
    /// Versions that were live at the start and have not been compared with the server's list of
    /// files since.
    inherited: HashSet<(EnvironmentName, VersionSignature)>,
    cursor: Option<String>,
}

/// State of an environment on this follower.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LocalEnvironment {
    generation: i64,
    live: Option<VersionSignature>,
    staged: Option<VersionSignature>,
    failed: Option<FailedVersion>,
}

/// A version that could not be staged or switched to.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FailedVersion {
    signature: VersionSignature,
    why: String,
    /// True until [`FollowerCore::allow_retries`]; no attempt is made before.
    waits_for_retry: bool,
}

/// An action that the follower has to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FollowerStep {
    /// Fetch a version.
    Stage(EnvironmentName, VersionSignature),
    /// Make a version live, under this generation.
    Switch(EnvironmentName, VersionSignature, i64),
    /// Remove the environment, under this generation.
    Remove(EnvironmentName, i64),
}

// === impl FollowerCore ===

impl FollowerCore {
    /// Creates the state from the versions that are live on the disk, with their generations.
    pub(super) fn new(had: Vec<(EnvironmentName, VersionSignature, i64)>) -> Self {
        let inherited = had.iter().map(|(of, live, _)| (of.clone(), live.clone()));
        let inherited = inherited.collect();
        let had = had.into_iter().map(|(environment, signature, generation)| {
            let had = LocalEnvironment {
                generation,
                live: Some(signature),
                ..LocalEnvironment::default()
            };
            (environment, had)
        });
        Self {
            environments: had.collect(),
            inherited,
            ..Self::default()
        }
    }

    /// Takes over the announcements and offers of the server. Invalid names are ignored.
    pub(super) fn apply_check_in(&mut self, told: CheckedIn) {
        let announced = told.environments.into_iter().filter_map(|(name, it)| {
            let announced = AnnouncedSwitch {
                generation: it.generation,
                signature: it.commit.map(|it| it.parse()).transpose().ok()?,
            };
            Some((name.parse().ok()?, announced))
        });
        self.announced = announced.collect();
        let offered = told.staging.into_iter();
        let offered = offered.filter_map(|(of, it)| Some((of.parse().ok()?, it.parse().ok()?)));
        self.offered = offered.collect();
        self.cursor = Some(told.cursor);
    }

    /// Forgets announcements and offers, for an expired lease: nothing is done until the next
    /// check-in.
    pub(super) fn discard_announcements(&mut self) {
        self.announced.clear();
        self.offered.clear();
        self.cursor = None;
    }

    /// Returns the steps to take now. A version is returned for staging only once, until
    /// [`mark_staged`](Self::mark_staged) or [`mark_failed`](Self::mark_failed) reports its result.
    pub(super) fn next_steps(&mut self) -> Vec<FollowerStep> {
        let mut steps = Vec::new();
        let mut wanted = Vec::new();
        for (environment, announced) in &self.announced {
            let had = self.environments.get(environment);
            let generation = had.map_or(0, |had| had.generation);
            let live = had.and_then(|had| had.live.as_ref());
            let is_current =
                generation == announced.generation && live == announced.signature.as_ref();
            if let Some(live) = live.filter(|live| announced.signature.as_ref() == Some(*live)) {
                let version = (environment.clone(), live.clone());
                wanted.extend(self.inherited.contains(&version).then_some(version));
            }
            if is_current || generation > announced.generation {
                continue;
            }
            match &announced.signature {
                None => steps.push(FollowerStep::Remove(
                    environment.clone(),
                    announced.generation,
                )),
                Some(signature) => {
                    let staged = had.and_then(|had| had.staged.as_ref());
                    match live == Some(signature) || staged == Some(signature) {
                        true => steps.push(FollowerStep::Switch(
                            environment.clone(),
                            signature.clone(),
                            announced.generation,
                        )),
                        false => wanted.push((environment.clone(), signature.clone())),
                    }
                }
            }
        }
        for (environment, signature) in &self.offered {
            let had = self.environments.get(environment);
            let has = had.is_some_and(|had| {
                had.live.as_ref() == Some(signature) || had.staged.as_ref() == Some(signature)
            });
            if !has {
                wanted.push((environment.clone(), signature.clone()));
            }
        }
        for version in wanted {
            if self.may_try(&version) && self.staging.insert(version.clone()) {
                steps.push(FollowerStep::Stage(version.0, version.1));
            }
        }
        steps
    }

    fn may_try(&self, (environment, signature): &(EnvironmentName, VersionSignature)) -> bool {
        let had = self.environments.get(environment);
        let failed = had.and_then(|had| had.failed.as_ref());
        failed.is_none_or(|failed| failed.signature != *signature || !failed.waits_for_retry)
    }

    fn environment_mut(&mut self, environment: &EnvironmentName) -> &mut LocalEnvironment {
        self.environments.entry(environment.clone()).or_default()
    }

    /// Records that a version is complete on the disk.
    pub(super) fn mark_staged(
        &mut self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
    ) {
        let version = (environment.clone(), signature.clone());
        self.staging.remove(&version);
        self.inherited.remove(&version);
        let had = self.environment_mut(environment);
        had.failed = None;
        if had.live.as_ref() != Some(signature) {
            had.staged = Some(signature.clone());
        }
    }

    /// Records that a version could not be staged or switched to, with the cause.
    pub(super) fn mark_failed(
        &mut self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        why: String,
    ) {
        self.staging
            .remove(&(environment.clone(), signature.clone()));
        let had = self.environment_mut(environment);
        had.staged = None;
        had.failed = Some(FailedVersion {
            signature: signature.clone(),
            why,
            waits_for_retry: true,
        });
    }

    /// Allows another attempt for all failed versions.
    pub(super) fn allow_retries(&mut self) {
        for failed in self
            .environments
            .values_mut()
            .filter_map(|had| had.failed.as_mut())
        {
            failed.waits_for_retry = false;
        }
    }

    /// Records that a version is live.
    pub(super) fn mark_switched(
        &mut self,
        environment: &EnvironmentName,
        signature: &VersionSignature,
        generation: i64,
    ) {
        let had = self.environment_mut(environment);
        *had = LocalEnvironment {
            generation,
            live: Some(signature.clone()),
            staged: had.staged.take().filter(|staged| staged != signature),
            failed: None,
        };
    }

    /// Records that an environment was removed.
    pub(super) fn mark_removed(&mut self, environment: &EnvironmentName, generation: i64) {
        let had = self.environment_mut(environment);
        had.generation = generation;
        had.live = None;
    }

    /// True while a version is being fetched.
    pub(super) fn is_staging(&self) -> bool {
        !self.staging.is_empty()
    }

    /// Versions that are staged and not yet live.
    pub(super) fn staged_versions(
        &self,
    ) -> impl Iterator<Item = (&EnvironmentName, &VersionSignature)> {
        let staged = self.environments.iter();
        staged.filter_map(|(of, had)| Some((of, had.staged.as_ref()?)))
    }

    /// The environments that have a live version.
    pub(super) fn live_environments(&self) -> impl Iterator<Item = &EnvironmentName> {
        let live = self
            .environments
            .iter()
            .filter(|(_, had)| had.live.is_some());
        live.map(|(of, _)| of)
    }

    /// Takes over the live versions that the links on the disk point to, since an administrator may
    /// have changed them.
    pub(super) fn sync_with_disk(&mut self, live: &[(EnvironmentName, VersionSignature)]) {
        for (environment, had) in &mut self.environments {
            let found = live.iter().find(|(of, _)| of == environment);
            had.live = found.map(|(_, signature)| signature.clone());
        }
    }

    /// The live versions, in the form of `follower.json`.
    pub(super) fn saved_environments(&self) -> BTreeMap<String, SavedEnvironment> {
        let each = self.environments.iter().map(|(of, had)| {
            let live = SavedEnvironment {
                generation: had.generation,
                version: had.live.as_ref().map(ToString::to_string),
            };
            (of.to_string(), live)
        });
        each.collect()
    }

    /// True while announcements of the server are known and valid.
    pub(super) fn has_announcements(&self) -> bool {
        self.cursor.is_some()
    }

    /// The live version of each environment, and its difference to the announced one.
    pub(super) fn environment_status(&self) -> BTreeMap<EnvironmentName, FollowedVersion> {
        let names: BTreeSet<_> = self
            .environments
            .keys()
            .chain(self.announced.keys())
            .collect();
        let none = LocalEnvironment::default();
        let each = names.into_iter().map(|of| {
            let had = self.environments.get(of).unwrap_or(&none);
            let announced = self.announced.get(of);
            let wanted = announced.and_then(|it| it.signature.as_ref());
            let failed = had.failed.as_ref();
            let failed = failed.filter(|it| Some(&it.signature) == wanted);
            let followed = FollowedVersion {
                generation: had.generation,
                live: had.live.clone(),
                is_behind: announced.is_some_and(|_| wanted != had.live.as_ref()),
                cause: failed.map(|it| it.why.clone()),
            };
            (of.clone(), followed)
        });
        each.collect()
    }

    /// The report for the server.
    pub(super) fn to_report(&self) -> BTreeMap<String, FollowedEnvironment> {
        let each = self.environments.iter().map(|(of, had)| {
            let failed = had.failed.as_ref();
            let told = FollowedEnvironment {
                generation: had.generation,
                version: had.live.as_ref().map(ToString::to_string),
                staged: had.staged.as_ref().map(ToString::to_string),
                failed: failed.map(|it| it.signature.to_string()),
                error: failed.map(|it| it.why.clone()),
            };
            (of.to_string(), told)
        });
        each.collect()
    }

    pub(super) fn cursor(&self) -> Option<String> {
        self.cursor.clone()
    }
}

#[cfg(test)]
mod tests;
