//! The `sources` of an `r10k.yaml`: [`parse_source`].
//!
//! Invariant: a key without a meaning for the source's type is reported as ignored, since r10k
//! ignores it too; an unknown key is refused.

use std::path::PathBuf;

use psych::{YamlTreeNode, YamlValue};

use super::R10kError;
use super::g10k::{self, G10kKey};
use super::r10k::{UnsupportedSetting, pairs, to_text, to_texts, value_error};
use code_sources::source::{BranchStrip, EnvironmentSource, InvalidBranches, SourceKind};
use code_sources::svn::SvnLogin;

/// Default paths of lists in r10k.
const YAML: &str = "/etc/puppetlabs/r10k/environments.yaml";
const YAML_DIR: &str = "/etc/puppetlabs/r10k/environments.d";

/// A parsed source.
pub(super) struct ParsedR10kSource {
    pub(super) source: EnvironmentSource,
    pub(super) basedir: PathBuf,
    /// Keys that have no effect.
    pub(super) ignored: Vec<String>,
    /// Keys that are refused.
    pub(super) unsupported: Vec<UnsupportedSetting>,
    /// The private key for its repository, as in g10k; `None`: none is set.
    pub(super) private_key: Option<PathBuf>,
}

/// Keys of all sources; the following ones are of the types with branches or lists.
const COMMON: &[&str] = &["type", "basedir", "prefix", "strip_component"];
const OF_GIT: &[&str] = &[
    "remote",
    "puppetfile_name",
    "ignore_branch_prefixes",
    "invalid_branches",
    "filter_command",
];
const OF_SVN: &[&str] = &[
    "remote",
    "puppetfile_name",
    "ignore_branch_prefixes",
    "username",
    "password",
];
const OF_LISTS: &[&str] = &["config", "command"];

/// Parses a source.
pub(super) fn parse_source(name: &str, node: &YamlTreeNode) -> Result<ParsedR10kSource, R10kError> {
    let given = pairs(node)?;
    let of = |key: &str| {
        let found = given.iter().find(|(known, _)| known == key);
        found.map(|(_, node)| *node)
    };
    let text = |key: &str| of(key).map(to_text).transpose();
    let missing = |key| value_error(node.line, format!("the source {name} has no {key}"));
    let mut source = EnvironmentSource::new(name, "");
    let (kind, known): (SourceKind, &[&str]) = match text("type")?.as_deref() {
        None | Some("git") => (SourceKind::Git, OF_GIT),
        Some("yaml") => {
            let config = text("config")?.unwrap_or_else(|| YAML.to_owned()).into();
            (SourceKind::Yaml { config }, &["config"])
        }
        Some("yamldir") => {
            let config = text("config")?
                .unwrap_or_else(|| YAML_DIR.to_owned())
                .into();
            (SourceKind::YamlDir { config }, &["config"])
        }
        Some("svn") => {
            let login = SvnLogin::from_settings(text("username")?, text("password")?);
            let login = login
                .map_err(|what| value_error(node.line, format!("the source {name}: {what}")))?;
            (SourceKind::Svn { login }, OF_SVN)
        }
        Some("exec") => {
            let command = text("command")?.ok_or_else(|| missing("command"))?;
            (SourceKind::Exec { command }, &["command"])
        }
        Some(_) => {
            let line = of("type").map_or(node.line, |node| node.line);
            let what = format!(
                "the source {name}: type is not supported; there are git, svn, yaml, yamldir and exec"
            );
            return Err(value_error(line, what));
        }
    };
    source.kind = kind;
    let (mut ignored, mut unsupported, mut private_key) = (Vec::new(), Vec::new(), None);
    for (key, value) in &given {
        let mut others = [OF_GIT, OF_SVN, OF_LISTS].into_iter();
        let is_of_another = others.any(|keys| keys.contains(&key.as_str()));
        if known.contains(&key.as_str()) || COMMON.contains(&key.as_str()) {
            set_key(&mut source, key, value)?;
        } else if is_of_another {
            ignored.push(format!("sources.{name}.{key}"));
        } else {
            match g10k::interpret_source_key(name, key, value)? {
                G10kKey::Ignored => ignored.push(format!("sources.{name}.{key}")),
                G10kKey::PrivateKey(path) => private_key = Some(path),
                G10kKey::Refused(refused) => unsupported.push(refused),
                _ => unsupported.push(UnsupportedSetting {
                    line: value.line,
                    what: format!("the source {name}: {key} is not supported yet"),
                }),
            }
        }
    }
    let lacks_remote = known.contains(&"remote") && source.remote.is_empty();
    if (lacks_remote || of("basedir").is_none()) && !unsupported.is_empty() {
        // The missing key may be a misspelt one.
        return Err(R10kError::Unsupported(unsupported));
    }
    if lacks_remote {
        return Err(missing("remote"));
    }
    Ok(ParsedR10kSource {
        source,
        basedir: text("basedir")?.ok_or_else(|| missing("basedir"))?.into(),
        ignored,
        unsupported,
        private_key,
    })
}

fn set_key(
    source: &mut EnvironmentSource,
    key: &str,
    value: &YamlTreeNode,
) -> Result<(), R10kError> {
    match key {
        "remote" => source.remote = to_text(value)?,
        "prefix" => source.prefix = parse_prefix(&source.name, value)?,
        "strip_component" => source.strip_component = Some(parse_strip(value)?),
        "ignore_branch_prefixes" => source.ignore_branch_prefixes = to_texts(value)?,
        "puppetfile_name" => source.puppetfile = parse_file_name(value)?,
        "invalid_branches" => source.invalid_branches = parse_invalid_branches(value)?,
        "filter_command" => source.filter_command = Some(to_text(value)?),
        // These keys were parsed before.
        _ => {}
    }
    Ok(())
}

/// Parses the prefix of a source; `true` is the source's own name.
pub(super) fn parse_prefix(name: &str, node: &YamlTreeNode) -> Result<Option<String>, R10kError> {
    match node.value {
        YamlValue::Bool(true) => Ok(Some(name.to_owned())),
        YamlValue::Bool(false) | YamlValue::Null => Ok(None),
        _ => to_text(node).map(Some),
    }
}

fn parse_strip(node: &YamlTreeNode) -> Result<BranchStrip, R10kError> {
    let strip = BranchStrip::parse(&to_text(node)?);
    strip.map_err(|error| value_error(node.line, format!("strip_component: {error}")))
}

fn parse_file_name(node: &YamlTreeNode) -> Result<String, R10kError> {
    let name = to_text(node)?;
    match name.parse::<puppetfile::InnerPath>() {
        Ok(path) => Ok(path.to_string()),
        Err(error) => Err(value_error(node.line, format!("puppetfile_name: {error}"))),
    }
}

pub(super) fn parse_invalid_branches(node: &YamlTreeNode) -> Result<InvalidBranches, R10kError> {
    match to_text(node)?.as_str() {
        "correct_and_warn" => Ok(InvalidBranches::CorrectAndWarn),
        "correct" => Ok(InvalidBranches::Correct),
        "error" => Ok(InvalidBranches::Error),
        _ => Err(value_error(
            node.line,
            "invalid_branches is correct_and_warn, correct or error",
        )),
    }
}
