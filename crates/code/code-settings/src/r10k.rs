//! Parser of `r10k.yaml`, or of Code Manager's settings: [`R10kSettings`].
//!
//! Keys may be texts or symbols, since r10k accepts both. Invariant: an unsupported key that would
//! change the result of a deployment is refused; one that would not is listed in
//! [`R10kSettings::ignored`].

use std::path::PathBuf;
use std::sync::Arc;

use psych::{YamlLoadOptions, YamlMapping, YamlTreeNode, YamlValue};

use super::g10k::{self, G10kKey};
use super::sources::{ParsedR10kSource, parse_source};
use super::{DeploymentSettings, GenerateTypes};
use crate::code_manager;
use crate::defaults::DEPLOYS_AT_ONCE;
use code_sources::git::{CredentialServers, GitProgram};

/// The settings in an `r10k.yaml`.
#[derive(Clone, Debug)]
pub struct R10kSettings {
    /// All settings except the directory of Tutti's own data.
    pub(super) settings: DeploymentSettings,
    /// Settings for running git.
    pub git: GitProgram,
    /// Keys that have no effect here.
    pub ignored: Vec<String>,
    /// Keys that are refused, which are all reported at once.
    pub(super) unsupported: Vec<UnsupportedSetting>,
    /// Servers, in addition to those of the control repositories, that a general token is sent to.
    pub(super) credential_hosts: Vec<String>,
    /// Private keys of single sources, by their addresses, as in g10k.
    private_keys: Vec<(String, PathBuf)>,
    /// The program for `generate_types`, if it is set outside of `deploy`.
    puppet_path: Option<PathBuf>,
}

/// The error for a file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum R10kError {
    /// The file is not YAML.
    #[error("{0}")]
    Yaml(psych::Error),
    /// A value is invalid.
    #[error("line {line}: {what}")]
    Value {
        /// Line number, counted from 1.
        line: u32,
        /// Description of the error, and the remedy.
        what: String,
    },
    /// Keys that are unknown, or that change the result and are not supported here.
    #[error("{}", join_settings(.0))]
    Unsupported(Vec<UnsupportedSetting>),
}

/// A key that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsupportedSetting {
    /// Line number, counted from 1.
    pub line: u32,
    /// The key, and the remedy.
    pub what: String,
}

fn join_settings(settings: &[UnsupportedSetting]) -> String {
    let each = settings
        .iter()
        .map(|it| format!("line {}: {}", it.line, it.what));
    each.collect::<Vec<_>>().join("; ")
}

const OPTIONS: YamlLoadOptions = YamlLoadOptions {
    aliases: true,
    symbols: true,
    times: false,
};

/// Keys that affect r10k's operation, but not the deployed code.
const IRRELEVANT_KEYS: &[&str] = &["cachedir", "logging"];

// === impl R10kSettings ===

impl R10kSettings {
    /// Parses the text of a file.
    pub fn parse(text: &str) -> Result<Self, R10kError> {
        let document = psych::load(text, OPTIONS).map_err(R10kError::Yaml)?;
        let root = document
            .root
            .ok_or_else(|| value_error(1, "the file is empty"))?;
        let mut r10k = match code_manager::has_code_manager_settings(&root) {
            true => code_manager::parse(&root)?,
            false => Self::read(&root)?,
        };
        r10k.refuse_unsupported()?;
        r10k.apply_g10k();
        // One proxy for all, unless another one is set.
        let proxy = &r10k.settings.proxy;
        r10k.git.access.proxy = r10k.git.access.proxy.or_else(|| proxy.clone());
        let remotes = r10k.settings.sources.iter().map(|source| &*source.remote);
        let named = r10k.credential_hosts.iter().map(String::as_str);
        r10k.git.servers = CredentialServers::from_remotes(remotes, named);
        Ok(r10k)
    }

