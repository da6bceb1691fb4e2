//! What a catalog says of a file: [`ExpectedFile`].
//!
//! Invariant: a resource with a parameter or value that is not understood here gives no expectation, so that
//! Puppet alone judges it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nix::unistd::{Group, User};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::cached_catalog::SourceMetadata;

/// A file that is to be in a certain state.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExpectedFile {
    pub(super) path: PathBuf,
    pub(super) state: ExpectedState,
    pub(super) attributes: ExpectedAttributes,
    /// Everything below a directory whose source is a directory of the server; `None` if the resource is not
    /// recursive.
    pub(super) tree: Option<ExpectedTree>,
}

/// Existence and content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpectedState {
    Absent,
    /// Anything that exists.
    Present,
    /// Nothing in particular: only the attributes of what exists are checked.
    Unmanaged,
    /// A file with this SHA-256; `None` for any content.
    File(Option<[u8; 32]>),
    Directory,
    /// A symbolic link to this target.
    Link(PathBuf),
}

/// Owner, group and permissions; `None` if the resource does not set them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ExpectedAttributes {
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) mode: Option<u32>,
}

/// The contents of a directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExpectedTree {
    /// States by path relative to the directory.
    pub(super) entries: BTreeMap<PathBuf, ExpectedState>,
    /// True if everything else is to be removed.
    pub(super) purges: bool,
    /// True if what else exists gets the attributes, too.
    pub(super) covers_others: bool,
}

/// What a static catalog says of the source of a resource.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileSource<'c> {
    pub(super) single: Option<&'c SourceMetadata>,
    /// By source.
    pub(super) tree: Option<&'c BTreeMap<String, Vec<SourceMetadata>>>,
}

/// Parameters that change nothing of what is checked.
const IRRELEVANT: [&str; 17] = [
    "path",
    "name",
    "backup",
    "show_diff",
    "force",
    "require",
    "before",
    "notify",
    "subscribe",
    "tag",
    "alias",
    "loglevel",
    "validate_cmd",
    "validate_replacement",
    "provider",
    "selinux_ignore_defaults",
    "sourceselect",
];

/// Parameters that are read.
const READ: [&str; 13] = [
    "ensure",
    "content",
    "source",
    "target",
    "owner",
    "group",
    "mode",
    "recurse",
    "purge",
    "replace",
    "links",
    "checksum",
    "source_permissions",
];

impl ExpectedFile {
    /// Reads a resource; `None` if it is left to Puppet.
    pub(super) fn read(
        path: &Path,
        parameters: &Map<String, Value>,
        source: FileSource<'_>,
    ) -> Option<Self> {
        let is_known =
            |name: &String| IRRELEVANT.contains(&name.as_str()) || READ.contains(&name.as_str());
        let is_plain = path.is_absolute() && path.components().all(is_plain_component);
        if !is_plain || !parameters.keys().all(is_known) || !has_plain_values(parameters) {
            return None;
        }
        let attributes = ExpectedAttributes::read(parameters)?;
        let text = |name: &str| parameters.get(name).and_then(Value::as_str);
        let recurse = match parameters.get("recurse") {
            None => None,
            Some(value) if is_false(value) => None,
            Some(value) if is_true(value) || value == "inf" => Some(true),
            Some(value) if value == "remote" => Some(false),
            Some(_) => return None,
        };
        let (state, tree) = match (text("ensure"), recurse) {
            (Some("absent"), None) => (ExpectedState::Absent, None),
            (_, Some(covers_others)) => {
                // Puppet looks at what else there is only if it recurses on the node
                let purges = covers_others && parameters.get("purge").is_some_and(is_true);
                let tree = ExpectedTree::read(parameters, source, purges, covers_others)?;
                (ExpectedState::Directory, Some(tree))
            }
            (ensure, None) => (expected_state(ensure, parameters, source)?, None),
        };
        Some(Self {
            path: path.to_owned(),
            state,
            attributes,
            tree,
        })
    }
}

impl ExpectedAttributes {
    fn read(parameters: &Map<String, Value>) -> Option<Self> {
        let id = |name: &str, find: fn(&str) -> Option<u32>| match parameters.get(name) {
            None => Some(None),
            Some(Value::Number(number)) => u32::try_from(number.as_u64()?).ok().map(Some),
            Some(Value::String(text)) => match text.parse() {
                Ok(id) => Some(Some(id)),
                Err(_) => find(text).map(Some),
            },
            Some(_) => None,
        };
        let user = |name: &str| Some(User::from_name(name).ok()??.uid.as_raw());
        let group = |name: &str| Some(Group::from_name(name).ok()??.gid.as_raw());
        let mode = match parameters.get("mode") {
            None => None,
            Some(value) => {
                let text = value.as_str()?;
                let is_octal = (1..=5).contains(&text.len())
                    && text.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
                let mode = u32::from_str_radix(text, 8).ok()?;
                Some(mode)
                    .filter(|mode| is_octal && *mode <= 0o7777)
                    .map(Some)?
            }
        };
        Some(Self {
            uid: id("owner", user)?,
            gid: id("group", group)?,
            mode,
        })
    }
}

