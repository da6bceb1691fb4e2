//! Keys of g10k that r10k does not have: [`interpret_top_level`], [`interpret_source_key`].
//!
//! Invariant: a key that affects only g10k's operation is ignored, one with an equivalent setting
//! of r10k is converted, and one that changes the result is refused unless it is off.

use std::path::PathBuf;

use psych::{YamlTreeNode, YamlValue};

use super::R10kError;
use super::r10k::{UnsupportedSetting, to_bool, to_text};

/// Keys that affect g10k's operation, but not the deployed code.
const OPERATION_KEYS: &[&str] = &[
    "maxworker",
    "maxextractworker",
    "timeout",
    "retry_git_commands",
    "git_object_syntax_not_supported",
    "clone_git_modules",
    "forge_cache_ttl",
    "write_lock",
    "purge_allowlist",
    "purge_whitelist",
    "purge_levels",
    "deployment_purge_allowlist",
    "deployment_purge_whitelist",
];

/// Keys of a source that affect only g10k's operation. An unreachable source or a missing branch is
/// an error here in any case.
const SOURCE_OPERATION_KEYS: &[&str] = &[
    "warn_if_branch_is_missing",
    "error_if_branch_is_missing",
    "exit_if_unreachable",
];

/// Keys of g10k that are not supported here, with the remedy.
const REFUSED: &[(&str, &str)] = &[
    (
        "use_cache_fallback",
        "a source or module that is away fails the deployment, and what is live stays",
    ),
    (
        "ignore_unreachable_modules",
        "a module that is away fails the deployment, and what is live stays",
    ),
    (
        "purge_skiplist",
        "leave files out in the control repository and in the modules",
    ),
    (
        "purge_blacklist",
        "leave files out in the control repository and in the modules",
    ),
    (
        "force_forge_versions",
        "write the versions into the Puppetfile",
    ),
    (
        "filter_regex",
        "use filter_command or ignore_branch_prefixes",
    ),
    (
        "autocorrect_environment_names",
        "use invalid_branches: correct_and_warn",
    ),
];

/// Meaning of a key of g10k.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum G10kKey {
    /// The key has no effect here.
    Ignored,
    /// The value of `forge.baseurl`.
    ForgeBaseUrl(String),
    /// The value of `deploy.generate_types`.
    GenerateTypes(bool),
    /// The value of `deploy.puppet_path`.
    PuppetPath(PathBuf),
    /// The private key in `git.repositories` for the source's address.
    PrivateKey(PathBuf),
    Refused(UnsupportedSetting),
    /// g10k has no key of that name either.
    Unknown,
}

/// Interprets a key of the whole file; some of these are in `deploy`, too.
pub(super) fn interpret_top_level(key: &str, value: &YamlTreeNode) -> Result<G10kKey, R10kError> {
    Ok(match key {
        key if OPERATION_KEYS.contains(&key) => G10kKey::Ignored,
        "forge_base_url" => G10kKey::ForgeBaseUrl(to_text(value)?),
        "generate_types" => G10kKey::GenerateTypes(to_bool(value)?),
        "puppet_path" => G10kKey::PuppetPath(to_text(value)?.into()),
        key => refuse_key(key, key, value),
    })
}

/// Interprets a key of a source.
pub(super) fn interpret_source_key(
    source: &str,
    key: &str,
    value: &YamlTreeNode,
) -> Result<G10kKey, R10kError> {
    Ok(match key {
        key if SOURCE_OPERATION_KEYS.contains(&key) => G10kKey::Ignored,
        "private_key" => G10kKey::PrivateKey(to_text(value)?.into()),
        key => refuse_key(key, &format!("sources.{source}.{key}"), value),
    })
}

/// Refuses a key, unless its value switches it off and it therefore has no effect.
fn refuse_key(key: &str, place: &str, value: &YamlTreeNode) -> G10kKey {
    let Some((_, instead)) = REFUSED.iter().find(|(name, _)| *name == key) else {
        return G10kKey::Unknown;
    };
    let is_off = match &value.value {
        YamlValue::Bool(flag) => !flag,
        YamlValue::Null => true,
        YamlValue::Sequence(items) => items.is_empty(),
        _ => false,
    };
    match is_off {
        true => G10kKey::Ignored,
        false => G10kKey::Refused(UnsupportedSetting {
            line: value.line,
            what: format!("{place} is not supported: {instead}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use crate::R10kSettings;

    const FILE: &str = "---
:cachedir: '/tmp/g10k'
maxworker: 50
maxextractworker: 20
timeout: 300
use_cache_fallback: false
purge_skiplist: []
forge_base_url: https://forge.example.com
generate_types: true
puppet_path: /usr/bin/puppet
deploy:
  purge_levels: ['deployment', 'puppetfile', 'environment']
  deployment_purge_allowlist: ['example_hiera_*']
sources:
  main:
    remote: 'git@example.com:control.git'
    basedir: '/code/environments'
    private_key: '/root/.ssh/main'
    warn_if_branch_is_missing: true
    force_forge_versions: false
";

    #[test]
    fn a_file_of_g10k_is_read_like_one_of_r10k() {
        let read = R10kSettings::parse(FILE).unwrap();
        let settings = read.settings("/kept");
        assert_eq!(settings.forge.baseurl, "https://forge.example.com");
        let types = settings.generate_types.unwrap();
        assert_eq!(types.puppet.to_str(), Some("/usr/bin/puppet"));
        let own = &read.git.repositories["git@example.com:control.git"];
        assert_eq!(own.private_key, Some("/root/.ssh/main".into()));
        for key in ["maxworker", "sources.main.warn_if_branch_is_missing"] {
            assert!(
                read.ignored.iter().any(|it| it == key),
                "{:?}",
                read.ignored
            );
        }
    }

    #[test]
    fn all_keys_that_are_not_supported_are_named_at_once_with_their_lines() {
        let text = FILE
            .replace("purge_skiplist: []", "purge_skiplist: [spec]")
            .replace("use_cache_fallback: false", "use_cache_fallback: true")
            .replace(
                "force_forge_versions: false",
                "force_forge_versions: true\n    filter_regx: x",
            )
            + "sauces: 1\n";
        let error = R10kSettings::parse(&text).unwrap_err().to_string();
        for part in [
            "line 6: use_cache_fallback is not supported",
            "line 7: purge_skiplist is not supported",
            "line 20: sources.main.force_forge_versions is not supported: write the versions",
            "line 21: the source main: filter_regx is not supported",
            "line 22: r10k has no setting sauces",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