    pub(super) fn empty() -> Self {
        Self {
            settings: DeploymentSettings::new("", ""),
            git: GitProgram::default(),
            ignored: Vec::new(),
            unsupported: Vec::new(),
            credential_hosts: Vec::new(),
            private_keys: Vec::new(),
            puppet_path: None,
        }
    }

    fn read(root: &YamlTreeNode) -> Result<Self, R10kError> {
        let mut r10k = Self::empty();
        for (key, value) in pairs(root)? {
            match key.as_str() {
                "sources" => r10k.read_sources(value)?,
                "git" => r10k.read_git(value)?,
                "deploy" => r10k.read_deploy(value)?,
                "proxy" => r10k.settings.proxy = Some(to_text(value)?),
                "forge" => r10k.read_forge(value)?,
                "pool_size" => r10k.settings.at_once = parse_pool_size(value)?,
                key if IRRELEVANT_KEYS.contains(&key) => {}
                "purgedirs" => r10k.ignored.push(key),
                "postrun" => r10k.settings.postrun = parse_postrun(value)?,
                _ => r10k.read_g10k_key(&key, value, "")?,
            }
        }
        r10k.refuse_unsupported()?;
        if r10k.settings.sources.is_empty() {
            return Err(value_error(root.line, "there are no sources"));
        }
        Ok(r10k)
    }

    /// The settings, with Tutti's own data in this directory.
    pub fn settings(&self, directory: impl Into<PathBuf>) -> DeploymentSettings {
        DeploymentSettings {
            directory: directory.into(),
            ..self.settings.clone()
        }
    }

    fn read_sources(&mut self, node: &YamlTreeNode) -> Result<(), R10kError> {
        for (name, value) in pairs(node)? {
            let ParsedR10kSource {
                source,
                basedir,
                ignored,
                unsupported,
                private_key,
            } = parse_source(&name, value)?;
            self.ignored.extend(ignored);
            self.unsupported.extend(unsupported);
            if let Some(key) = private_key {
                self.private_keys.push((source.remote.clone(), key));
            }
            let settings = &mut self.settings;
            if !settings.sources.is_empty() && basedir != settings.environments {
                let what = "all sources must have the same basedir: Puppet's environments";
                return Err(value_error(value.line, what));
            }
            settings.environments = basedir;
            settings.sources.push(Arc::new(source));
        }
        Ok(())
    }

    pub(super) fn read_forge(&mut self, node: &YamlTreeNode) -> Result<(), R10kError> {
        let forge = &mut self.settings.forge;
        for (key, value) in pairs(node)? {
            match key.as_str() {
                "baseurl" => forge.baseurl = to_text(value)?,
                "proxy" => forge.proxy = Some(to_text(value)?),
                "authorization_token" => forge.authorization_token = Some(to_text(value)?.into()),
                "allow_puppetfile_override" => forge.allow_puppetfile_override = to_bool(value)?,
                _ => self
                    .unsupported
                    .push(unknown_setting(&format!("forge.{key}"), value)),
            }
        }
        Ok(())
    }

    /// Interprets a key that r10k does not have at this position.
    fn read_g10k_key(
        &mut self,
        key: &str,
        value: &YamlTreeNode,
        prefix: &str,
    ) -> Result<(), R10kError> {
        match g10k::interpret_top_level(key, value)? {
            G10kKey::Ignored => self.ignored.push(format!("{prefix}{key}")),
            G10kKey::ForgeBaseUrl(url) => self.settings.forge.baseurl = url,
            G10kKey::GenerateTypes(false) => {}
            G10kKey::GenerateTypes(true) => {
                self.settings.generate_types.get_or_insert_default();
            }
            G10kKey::PuppetPath(path) => self.puppet_path = Some(path),
            G10kKey::Refused(refused) => self.unsupported.push(refused),
            G10kKey::PrivateKey(_) | G10kKey::Unknown => {
                self.unsupported
                    .push(unknown_setting(&format!("{prefix}{key}"), value));
            }
        }
        Ok(())
    }

