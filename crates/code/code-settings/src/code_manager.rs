//! Code Manager's settings, as in Puppet Enterprise's Hiera data: [`parse`].
//!
//! The keys are `puppet_enterprise::master::code_manager::*`, and `r10k_remote` and
//! `r10k_private_key` of `puppet_enterprise::profile::master`. Invariant, as for r10k: an
//! unsupported key that would change the result of a deployment is refused, one that would not is
//! reported as ignored. Other keys of the file do not belong to Code Manager.

use std::path::PathBuf;
use std::sync::Arc;

use psych::{YamlTreeNode, YamlValue};

use super::r10k::{R10kError, R10kSettings, pairs, parse_pool_size, to_bool, to_text, value_error};
use super::sources::{parse_invalid_branches, parse_prefix};
use code_sources::source::{EnvironmentSource, InvalidBranches};

/// Prefix of Code Manager's keys.
const PREFIX: &str = "puppet_enterprise::master::code_manager::";
const PROFILE: &str = "puppet_enterprise::profile::master::";

/// Directory of environments of Code Manager's file sync.
const ENVIRONMENTS: &str = "/etc/puppetlabs/code/environments";

/// Keys that affect Code Manager's operation, but not the deployed code.
const IRRELEVANT_KEYS: &[&str] = &[
    "authenticate_webhook",
    "cachedir",
    "datadir",
    "deploy_ttl",
    "download_pool_size",
    "environmentdir",
    "file_sync_auto_commit",
    "file_sync_repo_dir",
    "file_sync_repo_id",
    "full_deploy",
    "hostcrl",
    "hostcert",
    "hostprivkey",
    "localcacert",
    "r10k_trace",
    "timeouts_deploy",
    "timeouts_fetch",
    "timeouts_hook",
    "timeouts_shutdown",
    "timeouts_sync",
    "timeouts_wait",
    "versioned_deploys",
    "webserver_ssl_host",
    "webserver_ssl_port",
];

/// A program that receives the results of deployments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookAddress {
    /// URL that receives the results.
    pub url: String,
    /// True if requests present the server's certificate.
    pub use_client_ssl: bool,
}

/// True if a file has settings of Code Manager.
pub(super) fn has_code_manager_settings(root: &YamlTreeNode) -> bool {
    let keys = root
        .as_mapping()
        .into_iter()
        .flat_map(|mapping| mapping.iter());
    let texts = keys.filter_map(|(key, _)| to_text(key).ok());
    let mut texts = texts;
    texts.any(|key| key.starts_with(PREFIX) || key == format!("{PROFILE}r10k_remote"))
}

pub(super) fn parse(root: &YamlTreeNode) -> Result<R10kSettings, R10kError> {
    let mut read = R10kSettings::empty();
    let mut remote = None;
    let mut sources = Vec::new();
    // Code Manager's default, which differs from r10k's.
    let mut invalid = InvalidBranches::Error;
    for (key, value) in pairs(root)? {
        let own = key.strip_prefix(PREFIX);
        let key = own
            .or_else(|| key.strip_prefix(PROFILE))
            .unwrap_or_default();
        let is_profile = own.is_none();
        match key {
            "r10k_remote" if is_profile => remote = Some(to_text(value)?),
            "r10k_private_key" if is_profile => {
                read.git.access.private_key = Some(to_text(value)?.into());
            }
            _ if is_profile => {}
            "remote" => remote = Some(to_text(value)?),
            "sources" => sources = parse_sources(value)?,
            "invalid_branches" => invalid = parse_invalid_branches(value)?,
            "git_settings" => read.read_git(value)?,
            "forge_settings" => read.read_forge(value)?,
            "proxy" => read.settings.proxy = Some(to_text(value)?),
            "deploy_pool_size" => read.settings.at_once = parse_pool_size(value)?,
            "post_environment_hooks" => read.settings.hooks = parse_hooks(value)?,
            key if IRRELEVANT_KEYS.contains(&key) => read.ignored.push(key.to_owned()),
            key => {
                return Err(value_error(
                    value.line,
                    format!("{key} is not supported yet"),
                ));
            }
        }
    }
    if let (Some(remote), true) = (remote, sources.is_empty()) {
        sources.push(EnvironmentSource::new("puppet", remote));
    }
    if sources.is_empty() {
        read.refuse_unsupported()?;
        return Err(value_error(
            root.line,
            format!("there is neither {PREFIX}sources nor {PREFIX}remote"),
        ));
    }
    for mut source in sources {
        source.invalid_branches = invalid;
        read.settings.sources.push(Arc::new(source));
    }
    read.settings.environments = PathBuf::from(ENVIRONMENTS);
    Ok(read)
}

fn parse_sources(node: &YamlTreeNode) -> Result<Vec<EnvironmentSource>, R10kError> {
    let each = pairs(node)?.into_iter().map(|(name, value)| {
        let mut source = EnvironmentSource::new(name.clone(), "");
        for (key, value) in pairs(value)? {
            match key.as_str() {
                "remote" => source.remote = to_text(value)?,
                "prefix" => source.prefix = parse_prefix(&name, value)?,
                key => {
                    let what = format!("the source {name}: {key} is not supported yet");
                    return Err(value_error(value.line, what));
                }
            }
        }
        match source.remote.is_empty() {
            true => Err(value_error(
                value.line,
                format!("the source {name} has no remote"),
            )),
            false => Ok(source),
        }
    });
    each.collect()
}

