//! Conversion of the arguments of `mod`. Main function: [`to_declaration`].
//!
//! Invariant: an unknown option is an error, and so is one that contradicts another, since a
//! deployment that ignored it would deploy other code than requested.

use std::collections::HashMap;

use crate::error::{PuppetfileError, PuppetfileErrors, PuppetfilePosition};
use crate::model::{ForgeVersion, GitRef, ModName, ModuleDeclaration, ModuleSource, Puppetfile};
use crate::parser::parse_inner_path;
use crate::value::PuppetfileValue;

/// An argument of a statement such as `mod`.
pub(crate) enum StatementArgument {
    Plain(PuppetfileValue),
    Option(String, PuppetfileValue),
    /// Options in braces.
    Options(Vec<(String, PuppetfileValue)>),
}

/// The options of a module that were not used yet.
struct ModuleOptions {
    at: PuppetfilePosition,
    unused: Vec<(String, PuppetfileValue)>,
}

type ModuleResult<T> = Result<T, PuppetfileError>;

/// Keys that determine the kind of the source, and values of `type`.
const KINDS: &[&str] = &["git", "svn", "local", "tarball", "forge"];

/// Builds a module from the arguments of `mod`.
pub(crate) fn to_declaration(
    at: PuppetfilePosition,
    arguments: Vec<(PuppetfilePosition, StatementArgument)>,
) -> ModuleResult<ModuleDeclaration> {
    let mut arguments = arguments.into_iter();
    let Some((_, StatementArgument::Plain(PuppetfileValue::Text(title)))) = arguments.next() else {
        return Err(PuppetfileError::new(
            at,
            "mod takes a module's name first, a text",
        ));
    };
    let name = parse_mod_name(&title, at)?;
    let mut options = ModuleOptions {
        at,
        unused: Vec::new(),
    };
    let mut version = None;
    for (at, argument) in arguments {
        match argument {
            StatementArgument::Option(key, value) => options.add(key, value)?,
            StatementArgument::Options(pairs) => {
                for (key, value) in pairs {
                    options.add(key, value)?;
                }
            }
            StatementArgument::Plain(value) if version.is_none() && options.unused.is_empty() => {
                version = Some((at, value));
            }
            StatementArgument::Plain(value) => {
                let what = format!("{} stands where an option is expected", value.kind_name());
                return Err(PuppetfileError::new(at, what));
            }
        }
    }
    let install_path = match options.take_text("install_path")? {
        Some(path) => Some(parse_inner_path("install_path", &path, at)?),
        None => None,
    };
    let exclude_spec = options.take_flag("exclude_spec")?;
    let source = match version {
        Some((at, version)) => release_source(&name, &version, at)?,
        None if options.unused.is_empty() => unpinned_source(&name, at)?,
        None => options.take_source(&name)?,
    };
    options.check_all_used()?;
    Ok(ModuleDeclaration {
        name,
        source,
        install_path,
        exclude_spec,
        at,
    })
}

/// Reports modules that share a directory.
pub(crate) fn check_directories(file: &Puppetfile, mistakes: &mut PuppetfileErrors) {
    let mut taken: HashMap<String, &ModuleDeclaration> = HashMap::new();
    for module in &file.mods {
        let directory = file.module_directory(module);
        match taken.get(&directory) {
            Some(first) => mistakes.push(PuppetfileError::new(
                module.at,
                format!(
                    "{} goes to {directory}, as does {} in line {}",
                    module.name, first.name, first.at.line
                ),
            )),
            None => drop(taken.insert(directory, module)),
        }
    }
}

fn parse_mod_name(title: &str, at: PuppetfilePosition) -> ModuleResult<ModName> {
    let is_word = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let parts = title.split_once(['/', '-']);
    let (owner, name) = match parts {
        Some((owner, name)) => (Some(owner), name),
        None => (None, title),
    };
    if !is_word(name) || owner.is_some_and(|owner| !is_word(owner)) {
        let what = format!(
            "{title:?} is no module's name: owner/name, owner-name or name, of letters, digits and \
             underscores"
        );
        return Err(PuppetfileError::new(at, what));
    }
    Ok(ModName {
        owner: owner.map(str::to_owned),
        name: name.to_owned(),
    })
}

fn check_forge_name(name: &ModName, at: PuppetfilePosition) -> ModuleResult<()> {
    if name.owner.is_some() {
        return Ok(());
    }
    let what = format!(
        "a module of the Forge is named owner/{name}; for another source add git:, tarball: or local:",
    );
    Err(PuppetfileError::new(at, what))
}

