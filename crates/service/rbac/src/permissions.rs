//! The permissions of one identity: [`PermissionSet`], the union of its roles.
//!
//! Invariants: checks need no access to the store, and a user can grant only permissions that the
//! same user has ([`PermissionSet::covers`]).

use std::collections::BTreeSet;

use crate::catalog::{self, ACTIONS, OBJECT_TYPES};
use crate::code_instance::{CodeEnvironment, CodeInstance, CodeReach, is_code_action};
use crate::permission::{ALL, PermissionGrant, PermissionInstance, RequestedPermission};

/// The union of the permissions of several roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermissionSet {
    /// True for administrators: all permissions, even those that the catalog does not list.
    everything: bool,
    /// Instances by the index of the action in the catalog. Empty if nothing is granted.
    granted: Vec<PermittedInstances>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PermittedInstances {
    all: bool,
    named: BTreeSet<String>,
}

impl PermissionSet {
    /// The permissions of administrators.
    pub fn all() -> Self {
        Self {
            everything: true,
            granted: Vec::new(),
        }
    }

    /// The union of these grants. `*:*:*` gives every permission; any other grant that the catalog
    /// does not list gives none.
    pub fn from_grants<'a>(grants: impl IntoIterator<Item = &'a PermissionGrant>) -> Self {
        let mut sum = Self {
            everything: false,
            granted: vec![PermittedInstances::default(); ACTIONS],
        };
        for grant in grants {
            let PermissionGrant {
                object_type,
                action,
                instance,
            } = grant;
            if [object_type, action, instance].map(String::as_str) == [ALL; 3] {
                return Self::all();
            }
            let Some(at) = catalog::index(object_type, action) else {
                continue;
            };
            if instance == ALL {
                sum.granted[at].all = true;
            } else {
                sum.granted[at].named.insert(instance.clone());
            }
        }
        sum
    }

    /// True if the permission is granted. A task target is enough to reach the routes of tasks;
    /// [`Rbac::task_right`](crate::Rbac::task_right) then decides on tasks and nodes.
    pub fn permits(&self, asked: RequestedPermission<'_>) -> bool {
        if self.everything {
            return true;
        }
        let Some(instances) = self.granted_instances(asked.object_type, asked.action) else {
            return false;
        };
        match asked.instance {
            PermissionInstance::Named(text) if is_code_action(asked.object_type, asked.action) => {
                instances.covers_code(&CodeInstance::parse(text))
            }
            PermissionInstance::Named(ALL) => instances.all,
            PermissionInstance::Named(name) => instances.all || instances.named.contains(name),
            PermissionInstance::Any if (asked.object_type, asked.action) == ("tasks", "run") => {
                let targets = self.granted_instances("tasks", "run_with_constraints");
                instances.has_any() || targets.is_some_and(PermittedInstances::has_any)
            }
            PermissionInstance::Any => instances.has_any(),
        }
    }

    /// The nodes on which the task or plan may run with the code of `environment`; `None` if it may
    /// run nowhere. `object_type` is `tasks` or `plans`.
    pub(crate) fn code_reach(
        &self,
        object_type: &str,
        name: &str,
        environment: &str,
    ) -> Option<CodeReach> {
        if self.everything {
            return Some(CodeReach::EveryNode);
        }
        let instances = self.granted_instances(object_type, "run")?;
        let asked = |environment| CodeInstance { name, environment };
        if instances.covers_code(&asked(CodeEnvironment::Named(environment))) {
            return Some(CodeReach::EveryNode);
        }
        let own = instances.covers_code(&asked(CodeEnvironment::EachNode));
        own.then_some(CodeReach::OwnEnvironment)
    }

    /// The instances on which the action is permitted; `["*"]` for all.
    pub fn instances(&self, object_type: &str, action: &str) -> Vec<String> {
        let all = || vec![ALL.to_owned()];
        if self.everything {
            return all();
        }
        match self.granted_instances(object_type, action) {
            // For tasks and plans `*` does not cover instances that name an environment.
            Some(instances) if instances.all && !is_code_action(object_type, action) => all(),
            Some(instances) if instances.all => {
                let named = instances.named.iter().filter(|text| text.contains('@'));
                all().into_iter().chain(named.cloned()).collect()
            }
            Some(instances) => instances.named.iter().cloned().collect(),
            None => Vec::new(),
        }
    }

    /// True if a holder of these permissions may grant `grant`. `tasks:run` of all tasks covers
    /// every task target.
    pub fn covers(&self, grant: &PermissionGrant) -> bool {
        let constrained =
            (&*grant.object_type, &*grant.action) == ("tasks", "run_with_constraints");
        self.permits(grant.as_permission())
            || (constrained && self.permits(RequestedPermission::on("tasks", "run", ALL)))
    }

    /// The first permission of `other` that is not covered.
    pub fn first_missing(&self, other: &Self) -> Option<PermissionGrant> {
        if self.everything {
            return None;
        }
        if other.everything {
            return Some(PermissionGrant::new(ALL, ALL, ALL));
        }
        other.grants().find(|grant| !self.covers(grant))
    }

    fn grants(&self) -> impl Iterator<Item = PermissionGrant> {
        let actions = OBJECT_TYPES.iter().flat_map(|object| {
            object
                .actions
                .iter()
                .map(|action| (object.name, action.name))
        });
        actions.flat_map(|(object_type, action)| {
            let instances = self.instances(object_type, action).into_iter();
            instances.map(move |instance| PermissionGrant::new(object_type, action, instance))
        })
    }

    fn granted_instances(&self, object_type: &str, action: &str) -> Option<&PermittedInstances> {
        self.granted.get(catalog::index(object_type, action)?)
    }
}