/// Parses a list of hooks, or a single one.
fn parse_hooks(node: &YamlTreeNode) -> Result<Vec<HookAddress>, R10kError> {
    let items = match &node.value {
        YamlValue::Sequence(items) => items.as_slice(),
        _ => std::slice::from_ref(node),
    };
    let each = items.iter().map(|item| {
        let (mut url, mut use_client_ssl) = (None, false);
        for (key, value) in pairs(item)? {
            match key.as_str() {
                "url" => url = Some(to_text(value)?),
                "use-client-ssl" | "use_client_ssl" => use_client_ssl = to_bool(value)?,
                key => {
                    return Err(value_error(
                        value.line,
                        format!("a hook has no setting {key}"),
                    ));
                }
            }
        }
        let url = url.ok_or_else(|| value_error(item.line, "the hook has no url"))?;
        Ok(HookAddress {
            url,
            use_client_ssl,
        })
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "---
puppet_enterprise::profile::master::code_manager_auto_configure: true
puppet_enterprise::master::code_manager::sources:
  main:
    remote: git@git.example.com:ops/control.git
  team:
    remote: git@git.example.com:team/control.git
    prefix: true
puppet_enterprise::master::code_manager::git_settings:
  private-key: /etc/puppetlabs/puppetserver/ssh/id
  repositories:
    - remote: git@git.example.com:team/control.git
      private-key: /etc/puppetlabs/puppetserver/ssh/team
    - remote: https://git.example.com/ops/x.git
      proxy: ''
      oauth_token: /etc/token
puppet_enterprise::master::code_manager::forge_settings:
  baseurl: https://forge.example.com
  authorization_token: Bearer secret
puppet_enterprise::master::code_manager::proxy: http://proxy:3128
puppet_enterprise::master::code_manager::deploy_pool_size: 3
puppet_enterprise::master::code_manager::timeouts_deploy: 900
puppet_enterprise::master::code_manager::post_environment_hooks:
  - url: https://chat.example.com/x
    use-client-ssl: true
puppet_enterprise::master::code_manager::authenticate_webhook: false
ntp::servers: [a, b]
";

    #[test]
    fn settings_are_read_as_they_are() {
        let read = R10kSettings::parse(FILE).unwrap();
        let settings = read.settings("/kept");
        assert_eq!(settings.sources.len(), 2);
        assert_eq!(settings.sources[0].prefix, None);
        assert_eq!(settings.sources[1].prefix.as_deref(), Some("team"));
        assert_eq!(settings.sources[1].invalid_branches, InvalidBranches::Error);
        assert_eq!(settings.environments, PathBuf::from(ENVIRONMENTS));
        assert_eq!(settings.at_once, 3);
        assert_eq!(settings.forge.baseurl, "https://forge.example.com");
        assert_eq!(read.git.access.proxy.as_deref(), Some("http://proxy:3128"));
        let team = &read.git.repositories["git@git.example.com:team/control.git"];
        let key = PathBuf::from("/etc/puppetlabs/puppetserver/ssh/team");
        assert_eq!(team.private_key, Some(key));
        let x = &read.git.repositories["https://git.example.com/ops/x.git"];
        assert_eq!(x.proxy.as_deref(), Some(""));
        assert_eq!(x.oauth_token, Some("/etc/token".into()));
        let hook = HookAddress {
            url: "https://chat.example.com/x".to_owned(),
            use_client_ssl: true,
        };
        assert_eq!(settings.hooks, [hook]);
        assert_eq!(read.ignored, ["timeouts_deploy", "authenticate_webhook"]);
    }

    #[test]
    fn one_remote_is_enough() {
        let text = "puppet_enterprise::profile::master::r10k_remote: git@git.example.com:c\n\
                    puppet_enterprise::profile::master::r10k_private_key: /etc/id\n";
        let read = R10kSettings::parse(text).unwrap();
        assert_eq!(
            read.settings("/kept").sources[0].remote,
            "git@git.example.com:c"
        );
        assert_eq!(read.git.access.private_key, Some("/etc/id".into()));
    }

    #[test]
    fn what_cannot_be_done_is_refused_with_its_line() {
        for (text, said) in [
            ("proxy: x", "line 1: there is neither"),
            (
                "sources: {a: {remote: u, branch: x}}",
                "branch is not supported",
            ),
            ("sources: {a: {prefix: x}}", "the source a has no remote"),
            ("remote: [u]", "a text is expected"),
            ("remotes: u", "remotes is not supported"),
            (
                "git_settings: {github_app: 7}",
                "github_app is not supported",
            ),
            ("git_settings: {github_app_id: 7}", "github_app_key"),
            (
                "git_settings: {repositories: [{private-key: x}]}",
                "no remote",
            ),
            ("post_environment_hooks: [{use-client-ssl: true}]", "no url"),
        ] {
            let error = R10kSettings::parse(&format!("{PREFIX}{text}\n")).unwrap_err();
            assert!(error.to_string().contains(said), "{text}: {error}");
        }
    }
}