fn unpinned_source(name: &ModName, at: PuppetfilePosition) -> ModuleResult<ModuleSource> {
    check_forge_name(name, at)?;
    Ok(ModuleSource::Forge(ForgeVersion::Unpinned))
}

fn release_source(
    name: &ModName,
    version: &PuppetfileValue,
    at: PuppetfilePosition,
) -> ModuleResult<ModuleSource> {
    check_forge_name(name, at)?;
    let version = match version {
        PuppetfileValue::Symbol(word) | PuppetfileValue::Text(word) if word == "latest" => {
            ForgeVersion::Latest
        }
        PuppetfileValue::Text(text) if is_version(text) => ForgeVersion::Exact(text.clone()),
        PuppetfileValue::Text(text) => {
            let what = format!(
                "{text:?} is no version of the Forge: three numbers as in '1.2.3', or :latest; ranges are \
                 not resolved"
            );
            return Err(PuppetfileError::new(at, what));
        }
        other => {
            let what = format!("a version is a text in quotes, not {}", other.kind_name());
            return Err(PuppetfileError::new(at, what));
        }
    };
    Ok(ModuleSource::Forge(version))
}

/// True for a version: `1.2.3`, `1.2.3-rc1`, `1.2.3+build`.
fn is_version(text: &str) -> bool {
    let (core, rest) = match text.find(['-', '+']) {
        Some(index) => text.split_at(index),
        None => (text, ""),
    };
    let numbers: Vec<&str> = core.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_rest = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.');
    numbers.len() == 3
        && numbers.iter().all(is_number)
        && rest.len() != 1
        && rest.bytes().all(is_rest)
}

// === impl ModuleOptions ===

impl ModuleOptions {
    fn add(&mut self, key: String, value: PuppetfileValue) -> ModuleResult<()> {
        if self.unused.iter().any(|(known, _)| *known == key) {
            return Err(self.error(format!("{key} is given twice")));
        }
        self.unused.push((key, value));
        Ok(())
    }

    fn error(&self, what: impl Into<String>) -> PuppetfileError {
        PuppetfileError::new(self.at, what)
    }

    fn take(&mut self, key: &str) -> Option<PuppetfileValue> {
        let index = self.unused.iter().position(|(known, _)| known == key)?;
        Some(self.unused.remove(index).1)
    }

    fn take_text(&mut self, key: &str) -> ModuleResult<Option<String>> {
        match self.take(key) {
            None | Some(PuppetfileValue::Nil) => Ok(None),
            Some(PuppetfileValue::Text(text)) if text.contains('\0') => {
                Err(self.error(format!("{key} has a NUL in it")))
            }
            // An address or a branch that begins with a dash would be an option of the programs
            // that receive it.
            Some(PuppetfileValue::Text(text)) if text.is_empty() || text.starts_with('-') => {
                Err(self.error(format!("{key}: {text:?} cannot be used")))
            }
            Some(PuppetfileValue::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.error(format!("{key} is a text, not {}", other.kind_name()))),
        }
    }

    fn require_text(&mut self, key: &str) -> ModuleResult<String> {
        let text = self.take_text(key)?;
        text.ok_or_else(|| self.error(format!("{key} is missing")))
    }

    fn take_flag(&mut self, key: &str) -> ModuleResult<Option<bool>> {
        match self.take(key) {
            None | Some(PuppetfileValue::Nil) => Ok(None),
            Some(PuppetfileValue::Bool(flag)) => Ok(Some(flag)),
            Some(other) => {
                Err(self.error(format!("{key} is true or false, not {}", other.kind_name())))
            }
        }
    }

    /// Builds the source from the options that determine its kind.
    fn take_source(&mut self, name: &ModName) -> ModuleResult<ModuleSource> {
        let named: Vec<&str> = KINDS
            .iter()
            .copied()
            .filter(|kind| self.unused.iter().any(|(key, _)| key == kind))
            .collect();
        match (self.take_kind()?.as_deref(), named.as_slice()) {
            (None, ["git"]) => {
                let remote = self.require_text("git")?;
                self.take_git(remote)
            }
            (Some("git"), []) => {
                let remote = self.require_text("source")?;
                self.take_git(remote)
            }
            (None, ["svn"]) => {
                let remote = self.require_text("svn")?;
                self.take_svn(remote)
            }
            (Some("svn"), []) => {
                let remote = self.require_text("source")?;
                self.take_svn(remote)
            }
            (Some("tarball"), []) => self.take_tarball(),
            (Some("local"), []) => Ok(ModuleSource::Local),
            (None, ["local"]) => match self.take_flag("local")? {
                Some(true) => Ok(ModuleSource::Local),
                _ => Err(self.error("local: false names no other source")),
            },
            (Some("forge"), []) => match self.take("version") {
                Some(version) => release_source(name, &version, self.at),
                None => unpinned_source(name, self.at),
            },
            (Some(other), []) => Err(self.error(format!(
                "there is no type {other:?}; there are git, svn, tarball, local and forge"
            ))),
            (None, []) => match self.take("version") {
                Some(version) => release_source(name, &version, self.at),
                None => Err(self.missing_source()),
            },
            _ => Err(self.error(format!("these are several sources: {}", named.join(", ")))),
        }
    }

