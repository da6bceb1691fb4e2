//! The files of modules that a task needs in place of pluginsync. Main function: [`plugin_entries`].
//!
//! Invariant: functions are left out, since catalogs are compiled on the server.

use environments::{CodeError, CodeVersion};

use crate::spec::TaskPlugins;

/// Directories of `lib` with facts, relative to it.
const FACTS: &[&str] = &["facter"];

/// Directories of `lib/puppet` that only a server loads.
const OF_SERVERS: &[&str] = &["application", "face", "functions", "parser", "reports"];

/// The entries, as among the `files` of a task's metadata.
pub(crate) fn plugin_entries(
    version: &dyn CodeVersion,
    plugins: TaskPlugins,
) -> Result<Vec<String>, CodeError> {
    let mut entries = Vec::new();
    if plugins == TaskPlugins::None {
        return Ok(entries);
    }
    for module in version.modules()? {
        let name = &module.name;
        let list = |directory: &str| version.entries(Some(name), directory);
        if plugins == TaskPlugins::Facts {
            let facts = FACTS.iter().map(|facts| format!("{name}/lib/{facts}"));
            entries.extend(facts);
            continue;
        }
        let below_puppet = list("lib/puppet")?.into_iter().map(|it| it.name);
        let below_puppet: Vec<String> = below_puppet
            .filter(|it| !OF_SERVERS.contains(&it.as_str()))
            .collect();
        let has_types = below_puppet
            .iter()
            .any(|it| it == "type" || it == "provider");
        if !has_types {
            continue;
        }
        entries.extend(
            below_puppet
                .into_iter()
                .map(|below| format!("{name}/lib/puppet/{below}")),
        );
        let below_lib = list("lib")?.into_iter().map(|it| it.name);
        let others = below_lib.filter(|it| it != "puppet" && !FACTS.contains(&it.as_str()));
        entries.extend(others.map(|below| format!("{name}/lib/{below}")));
    }
    Ok(entries)
}
