//! The files of modules that a task needs in place of pluginsync. Main function: [`plugin_entries`].
//!
//! Invariant: functions are left out, since catalogs are compiled on the server.

use environments::{CodeError, CodeVersion};

use crate::spec::TaskPlugins;

/// Directory of `lib` with facts in Ruby, relative to it.
const FACTS: &str = "facter";

/// Directory of a module with external facts.
const EXTERNAL_FACTS: &str = "facts.d";

/// Directories of `lib/puppet` that only a server loads.
const OF_SERVERS: &[&str] = &["application", "face", "functions", "parser", "reports"];

/// The entries, as among the `files` of a task's metadata.
pub(crate) fn plugin_entries(
    version: &dyn CodeVersion,
    plugins: &TaskPlugins,
) -> Result<Vec<String>, CodeError> {
    let mut entries = Vec::new();
    if *plugins == TaskPlugins::None {
        return Ok(entries);
    }
    for module in version.modules()? {
        let name = &module.name;
        let list = |directory: &str| version.entries(Some(name), directory);
        if let TaskPlugins::Facts { modules } = plugins {
            if !modules.is_empty() && !modules.contains(name) {
                continue;
            }
            entries.push(format!("{name}/lib/{FACTS}"));
            if !list(EXTERNAL_FACTS)?.is_empty() {
                entries.push(format!("{name}/{EXTERNAL_FACTS}"));
            }
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
        let others = below_lib.filter(|it| it != "puppet" && it != FACTS);
        entries.extend(others.map(|below| format!("{name}/lib/{below}")));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use environments::{CodeReader as _, EnvironmentDir};

    use super::*;

    fn facts_of(modules: &[&str]) -> TaskPlugins {
        TaskPlugins::Facts {
            modules: modules.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn types_and_facts_are_found_and_functions_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let modules = directory.path().join("environments/production/modules");
        for path in [
            "typed/lib/puppet/type/a.rb",
            "typed/lib/puppet/provider/a/b.rb",
            "typed/lib/puppet/functions/f.rb",
            "typed/lib/puppet/parser/functions/f.rb",
            "typed/lib/puppet/util/u.rb",
            "typed/lib/puppet_x/x.rb",
            "typed/lib/facter/f.rb",
            "typed/facts.d/rack.sh",
            "functions/lib/puppet/functions/f.rb",
            "functions/lib/puppet_x/x.rb",
        ] {
            let path = modules.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let code = EnvironmentDir::new(directory.path());
        let version = code.version(&"production".parse().unwrap()).unwrap();
        let entries = |plugins| {
            let mut entries = plugin_entries(&*version, &plugins).unwrap();
            entries.sort();
            entries
        };
        assert!(entries(TaskPlugins::None).is_empty());
        assert_eq!(
            entries(TaskPlugins::Types),
            [
                "typed/lib/puppet/provider",
                "typed/lib/puppet/type",
                "typed/lib/puppet/util",
                "typed/lib/puppet_x",
            ]
        );
        assert_eq!(
            entries(facts_of(&[])),
            ["functions/lib/facter", "typed/facts.d", "typed/lib/facter"]
        );
        assert_eq!(
            entries(facts_of(&["functions", "none"])),
            ["functions/lib/facter"]
        );
        std::fs::create_dir_all(modules.join("typed/tasks")).unwrap();
        std::fs::write(modules.join("typed/tasks/init.sh"), "#!/bin/sh\n").unwrap();
        let mut task = version.task(&"typed".parse().unwrap()).unwrap();
        let facts = entries(facts_of(&[]));
        version.add_task_files(&mut task, &facts).unwrap();
        let odd = ["../x", "typed/../..", "none/lib/a", "typed"].map(str::to_owned);
        version.add_task_files(&mut task, &odd).unwrap();
        let names: Vec<&str> = task
            .files
            .iter()
            .map(|file| file.filename.as_str())
            .collect();
        assert_eq!(
            names,
            ["init.sh", "typed/facts.d/rack.sh", "typed/lib/facter/f.rb"]
        );
        assert_eq!(task.metadata.files, ["typed/facts.d/", "typed/lib/facter/"]);
    }
}
