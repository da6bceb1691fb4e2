//! `git` of an `r10k.yaml`: the settings for reaching repositories.
//!
//! Invariant: the settings of one repository are parsed like those of all.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use psych::{YamlTreeNode, YamlValue};

use super::r10k::{
    R10kError, R10kSettings, UnsupportedSetting, pairs, to_text, to_texts, value_error,
};
use crate::defaults::GITHUB_TTL_MAX;
use code_sources::git::{GitAccess, is_server};

// === impl R10kSettings ===

impl R10kSettings {
    pub(super) fn read_git(&mut self, node: &YamlTreeNode) -> Result<(), R10kError> {
        self.read_git_keys(node)?;
        let own = self.git.repositories.values();
        let own = own.map(|own| own.or_else_general(&self.git.access));
        let mut all = own.chain([self.git.access.clone()]);
        if all.any(|it| it.github_app_id.is_some() != it.github_app_key.is_some()) {
            let what = "a GitHub App has both github_app_id and github_app_key";
            return Err(value_error(node.line, what));
        }
        Ok(())
    }

    fn read_git_keys(&mut self, node: &YamlTreeNode) -> Result<(), R10kError> {
        for (key, value) in pairs(node)? {
            match key.as_str() {
                "provider" => {}
                "default_ref" => self.settings.default_ref = Some(to_text(value)?),
                "repositories" => {
                    let (of, ignored) = parse_repositories(value)?;
                    self.git.repositories = Arc::new(of);
                    self.ignored.extend(ignored);
                }
                "credential_hosts" | "credential-hosts" => {
                    self.credential_hosts = parse_hosts(value)?
                }
                "username" => self.ignored.push("git.username".to_owned()),
                key if set_access(&mut self.git.access, key, value)? => {}
                _ => {
                    let what = format!(
                        "git.{key} is not supported yet; git's own settings and credentials are used"
                    );
                    let line = value.line;
                    self.unsupported.push(UnsupportedSetting { line, what });
                }
            }
        }
        Ok(())
    }
}

/// Parses the servers, in addition to those of the control repositories, that a general token is
/// sent to.
fn parse_hosts(node: &YamlTreeNode) -> Result<Vec<String>, R10kError> {
    let named = to_texts(node)?;
    match named.iter().find(|name| !is_server(name)) {
        None => Ok(named),
        Some(wrong_one) => {
            let what =
                format!("git.credential_hosts: {wrong_one:?} is neither a host nor host:port");
            Err(value_error(node.line, what))
        }
    }
}

/// Parses a setting for reaching a repository; `false` for other keys. Code Manager uses dashes.
fn set_access(access: &mut GitAccess, key: &str, value: &YamlTreeNode) -> Result<bool, R10kError> {
    match key {
        "private_key" | "private-key" => access.private_key = Some(to_text(value)?.into()),
        "proxy" => access.proxy = Some(to_text(value)?),
        "oauth_token" | "oauth-token" => access.oauth_token = Some(to_text(value)?.into()),
        "github_app_id" | "github-app-id" => {
            let what = "the ID of a GitHub App is a number";
            access.github_app_id = Some(parse_number(value, what)?.to_string());
        }
        "github_app_key" | "github-app-key" => access.github_app_key = Some(to_text(value)?.into()),
        "github_app_ttl" | "github-app-ttl" => {
            let what = "github_app_ttl is a number of seconds from 1 to 600: GitHub takes no more";
            let ttl = Duration::from_secs(parse_number(value, what)?);
            if ttl.is_zero() || ttl > GITHUB_TTL_MAX {
                return Err(value_error(value.line, what));
            }
            access.github_app_ttl = Some(ttl);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Parses a number, which may also be given as a text.
fn parse_number(node: &YamlTreeNode, what: &str) -> Result<u64, R10kError> {
    let number = match &node.value {
        YamlValue::Integer(number) => u64::try_from(*number).ok(),
        YamlValue::String(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| value_error(node.line, what))
}

/// Settings of single repositories, and the ignored keys.
fn parse_repositories(
    node: &YamlTreeNode,
) -> Result<(HashMap<String, GitAccess>, Vec<String>), R10kError> {
    let items = node.as_sequence();
    let items =
        items.ok_or_else(|| value_error(node.line, "a list of repositories is expected here"))?;
    let mut of = HashMap::with_capacity(items.len());
    let mut ignored = Vec::new();
    for item in items {
        let (mut remote, mut own) = (None, GitAccess::default());
        for (key, value) in pairs(item)? {
            match key.as_str() {
                "remote" => remote = Some(to_text(value)?),
                key if set_access(&mut own, key, value)? => {}
                // r10k accepts this key and ignores it, too.
                "ignore_branch_prefixes" => ignored.push(format!("git.repositories.{key}")),
                key => {
                    let what = format!("git.repositories: {key} is not supported yet");
                    return Err(value_error(value.line, what));
                }
            }
        }
        let remote =
            remote.ok_or_else(|| value_error(item.line, "the repository has no remote"))?;
        of.insert(remote, own);
    }
    Ok((of, ignored))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn servers_that_a_general_token_is_for() {
        let read = R10kSettings::parse(
            "git:
  oauth_token: /etc/token
  credential_hosts: [modules.example.com, 'other.example.com:8443']
sources:
  a: {remote: 'git@git.example.com:ops/control', basedir: /x}
",
        )
        .unwrap();
        for (remote, is_named) in [
            ("https://git.example.com/x", true),
            ("https://modules.example.com/x", true),
            ("https://other.example.com:8443/x", true),
            ("https://evil.example/x", false),
        ] {
            assert_eq!(read.git.has_credentials_for(remote), is_named, "{remote}");
        }
        let wrong =
            "git: {credential_hosts: ['https://x']}\nsources: {a: {remote: u, basedir: /x}}";
        let error = R10kSettings::parse(wrong).unwrap_err().to_string();
        assert!(error.contains("neither a host nor host:port"), "{error}");
    }

    #[test]
    fn apps_of_github() {
        let read = R10kSettings::parse(
            "git:
  github_app_id: '0123'
  github_app_key: /etc/app.pem
  repositories:
    - {remote: 'https://git.example.com/x', github-app-id: 7, github_app_ttl: '300'}
sources:
  a: {remote: u, basedir: /x}
",
        )
        .unwrap();
        let of = |access: &GitAccess| {
            let key = access.github_app_key.clone().unwrap();
            (access.github_app_id.clone(), key, access.github_app_ttl)
        };
        let key = PathBuf::from("/etc/app.pem");
        assert_eq!(
            of(&read.git.access),
            (Some("123".to_owned()), key.clone(), None)
        );
        let own =
            read.git.repositories["https://git.example.com/x"].or_else_general(&read.git.access);
        let ttl = Some(Duration::from_secs(300));
        assert_eq!(of(&own), (Some("7".to_owned()), key, ttl));
    }

    #[test]
    fn all_files_with_secrets_are_known() {
        let text = "
sources:
  main:
    remote: 'https://git.example.com/main.git'
    basedir: /etc/code
    private_key: /etc/keys/main
git:
  private_key: /etc/keys/all
  repositories:
    - remote: 'https://git.example.com/a.git'
      oauth_token: /etc/keys/token
    - remote: 'https://github.com/b/b.git'
      github_app_id: '1'
      github_app_key: /etc/keys/app.pem
";
        let git = R10kSettings::parse(text).unwrap().git;
        let mut files = git.secret_files();
        files.sort();
        let expected = ["all", "app.pem", "main", "token"];
        let expected = expected.map(|it| std::path::Path::new("/etc/keys").join(it));
        assert_eq!(files, expected);
    }
}