    /// Moves values of a g10k file to their position in the settings: keys may be in any order.
    fn apply_g10k(&mut self) {
        if let (Some(path), Some(types)) = (&self.puppet_path, &mut self.settings.generate_types) {
            path.clone_into(&mut types.puppet);
        }
        let repositories = Arc::make_mut(&mut self.git.repositories);
        for (remote, key) in self.private_keys.drain(..) {
            repositories
                .entry(remote)
                .or_default()
                .private_key
                .get_or_insert(key);
        }
    }

    pub(super) fn refuse_unsupported(&mut self) -> Result<(), R10kError> {
        match std::mem::take(&mut self.unsupported) {
            refused if refused.is_empty() => Ok(()),
            refused => Err(R10kError::Unsupported(refused)),
        }
    }

    fn read_deploy(&mut self, node: &YamlTreeNode) -> Result<(), R10kError> {
        let mut types = GenerateTypes::default();
        for (key, value) in pairs(node)? {
            match key.as_str() {
                "generate_types" if to_bool(value)? => {
                    self.settings.generate_types = Some(types.clone());
                }
                "generate_types" => {}
                "puppet_path" => types.puppet = to_text(value)?.into(),
                "puppet_conf" => types.conf = to_text(value)?.into(),
                "exclude_spec" => self.settings.exclude_spec = to_bool(value)?,
                // A version contains nothing that could be purged; only environments without a
                // branch can, which a deployment of all environments removes.
                "purge_levels" if purges_deployments(value)? => {}
                "purge_levels" => self.ignored.push("deploy.purge_levels".to_owned()),
                // These keep r10k away from files that another program deploys, and here that
                // program is Tutti.
                "purge_allowlist" | "purge_whitelist" | "write_lock" => {
                    self.ignored.push(format!("deploy.{key}"))
                }
                _ => self.read_g10k_key(&key, value, "deploy.")?,
            }
        }
        // The keys may be in any order.
        if let Some(settings) = &mut self.settings.generate_types {
            *settings = types;
        }
        Ok(())
    }
}

fn unknown_setting(key: &str, value: &YamlTreeNode) -> UnsupportedSetting {
    UnsupportedSetting {
        line: value.line,
        what: format!("r10k has no setting {key}"),
    }
}

pub(super) fn value_error(line: u32, what: impl Into<String>) -> R10kError {
    R10kError::Value {
        line,
        what: what.into(),
    }
}

/// The keys of a mapping as texts, with their values.
pub(super) fn pairs(node: &YamlTreeNode) -> Result<Vec<(String, &YamlTreeNode)>, R10kError> {
    let mapping: &YamlMapping = node
        .as_mapping()
        .ok_or_else(|| value_error(node.line, "keys and values are expected here"))?;
    mapping
        .iter()
        .map(|(key, value)| Ok((to_text(key)?, value)))
        .collect()
}

pub(super) fn to_text(node: &YamlTreeNode) -> Result<String, R10kError> {
    match &node.value {
        // r10k treats `:cachedir` and `cachedir` as the same key.
        YamlValue::String(text) | YamlValue::Symbol(text) => {
            Ok(text.trim_start_matches(':').to_owned())
        }
        _ => Err(value_error(node.line, "a text is expected here")),
    }
}

pub(super) fn to_texts(node: &YamlTreeNode) -> Result<Vec<String>, R10kError> {
    let items = node.as_sequence();
    let items = items.ok_or_else(|| value_error(node.line, "a list of texts is expected here"))?;
    items.iter().map(to_text).collect()
}

pub(super) fn to_bool(node: &YamlTreeNode) -> Result<bool, R10kError> {
    match node.value {
        YamlValue::Bool(flag) => Ok(flag),
        _ => Err(value_error(node.line, "true or false is expected here")),
    }
}

