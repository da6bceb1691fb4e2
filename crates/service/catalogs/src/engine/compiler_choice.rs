//! Which compiler has the nodes of a site: [`CompilerChoices`].
//!
//! Invariant: a node's own choice is stronger than that of its node groups, which is stronger than that of its
//! environment, which is stronger than the default.

use std::collections::BTreeMap;

/// A compiler of catalogs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CatalogCompiler {
    /// The compiler of this project.
    #[default]
    Native,
    /// The puppetserver of the configuration.
    Puppetserver,
}

/// A compiler, and the reason that the configuration gives for it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChosenCompiler {
    pub compiler: CatalogCompiler,
    /// Reason, as the configuration has it; empty for the default.
    pub reason: String,
}

/// The compilers of nodes, node groups and environments.
#[derive(Debug, Clone, Default)]
pub struct CompilerChoices {
    /// Compiler of all others.
    pub default: ChosenCompiler,
    pub by_environment: BTreeMap<String, ChosenCompiler>,
    /// By name of a node group. Of a node's groups one with a puppetserver counts before the others, so that a node
    /// is moved only if none of its groups leaves it there.
    pub by_group: BTreeMap<String, ChosenCompiler>,
    pub by_certname: BTreeMap<String, ChosenCompiler>,
}

impl CatalogCompiler {
    /// Name in the configuration and in the API.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Puppetserver => "puppetserver",
        }
    }
}

impl CompilerChoices {
    /// The compiler of a node with these groups in an environment.
    #[must_use]
    pub fn choose(&self, certname: &str, groups: &[String], environment: &str) -> &ChosenCompiler {
        let of_node = self.by_certname.get(certname);
        let of_groups = || {
            let chosen = groups.iter().filter_map(|group| self.by_group.get(group));
            chosen.max_by_key(|it| it.compiler == CatalogCompiler::Puppetserver)
        };
        let of_environment = || self.by_environment.get(environment);
        let chosen = of_node.or_else(of_groups).or_else(of_environment);
        chosen.unwrap_or(&self.default)
    }

    /// True if a puppetserver compiles the catalogs of some nodes.
    #[must_use]
    pub fn has_puppetserver(&self) -> bool {
        let maps = [&self.by_environment, &self.by_group, &self.by_certname];
        let mut chosen = maps.into_iter().flat_map(BTreeMap::values);
        let is_puppetserver =
            |chosen: &ChosenCompiler| chosen.compiler == CatalogCompiler::Puppetserver;
        is_puppetserver(&self.default) || chosen.any(is_puppetserver)
    }

    /// True if the groups of a node count.
    #[must_use]
    pub fn depends_on_groups(&self) -> bool {
        !self.by_group.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{CatalogCompiler, ChosenCompiler, CompilerChoices};

    #[test]
    fn a_node_is_stronger_than_its_groups_and_these_than_its_environment() {
        let chosen = |compiler, reason: &str| ChosenCompiler {
            compiler,
            reason: reason.to_owned(),
        };
        let legacy = chosen(CatalogCompiler::Puppetserver, "termini");
        let choices = CompilerChoices {
            by_environment: [("legacy".to_owned(), legacy)].into(),
            by_certname: [(
                "new.example.com".to_owned(),
                chosen(CatalogCompiler::Native, "ported"),
            )]
            .into(),
            by_group: [
                (
                    "Web".to_owned(),
                    chosen(CatalogCompiler::Native, "web is ready"),
                ),
                (
                    "Databases".to_owned(),
                    chosen(CatalogCompiler::Puppetserver, "not yet"),
                ),
            ]
            .into(),
            ..CompilerChoices::default()
        };
        let reason = |node, groups: &[&str], environment| {
            let groups: Vec<String> = groups.iter().map(|&it| it.to_owned()).collect();
            choices.choose(node, &groups, environment).reason.clone()
        };
        assert_eq!(reason("old.example.com", &[], "legacy"), "termini");
        assert_eq!(reason("old.example.com", &["All"], "legacy"), "termini");
        assert_eq!(
            reason("old.example.com", &["Web"], "legacy"),
            "web is ready"
        );
        let both = ["Databases", "Web"];
        assert_eq!(reason("old.example.com", &both, "legacy"), "not yet");
        assert_eq!(reason("new.example.com", &both, "legacy"), "ported");
        assert_eq!(reason("old.example.com", &[], "production"), "");
        assert!(choices.has_puppetserver());
        assert!(!CompilerChoices::default().has_puppetserver());
    }
}