    fn missing_source(&self) -> PuppetfileError {
        let keys: Vec<&str> = self.unused.iter().map(|(key, _)| key.as_str()).collect();
        self.error(format!(
            "{} name no source; one of git:, svn:, local: or type: is missing",
            keys.join(", ")
        ))
    }

    /// The value of `type`, a text or a symbol.
    fn take_kind(&mut self) -> ModuleResult<Option<String>> {
        match self.take("type") {
            Some(PuppetfileValue::Symbol(kind)) => Ok(Some(kind)),
            Some(other) => {
                self.unused.push(("type".to_owned(), other));
                self.take_text("type")
            }
            None => Ok(None),
        }
    }

    fn take_git(&mut self, remote: String) -> ModuleResult<ModuleSource> {
        let mut references = Vec::new();
        for key in ["ref", "branch", "tag", "commit", "version"] {
            if self.take_control_branch(key)? {
                references.push((key, GitRef::ControlBranch));
            } else if let Some(text) = self.take_text(key)? {
                references.push((
                    key,
                    match key {
                        "branch" => GitRef::Branch(text),
                        "tag" => GitRef::Tag(text),
                        "commit" => GitRef::Commit(text),
                        _ => GitRef::Any(text),
                    },
                ));
            }
        }
        if let [(one, _), (other, _), ..] = references.as_slice() {
            let what =
                format!("{one} and {other} are both given; one of them names what is wanted");
            return Err(self.error(what));
        }
        let reference = references.pop().map_or(GitRef::Unnamed, |(_, named)| named);
        let default_branch = match self.take_text("default_branch_override")? {
            Some(branch) => {
                self.take("default_branch");
                Some(branch)
            }
            None => self.take_text("default_branch")?,
        };
        Ok(ModuleSource::Git {
            remote,
            reference,
            default_branch,
        })
    }

    /// True if an option is `:control_branch`; it is then removed.
    fn take_control_branch(&mut self, key: &str) -> ModuleResult<bool> {
        let given = self.unused.iter().find(|(known, _)| known == key);
        match given {
            Some((_, PuppetfileValue::Symbol(name))) if name == "control_branch" => {
                self.take(key);
                Ok(true)
            }
            Some((_, PuppetfileValue::Symbol(name))) => Err(self.error(format!(
                "{key}: :{name} is unknown; a text, or :control_branch"
            ))),
            _ => Ok(false),
        }
    }

    fn take_svn(&mut self, remote: String) -> ModuleResult<ModuleSource> {
        let mut revision = None;
        for key in ["rev", "revision", "version"] {
            if let Some(given) = self.take_text(key)? {
                if revision.is_some() {
                    return Err(self.error("the revision is given twice"));
                }
                revision = Some(given);
            }
        }
        Ok(ModuleSource::Svn {
            remote,
            revision,
            username: self.take_text("username")?,
            password: self.take_text("password")?,
        })
    }

    fn take_tarball(&mut self) -> ModuleResult<ModuleSource> {
        let location = self.require_text("source")?;
        let sha256 = match (self.take_text("version")?, self.take_text("checksum")?) {
            (Some(_), Some(_)) => {
                let what = "version and checksum of a tarball are the same; one of them is enough";
                return Err(self.error(what));
            }
            (version, checksum) => version.or(checksum).map(|it| it.to_ascii_lowercase()),
        };
        let is_sha256 =
            |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if sha256.as_ref().is_some_and(|text| !is_sha256(text)) {
            let what = "the version of a tarball is its SHA-256, 64 hexadecimal digits";
            return Err(self.error(what));
        }
        Ok(ModuleSource::Tarball { location, sha256 })
    }

    fn check_all_used(&self) -> ModuleResult<()> {
        match self.unused.first() {
            None => Ok(()),
            Some((key, _)) => Err(self.error(format!(
                "the option {key} is not known for this kind of source"
            ))),
        }
    }
}