/// True if environments whose branches were deleted are to be removed; a single level may be given
/// as a text.
fn purges_deployments(node: &YamlTreeNode) -> Result<bool, R10kError> {
    let levels = match node.as_sequence() {
        Some(_) => to_texts(node)?,
        None => vec![to_text(node)?],
    };
    Ok(levels.iter().any(|level| level == "deployment"))
}

/// Parses a program and its arguments.
fn parse_postrun(node: &YamlTreeNode) -> Result<Vec<String>, R10kError> {
    let what = "postrun is a list of texts: a program and its arguments";
    let words = node
        .as_sequence()
        .ok_or_else(|| value_error(node.line, what))?;
    let word = |node: &YamlTreeNode| match &node.value {
        YamlValue::String(text) if !text.contains('\0') => Ok(text.to_string()),
        _ => Err(value_error(node.line, what)),
    };
    let words: Vec<String> = words.iter().map(word).collect::<Result<_, _>>()?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err(value_error(node.line, what)),
    }
}

/// Parses the pool size: threads in r10k, environments here.
pub(super) fn parse_pool_size(node: &YamlTreeNode) -> Result<usize, R10kError> {
    let size = match node.value {
        YamlValue::Integer(size) if size >= 1 => usize::try_from(size).ok(),
        _ => None,
    };
    let size = size.ok_or_else(|| value_error(node.line, "pool_size is a number from 1 on"))?;
    Ok(size.min(DEPLOYS_AT_ONCE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use code_sources::source::{InvalidBranches, SourceKind};

    #[test]
    fn a_usual_file() {
        let read = R10kSettings::parse(
            "---
:cachedir: '/var/cache/r10k'
sources:
  main:
    remote: 'git@example.com:control.git'
    basedir: '/etc/puppetlabs/code/environments'
    invalid_branches: error
  team:
    remote: 'https://example.com/team.git'
    basedir: '/etc/puppetlabs/code/environments'
    prefix: true
    ignore_branch_prefixes: ['renovate/']
git:
  private_key: '/root/.ssh/id'
  default_ref: main
  repositories:
    - remote: 'https://example.com/team.git'
      private_key: '/root/.ssh/team'
deploy:
  purge_levels: ['deployment']
  generate_types: true
  puppet_path: /usr/bin/puppet
forge:
  baseurl: https://forge.example.com
  authorization_token: Bearer secret
proxy: http://proxy:3128
pool_size: 3
postrun: ['/bin/true', ':x', '$modifiedenvs']
",
        )
        .unwrap();
        let settings = read.settings("/kept");
        assert_eq!(settings.directory, PathBuf::from("/kept"));
        assert_eq!(settings.sources.len(), 2);
        assert_eq!(settings.sources[0].invalid_branches, InvalidBranches::Error);
        assert_eq!(settings.sources[1].prefix.as_deref(), Some("team"));
        assert_eq!(settings.sources[1].ignore_branch_prefixes, ["renovate/"]);
        assert_eq!(
            settings.environments,
            PathBuf::from("/etc/puppetlabs/code/environments")
        );
        assert_eq!(settings.default_ref.as_deref(), Some("main"));
        assert_eq!(settings.forge.baseurl, "https://forge.example.com");
        assert_eq!(read.git.access.proxy.as_deref(), Some("http://proxy:3128"));
        let team = &read.git.repositories["https://example.com/team.git"];
        assert_eq!(team.private_key, Some("/root/.ssh/team".into()));
        assert!(!format!("{settings:?}").contains("secret"));
        let types = settings.generate_types.unwrap();
        assert_eq!(types.puppet, PathBuf::from("/usr/bin/puppet"));
        assert_eq!(types.conf, GenerateTypes::default().conf);
        assert_eq!(settings.at_once, 3);
        assert_eq!(settings.postrun, ["/bin/true", ":x", "$modifiedenvs"]);
        assert!(read.ignored.is_empty());
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_its_line() {
        for (text, said) in [
            ("", "empty"),
            ("sources: {}", "no sources"),
            ("a: [", "while parsing"),
            (
                "sources:\n  a:\n    basedir: /x",
                "line 3: the source a has no remote",
            ),
            ("sources:\n  a:\n    remote: u", "no basedir"),
            (
                "sources:\n  a:\n    remote: u\n    type: hg",
                "line 4: the source a: type is not supported",
            ),
            (
                "sources:\n  a: {type: exec, basedir: /x}",
                "the source a has no command",
            ),
            (
                "sources:\n  a: {type: yaml, basedir: /x, confg: /y}",
                "confg is not supported",
            ),
            (
                "sources:\n  a:\n    filter_commands: x",
                "filter_commands is not supported",
            ),
            ("sauces: {}", "no setting sauces"),
            ("postrun: rm -rf x", "line 1: postrun is a list of texts"),
            (
                "sources:\n  a: {remote: u, basedir: /x, strip_component: '/(/'}",
                "line 2: strip_component: end pattern with unmatched parenthesis",
            ),
            ("postrun: []", "postrun is a list of texts"),
            ("postrun: [a, [b]]", "postrun is a list of texts"),
            ("pool_size: 0", "line 1: pool_size is a number"),
            ("git:\n  github_app_id: x", "line 2: the ID of a GitHub App"),
            ("git:\n  github_app_ttl: 601", "line 2: github_app_ttl is a"),
            ("git: {github_app_ttl: '0'}", "github_app_ttl is a number"),
            ("git: {github_app_ttl: -1}", "github_app_ttl is a number"),
            (
                "git: {github_app_id: 1}",
                "both github_app_id and github_app_key",
            ),
            (
                "git: {repositories: [{remote: u, github_app_key: /k}]}",
                "both github_app_id and github_app_key",
            ),
            (
                "sources:\n  a: {remote: u, basedir: /x}\n  b: {remote: u, basedir: /y}",
                "the same basedir",
            ),
            (
                "sources:\n  a: {remote: u, basedir: /x, puppetfile_name: ../x}",
                "puppetfile_name",
            ),
        ] {
            let error = R10kSettings::parse(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_source_in_subversion() {
        let text = "sources:\n  a: {type: svn, remote: 'svn://x/y', basedir: /x, username: me, \
                    password: secret, invalid_branches: error}";
        let read = R10kSettings::parse(text).unwrap();
        let settings = read.settings("/kept");
        let address = settings.sources[0].svn_address().unwrap();
        assert_eq!(address.url, "svn://x/y");
        assert_eq!(address.login.unwrap().username, "me");
        assert!(!format!("{settings:?}").contains("secret"));
        assert_eq!(read.ignored, ["sources.a.invalid_branches"]);
        for wrong in [
            "sources:\n  a: {type: svn, basedir: /x}",
            "sources:\n  a: {type: svn, remote: 'svn://x', basedir: /x, password: p}",
        ] {
            assert!(R10kSettings::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn lists_of_environments() {
        let read = R10kSettings::parse(
            "sources:
  one: {type: yaml, basedir: /x, config: /etc/one.yaml, prefix: true}
  two: {:type: yamldir, basedir: /x, invalid_branches: error}
  three: {type: :exec, basedir: /x, command: /usr/bin/list}
",
        )
        .unwrap();
        let settings = read.settings("/kept");
        let kinds: Vec<_> = settings.sources.iter().map(|it| it.kind.clone()).collect();
        let yaml = SourceKind::Yaml {
            config: "/etc/one.yaml".into(),
        };
        let directory = SourceKind::YamlDir {
            config: "/etc/puppetlabs/r10k/environments.d".into(),
        };
        let command = "/usr/bin/list".to_owned();
        assert_eq!(kinds, [yaml, directory, SourceKind::Exec { command }]);
        assert_eq!(settings.sources[0].prefix.as_deref(), Some("one"));
        assert_eq!(read.ignored, ["sources.two.invalid_branches"]);
    }
}
