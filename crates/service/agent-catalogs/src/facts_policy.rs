//! Whether changes of facts cause a compilation: [`FactsPolicy`], chosen by [`FactsPolicies`].

use std::collections::BTreeMap;

/// The facts whose changes cause a compilation of a node's catalog; the last one counts the most changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum FactsPolicy {
    /// None. What follows from facts counts nevertheless: node groups, and so environment and classes.
    Ignore,
    /// Those that the last compilation read.
    #[default]
    Read,
    /// All.
    All,
}

/// The policies of the nodes of a site.
#[derive(Debug, Clone, Default)]
pub struct FactsPolicies {
    /// Policy of nodes of which no group has one.
    pub default: FactsPolicy,
    /// Policies by name of a node group.
    pub by_group: BTreeMap<String, FactsPolicy>,
}

impl FactsPolicies {
    /// The policy of a node in these groups: the one of them that counts the most changes, so that no group
    /// is given a catalog that its own policy calls outdated.
    #[must_use]
    pub fn of_groups(&self, groups: &[String]) -> FactsPolicy {
        let of_groups = groups.iter().filter_map(|group| self.by_group.get(group));
        of_groups.max().copied().unwrap_or(self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::{FactsPolicies, FactsPolicy};

    #[test]
    fn the_strictest_group_of_a_node_counts() {
        let policies = FactsPolicies {
            default: FactsPolicy::Read,
            by_group: [
                ("edge".to_owned(), FactsPolicy::Ignore),
                ("audited".to_owned(), FactsPolicy::All),
            ]
            .into(),
        };
        let of = |groups: &[&str]| {
            let groups: Vec<String> = groups.iter().map(|&it| it.to_owned()).collect();
            policies.of_groups(&groups)
        };
        assert_eq!(of(&[]), FactsPolicy::Read);
        assert_eq!(of(&["All Nodes"]), FactsPolicy::Read);
        assert_eq!(of(&["All Nodes", "edge"]), FactsPolicy::Ignore);
        assert_eq!(of(&["audited", "edge"]), FactsPolicy::All);
    }
}
