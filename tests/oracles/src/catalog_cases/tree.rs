//! The directory of a case: [`CatalogCase::write_tree`].
//!
//! Invariant: `environments/production` is the environment, `global` the configuration directory of
//! the server, `library` the base module path. In answers they have fixed names.

use std::path::{Component, Path};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::CatalogCase;

/// The environment's directory in answers.
pub const ENVIRONMENT_PREFIX: &str = "/env";
/// The directory of the server's own `hiera.yaml` in answers.
pub const GLOBAL_PREFIX: &str = "/global";
/// The base module path in answers.
pub const LIBRARY_PREFIX: &str = "/library";

/// The directory in which Debian's packages put modules.
const MODULES: &str = "/usr/share/puppet/modules";

impl CatalogCase {
    /// Writes the files of the case below `root`, which is created.
    pub fn write_tree(&self, root: &Path) -> Result<()> {
        let environment = root.join("environments/production");
        for directory in [
            environment.join("manifests"),
            root.join("global"),
            root.join("library"),
        ] {
            std::fs::create_dir_all(directory)?;
        }
        for (path, text) in &self.files {
            let mut parts = Path::new(path).components();
            if !parts.all(|it| matches!(it, Component::Normal(_))) {
                bail!("{path} leaves the tree of {}", self.title);
            }
            let path = match path.starts_with("global/") {
                true => root.join(path),
                false => environment.join(path),
            };
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, text)?;
        }
        for name in &self.modules {
            let module = Path::new(MODULES).join(name);
            if !module.is_dir() {
                bail!(
                    "{} is missing; run `cargo xtask oracles` first",
                    module.display()
                );
            }
            std::os::unix::fs::symlink(&module, root.join("library").join(name))
                .with_context(|| format!("cannot link {name}"))?;
        }
        Ok(())
    }

    /// The question for `ruby/catalogs.rb` about the tree at `root`.
    pub(super) fn question(&self, root: &Path) -> Value {
        let node = &self.node;
        json!({
            "root": root,
            "certname": node.certname,
            "facts": node.facts,
            "server_facts": node.server_facts,
            "trusted": node.extensions,
            "classes": node.classes,
            "parameters": node.parameters,
            "exports": self.exports,
            "plain": self.is_plain,
        })
    }
}

/// Replaces the directories of a tree at `root` by their fixed names in all texts of a value.
pub fn with_fixed_paths(value: &Value, root: &Path) -> Value {
    let root = root.to_string_lossy();
    let names = [
        (
            format!("{root}/environments/production"),
            ENVIRONMENT_PREFIX,
        ),
        (format!("{root}/global"), GLOBAL_PREFIX),
        (format!("{root}/library"), LIBRARY_PREFIX),
    ];
    replace(value, &|text| {
        let shorten = |text: String, (long, short): &(String, &str)| text.replace(long, short);
        names.iter().fold(text.to_owned(), shorten)
    })
}

fn replace(value: &Value, shorten: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(shorten(text)),
        Value::Array(list) => list.iter().map(|it| replace(it, shorten)).collect(),
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, it)| (shorten(key), replace(it, shorten)));
            Value::Object(pairs.collect())
        }
        other => other.clone(),
    }
}