impl PermittedInstances {
    /// True if one of the instances covers the task or plan.
    fn covers_code(&self, asked: &CodeInstance<'_>) -> bool {
        let all = self.all.then_some(ALL);
        let mut held = all.into_iter().chain(self.named.iter().map(String::as_str));
        held.any(|text| CodeInstance::parse(text).covers(asked))
    }

    fn has_any(&self) -> bool {
        self.all || !self.named.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(grants: &[(&str, &str, &str)]) -> PermissionSet {
        let grants: Vec<_> = grants
            .iter()
            .map(|(object_type, action, instance)| {
                PermissionGrant::new(*object_type, *action, *instance)
            })
            .collect();
        PermissionSet::from_grants(&grants)
    }

    #[test]
    fn a_star_covers_every_instance_and_an_instance_covers_itself() {
        let some = of(&[("tasks", "run", "package"), ("plans", "run", "*")]);
        let tasks = |name| some.permits(RequestedPermission::on("tasks", "run", name));
        assert!(tasks("package") && !tasks("service") && !tasks("*") && !tasks(""));
        assert!(some.permits(RequestedPermission::any("tasks", "run")));
        assert!(some.permits(RequestedPermission::on("plans", "run", "anything")));
        assert!(some.permits(RequestedPermission::on("plans", "run", "*")));
        assert!(!some.permits(RequestedPermission::any("orchestrator", "view")));
        assert!(!some.permits(RequestedPermission::any("no_such", "thing")));
        assert_eq!(some.instances("tasks", "run"), ["package"]);
        assert_eq!(some.instances("plans", "run"), ["*"]);
        assert!(!of(&[]).permits(RequestedPermission::any("tasks", "run")));
        assert!(!PermissionSet::default().permits(RequestedPermission::any("tasks", "run")));
    }

    #[test]
    fn a_right_to_run_code_is_bound_to_an_environment() {
        let some = of(&[
            ("tasks", "run", "package"),
            ("tasks", "run", "fix@hotfix"),
            ("plans", "run", "*"),
        ]);
        let reach = |name, environment| some.code_reach("tasks", name, environment);
        assert_eq!(
            reach("package", "production"),
            Some(CodeReach::OwnEnvironment)
        );
        assert_eq!(reach("package", "evil"), Some(CodeReach::OwnEnvironment));
        assert_eq!(reach("fix", "hotfix"), Some(CodeReach::EveryNode));
        assert_eq!(reach("fix", "production"), None);
        assert_eq!(
            some.code_reach("plans", "any", "evil"),
            Some(CodeReach::OwnEnvironment)
        );
        let any = of(&[("tasks", "run", "*@*")]);
        assert_eq!(
            any.code_reach("tasks", "x", "evil"),
            Some(CodeReach::EveryNode)
        );
        let all = of(&[("*", "*", "*")]);
        assert_eq!(
            all.code_reach("plans", "x", "evil"),
            Some(CodeReach::EveryNode)
        );
        // A user who has all tasks for each node's own environment cannot grant any other
        // environment.
        let own = of(&[("tasks", "run", "*")]);
        assert!(own.covers(&PermissionGrant::new("tasks", "run", "package")));
        for more in ["package@evil", "package@*", "*@*"] {
            assert!(
                !own.covers(&PermissionGrant::new("tasks", "run", more)),
                "{more}"
            );
        }
        let both = of(&[("tasks", "run", "*"), ("tasks", "run", "x@evil")]);
        assert_eq!(
            own.first_missing(&both),
            Some(PermissionGrant::new("tasks", "run", "x@evil"))
        );
    }

    #[test]
    fn only_all_three_stars_are_everything() {
        let all = of(&[("*", "*", "*")]);
        assert!(all.permits(RequestedPermission::on("no_such", "thing", "x")));
        for partly in [("*", "run", "*"), ("tasks", "*", "*"), ("*", "*", "x")] {
            assert!(
                !of(&[partly]).permits(RequestedPermission::any("tasks", "run")),
                "{partly:?}"
            );
        }
    }

    #[test]
    fn a_task_target_reaches_the_door_and_no_task_by_itself() {
        let constrained = of(&[("tasks", "run_with_constraints", "1")]);
        assert!(constrained.permits(RequestedPermission::any("tasks", "run")));
        assert!(!constrained.permits(RequestedPermission::on("tasks", "run", "1")));
        assert!(!constrained.permits(RequestedPermission::on("tasks", "run", "package")));
    }

    #[test]
    fn nobody_hands_on_what_he_lacks() {
        let some = of(&[("tasks", "run", "package"), ("users", "edit", "*")]);
        assert_eq!(
            some.first_missing(&of(&[("tasks", "run", "package")])),
            None
        );
        assert_eq!(some.first_missing(&of(&[("users", "edit", "u")])), None);
        let all_tasks = Some(PermissionGrant::new("tasks", "run", "*"));
        assert_eq!(some.first_missing(&of(&[("tasks", "run", "*")])), all_tasks);
        assert_eq!(
            some.first_missing(&PermissionSet::all()),
            Some(PermissionGrant::new("*", "*", "*"))
        );
        assert_eq!(
            PermissionSet::all().first_missing(&PermissionSet::all()),
            None
        );
        let target = PermissionGrant::new("tasks", "run_with_constraints", "1");
        assert!(!some.covers(&target));
        assert!(of(&[("tasks", "run", "*")]).covers(&target));
    }
}
