//! Which compiler has the nodes of a site: [`CompilerChoices`].
//!
//! Invariant: a node's own choice is stronger than that of its environment, which is stronger than
//! the default.

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

/// The compilers of nodes and environments.
#[derive(Debug, Clone, Default)]
pub struct CompilerChoices {
    /// Compiler of all others.
    pub default: ChosenCompiler,
    pub by_environment: BTreeMap<String, ChosenCompiler>,
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
    /// The compiler of a node in an environment.
    #[must_use]
    pub fn choose(&self, certname: &str, environment: &str) -> &ChosenCompiler {
        let of_node = self.by_certname.get(certname);
        let of_environment = || self.by_environment.get(environment);
        of_node.or_else(of_environment).unwrap_or(&self.default)
    }
}

#[cfg(test)]
mod tests {
    use super::{CatalogCompiler, ChosenCompiler, CompilerChoices};

    #[test]
    fn a_node_is_stronger_than_its_environment() {
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
            ..CompilerChoices::default()
        };
        let reason = |node, environment| choices.choose(node, environment).reason.as_str();
        assert_eq!(reason("old.example.com", "legacy"), "termini");
        assert_eq!(reason("new.example.com", "legacy"), "ported");
        assert_eq!(reason("old.example.com", "production"), "");
    }
}
