//! `[catalogs]` of `tutti.toml`: [`CatalogsSection`].

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use agent_catalogs::{FactsPolicies, FactsPolicy};
use catalogs::defaults::COMPILES_WAITING_MAX;
use catalogs::{CatalogCompiler, ChosenCompiler, CompilerChoices};
use serde::Deserialize;

/// Compilation of catalogs on this server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CatalogsSection {
    /// Compilations at the same time; absent: one for each core.
    pub concurrent_compiles: Option<usize>,
    /// Compilations that may wait; further requests are told to come back later.
    pub max_queued_requests: usize,
    /// Time limit of one compilation, in seconds.
    pub compile_timeout_s: u64,
    /// True if functions, templates and types in Ruby are run.
    pub ruby: bool,
    /// User of the Ruby processes if the server runs as root.
    pub ruby_user: String,
    /// Value of `$serverip`; absent: the address of this machine.
    pub serverip: Option<Ipv4Addr>,
    /// Value of `$serverip6`; absent: the address of this machine.
    pub serverip6: Option<Ipv6Addr>,
    /// Compiler of all nodes that are not listed.
    pub compiler: CompilerName,
    /// Compilers of environments that differ from `compiler`, by name.
    pub environments: BTreeMap<String, CompilerSetting>,
    /// Compilers of nodes, by certname; stronger than those of environments.
    pub nodes: BTreeMap<String, CompilerSetting>,
    /// The facts whose changes cause a compilation of a node's catalog.
    pub facts: FactsSetting,
    /// True to compile the catalogs of nodes in advance, after a deployment.
    pub compile_ahead: bool,
    /// Settings of the nodes of node groups, by the name of the group.
    pub node_groups: BTreeMap<String, NodeGroupSetting>,
}

/// Settings of the catalogs of a node group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NodeGroupSetting {
    /// Compiler of its nodes; absent: that of their environment.
    pub compiler: Option<CompilerName>,
    /// Reason, which is shown with each catalog.
    #[serde(default)]
    pub reason: String,
    /// The facts that count; absent: as for nodes without groups.
    pub facts: Option<FactsSetting>,
}

/// The facts whose changes cause a compilation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FactsSetting {
    Ignore,
    #[default]
    Read,
    All,
}

/// The compiler of an environment or node, with its reason.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompilerSetting {
    pub compiler: CompilerName,
    /// Reason, which is shown with each catalog.
    #[serde(default)]
    pub reason: String,
}

/// Name of a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompilerName {
    Native,
    Puppetserver,
}

/// Longest time of a compilation, an hour.
const COMPILE_TIMEOUT_MAX_S: u64 = 3600;

/// More requests than agents wait for: on two cores they have their turn after 15 minutes.
const QUEUED_REQUESTS_MAX: usize = 10_000;

/// More compilations than the largest machine has cores.
const CONCURRENT_COMPILES_MAX: usize = 1_024;

impl CatalogsSection {
    /// Checks the values; `has_puppetserver` is true if the configuration names one.
    pub(super) fn check(&self, has_puppetserver: bool) -> Result<(), String> {
        if !(1..=COMPILE_TIMEOUT_MAX_S).contains(&self.compile_timeout_s) {
            return Err("catalogs.compile_timeout_s must be from 1 to 3600".to_owned());
        }
        let concurrent = self.concurrent_compiles.unwrap_or(1);
        if !(1..=CONCURRENT_COMPILES_MAX).contains(&concurrent) {
            return Err("catalogs.concurrent_compiles must be from 1 to 1024".to_owned());
        }
        if !(1..=QUEUED_REQUESTS_MAX).contains(&self.max_queued_requests) {
            return Err("catalogs.max_queued_requests must be from 1 to 10000".to_owned());
        }
        if !has_puppetserver && self.uses_puppetserver() {
            return Err(
                "a compiler of [catalogs] is \"puppetserver\", but [puppetserver] has no url"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// True if a puppetserver compiles the catalogs of some nodes.
    pub(crate) fn uses_puppetserver(&self) -> bool {
        let settings = self.environments.values().chain(self.nodes.values());
        let of_groups = self.node_groups.values().filter_map(|it| it.compiler);
        let names = settings.map(|it| it.compiler).chain([self.compiler]);
        names
            .chain(of_groups)
            .any(|it| it == CompilerName::Puppetserver)
    }

    pub(crate) fn time_max(&self) -> Duration {
        Duration::from_secs(self.compile_timeout_s)
    }

    /// The facts that count, by node group.
    pub(crate) fn facts_policies(&self) -> FactsPolicies {
        let groups = self.node_groups.iter();
        let by_group = groups.filter_map(|(name, group)| Some((name.clone(), group.facts?.into())));
        FactsPolicies {
            default: self.facts.into(),
            by_group: by_group.collect(),
        }
    }

    /// The compilers of nodes and environments.
    pub(crate) fn choices(&self) -> CompilerChoices {
        let chosen = |settings: &BTreeMap<String, CompilerSetting>| {
            let settings = settings.iter();
            settings
                .map(|(name, setting)| (name.clone(), setting.chosen()))
                .collect()
        };
        CompilerChoices {
            default: ChosenCompiler {
                compiler: self.compiler.into(),
                reason: match self.compiler {
                    CompilerName::Native => String::new(),
                    CompilerName::Puppetserver => "catalogs.compiler".to_owned(),
                },
            },
            by_environment: chosen(&self.environments),
            by_group: self.chosen_by_groups(),
            by_certname: chosen(&self.nodes),
        }
    }
}

impl CatalogsSection {
    fn chosen_by_groups(&self) -> BTreeMap<String, ChosenCompiler> {
        let groups = self.node_groups.iter().filter_map(|(name, group)| {
            let chosen = ChosenCompiler {
                compiler: group.compiler?.into(),
                reason: group.reason.clone(),
            };
            Some((name.clone(), chosen))
        });
        groups.collect()
    }
}

impl CompilerSetting {
    fn chosen(&self) -> ChosenCompiler {
        ChosenCompiler {
            compiler: self.compiler.into(),
            reason: self.reason.clone(),
        }
    }
}

impl From<CompilerName> for CatalogCompiler {
    fn from(name: CompilerName) -> Self {
        match name {
            CompilerName::Native => Self::Native,
            CompilerName::Puppetserver => Self::Puppetserver,
        }
    }
}

impl From<FactsSetting> for FactsPolicy {
    fn from(setting: FactsSetting) -> Self {
        match setting {
            FactsSetting::Ignore => Self::Ignore,
            FactsSetting::Read => Self::Read,
            FactsSetting::All => Self::All,
        }
    }
}

impl Default for CatalogsSection {
    fn default() -> Self {
        Self {
            concurrent_compiles: None,
            max_queued_requests: COMPILES_WAITING_MAX,
            compile_timeout_s: catalogs::defaults::COMPILE_TIME_MAX.as_secs(),
            ruby: true,
            ruby_user: "nobody".to_owned(),
            serverip: None,
            serverip6: None,
            compiler: CompilerName::Native,
            environments: BTreeMap::new(),
            nodes: BTreeMap::new(),
            facts: FactsSetting::default(),
            compile_ahead: true,
            node_groups: BTreeMap::new(),
        }
    }
}