impl ExpectedTree {
    fn read(
        parameters: &Map<String, Value>,
        source: FileSource<'_>,
        purges: bool,
        covers_others: bool,
    ) -> Option<Self> {
        let ensure = parameters.get("ensure").and_then(Value::as_str);
        if !matches!(ensure, None | Some("directory" | "present")) {
            return None;
        }
        let by_source = source.tree?;
        let all = parameters.get("sourceselect").and_then(Value::as_str) == Some("all");
        if !all && by_source.len() != 1 {
            return None;
        }
        let mut entries = BTreeMap::new();
        for item in sources(parameters)
            .filter_map(|name| by_source.get(name))
            .flatten()
        {
            let path = PathBuf::from(item.relative_path.as_deref()?);
            let is_inside = path.is_relative() && path.components().all(is_plain_component);
            if item.relative_path.as_deref() == Some(".") {
                continue;
            }
            if !is_inside {
                return None;
            }
            // as in Puppet, an earlier source hides a later one
            entries.entry(path).or_insert(source_state(item)?);
        }
        Some(Self {
            entries,
            purges,
            covers_others,
        })
    }
}

/// The sources of a resource, in order.
fn sources(parameters: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let given = parameters.get("source");
    let several = given.and_then(Value::as_array).into_iter().flatten();
    given.into_iter().chain(several).filter_map(Value::as_str)
}

/// The state that a resource without recursion asks for.
fn expected_state(
    ensure: Option<&str>,
    parameters: &Map<String, Value>,
    source: FileSource<'_>,
) -> Option<ExpectedState> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    let keeps_content = parameters.get("replace").is_some_and(is_false);
    let content = match text("content") {
        // a checksum in place of the content
        Some(text) if text.starts_with('{') && text.contains('}') => return None,
        Some(text) => Some(ExpectedState::File(Some(Sha256::digest(text).into()))),
        None => None,
    };
    let of_source = match (parameters.contains_key("source"), source.single) {
        (false, _) => None,
        // not described in the catalog: only the server knows it
        (true, None) => return None,
        (true, Some(metadata)) => Some(source_state(metadata)?),
    };
    let state = match (ensure, content.or(of_source)) {
        (Some("link"), None) => ExpectedState::Link(PathBuf::from(text("target")?)),
        (Some("directory"), None) => ExpectedState::Directory,
        (Some("file"), None) => ExpectedState::File(None),
        (Some("present"), None) => ExpectedState::Present,
        (None, None) => match text("target") {
            Some(target) => ExpectedState::Link(PathBuf::from(target)),
            None => ExpectedState::Unmanaged,
        },
        (None | Some("file" | "present"), Some(state @ ExpectedState::File(_))) => state,
        (None | Some("directory" | "present"), Some(ExpectedState::Directory)) => {
            ExpectedState::Directory
        }
        (None | Some("link" | "present"), Some(state @ ExpectedState::Link(_))) => state,
        (Some(target), None) if target.starts_with('/') => {
            ExpectedState::Link(PathBuf::from(target))
        }
        _ => return None,
    };
    Some(match state {
        ExpectedState::File(Some(_)) if keeps_content => ExpectedState::Present,
        state => state,
    })
}

/// The state of a file that is a copy of one of the server.
fn source_state(metadata: &SourceMetadata) -> Option<ExpectedState> {
    match metadata.kind.as_str() {
        "directory" => Some(ExpectedState::Directory),
        "link" => Some(ExpectedState::Link(PathBuf::from(
            metadata.destination.as_deref()?,
        ))),
        "file" if metadata.checksum.kind == "sha256" => {
            let digits = metadata.checksum.value.strip_prefix("{sha256}")?;
            let sha256: pxp::action::Sha256 = digits.parse().ok()?;
            Some(ExpectedState::File(Some(*sha256.as_bytes())))
        }
        _ => None,
    }
}

/// True if the values of the parameters are of kinds that are understood, and ask for nothing unusual.
fn has_plain_values(parameters: &Map<String, Value>) -> bool {
    let text_or_absent = |name: &str| parameters.get(name).is_none_or(Value::is_string);
    let is_one_of = |name: &str, allowed: &[&str]| {
        let value = parameters.get(name);
        value.is_none_or(|value| value.as_str().is_some_and(|text| allowed.contains(&text)))
    };
    ["ensure", "content", "target"]
        .into_iter()
        .all(text_or_absent)
        && is_one_of("links", &["manage"])
        && is_one_of("checksum", &["sha256"])
        && is_one_of("source_permissions", &["ignore"])
        && ["replace", "purge"].into_iter().all(|name| {
            let value = parameters.get(name);
            value.is_none_or(|value| is_true(value) || is_false(value))
        })
}

fn is_true(value: &Value) -> bool {
    matches!(value, Value::Bool(true)) || matches!(value.as_str(), Some("true" | "yes"))
}

fn is_false(value: &Value) -> bool {
    matches!(value, Value::Bool(false)) || matches!(value.as_str(), Some("false" | "no"))
}

fn is_plain_component(component: std::path::Component<'_>) -> bool {
    use std::path::Component;
    matches!(component, Component::RootDir | Component::Normal(_))
}
