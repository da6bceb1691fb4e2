//! What a follower does next, without I/O: [`FollowerCore`].
//!
//! The rules that must hold: it switches to what was announced and to nothing else; never to a lower
//! generation than its own; and to nothing that is not here as a whole. A power cut may have damaged what was live
//! before the start, so that is staged once more, which compares it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use api_types::{CheckedIn, FollowedEnvironment};
use environments::EnvironmentName;

use super::saved_state::SavedEnvironment;
use super::status::FollowedVersion;
use crate::follower_board::AnnouncedSwitch;
use code_store::version::VersionSignature;

/// What a follower has, and what it was told.
#[derive(Debug, Default)]
pub(super) struct FollowerCore {
    environments: BTreeMap<EnvironmentName, LocalEnvironment>,
    announced: BTreeMap<EnvironmentName, AnnouncedSwitch>,
    offered: BTreeMap<EnvironmentName, VersionSignature>,
    /// Versions on their way here.
    staging: HashSet<(EnvironmentName, VersionSignature)>,
    /// Versions that were live at the start and were not compared with the server's list of files since then.
    inherited: HashSet<(EnvironmentName, VersionSignature)>,
    cursor: Option<String>,
}

/// What it has of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LocalEnvironment {
    generation: i64,
    live: Option<VersionSignature>,
    staged: Option<VersionSignature>,
    failed: Option<FailedVersion>,
}

/// A version that it could not get.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FailedVersion {
    signature: VersionSignature,
    why: String,
    /// Whether it waits before it tries again.
    waits_for_retry: bool,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FollowerStep {
    /// Get a version.
    Stage(EnvironmentName, VersionSignature),
    /// Make it live.
    Switch(EnvironmentName, VersionSignature, i64),
    /// Take the environment away.
    Remove(EnvironmentName, i64),
}

// === impl Core ===

impl FollowerCore {
    /// A follower that had this when it ended.
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

    /// What the storage says. Names that make no sense are left out.
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

    /// It is not known any more what is live: nothing is done until the storage says it anew.
    pub(super) fn discard_announcements(&mut self) {
        self.announced.clear();
        self.offered.clear();
        self.cursor = None;
    }

    /// What to do now. Each version is to be got once, until [`mark_staged`](Self::mark_staged) or
    /// [`mark_failed`](Self::mark_failed) says what became of it.
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

    /// A version is here as a whole.
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

    /// A version cannot be got, or not be switched to.
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

    /// It may try once more.
    pub(super) fn allow_retries(&mut self) {
        for failed in self
            .environments
            .values_mut()
            .filter_map(|had| had.failed.as_mut())
        {
            failed.waits_for_retry = false;
        }
    }

    /// A version is live.
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

    /// An environment is gone.
    pub(super) fn mark_removed(&mut self, environment: &EnvironmentName, generation: i64) {
        let had = self.environment_mut(environment);
        had.generation = generation;
        had.live = None;
    }

    /// Whether anything is on its way here.
    pub(super) fn is_staging(&self) -> bool {
        !self.staging.is_empty()
    }

    /// Versions that are not live and may be in a moment.
    pub(super) fn staged_versions(
        &self,
    ) -> impl Iterator<Item = (&EnvironmentName, &VersionSignature)> {
        let staged = self.environments.iter();
        staged.filter_map(|(of, had)| Some((of, had.staged.as_ref()?)))
    }

    /// The environments that are live.
    pub(super) fn live_environments(&self) -> impl Iterator<Item = &EnvironmentName> {
        let live = self
            .environments
            .iter()
            .filter(|(_, had)| had.live.is_some());
        live.map(|(of, _)| of)
    }

    /// The links as they stand, whoever made them.
    pub(super) fn sync_with_disk(&mut self, live: &[(EnvironmentName, VersionSignature)]) {
        for (environment, had) in &mut self.environments {
            let found = live.iter().find(|(of, _)| of == environment);
            had.live = found.map(|(_, signature)| signature.clone());
        }
    }

    /// What is live, for a file.
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

    /// Whether it was told what is live, and still knows it.
    pub(super) fn has_announcements(&self) -> bool {
        self.cursor.is_some()
    }

    /// What is live beside what should be.
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

    /// What the storage is told.
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
