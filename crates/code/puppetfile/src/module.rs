//! Conversion of the arguments of `mod`. Main function: [`module`].
//!
//! Invariant: an unknown option is an error, and so is one that contradicts another, since a
//! deployment that ignored it would deploy other code than requested.

use std::collections::HashMap;

use crate::mistake::{Mistake, Mistakes, Position};
use crate::model::{ForgeVersion, GitRef, Mod, ModName, Puppetfile, Source};
use crate::parser::inner_path;
use crate::value::Value;

/// An argument of a statement such as `mod`.
pub(crate) enum Argument {
    Plain(Value),
    Option(String, Value),
    /// Options in braces.
    Options(Vec<(String, Value)>),
}

/// The options of a module that were not used yet.
struct Options {
    at: Position,
    given: Vec<(String, Value)>,
}

type Said<T> = Result<T, Mistake>;

/// Keys that determine the kind of the source, and values of `type`.
const KINDS: &[&str] = &["git", "svn", "local", "tarball", "forge"];

/// Builds a module from the arguments of `mod`.
pub(crate) fn module(at: Position, arguments: Vec<(Position, Argument)>) -> Said<Mod> {
    let mut arguments = arguments.into_iter();
    let Some((_, Argument::Plain(Value::Text(title)))) = arguments.next() else {
        return Err(Mistake::new(at, "mod takes a module's name first, a text"));
    };
    let name = mod_name(&title, at)?;
    let mut options = Options {
        at,
        given: Vec::new(),
    };
    let mut version = None;
    for (at, argument) in arguments {
        match argument {
            Argument::Option(key, value) => options.add(key, value)?,
            Argument::Options(pairs) => {
                for (key, value) in pairs {
                    options.add(key, value)?;
                }
            }
            Argument::Plain(value) if version.is_none() && options.given.is_empty() => {
                version = Some((at, value));
            }
            Argument::Plain(value) => {
                let what = format!("{} stands where an option is expected", value.kind());
                return Err(Mistake::new(at, what));
            }
        }
    }
    let install_path = match options.text("install_path")? {
        Some(path) => Some(inner_path("install_path", &path, at)?),
        None => None,
    };
    let exclude_spec = options.flag("exclude_spec")?;
    let source = match version {
        Some((at, version)) => released(&name, &version, at)?,
        None if options.given.is_empty() => unpinned(&name, at)?,
        None => options.source(&name)?,
    };
    options.nothing_left()?;
    Ok(Mod {
        name,
        source,
        install_path,
        exclude_spec,
        at,
    })
}

/// Reports modules that share a directory.
pub(crate) fn check_directories(file: &Puppetfile, mistakes: &mut Mistakes) {
    let mut taken: HashMap<String, &Mod> = HashMap::new();
    for module in &file.mods {
        let directory = file.directory(module);
        match taken.get(&directory) {
            Some(first) => mistakes.push(Mistake::new(
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

fn mod_name(title: &str, at: Position) -> Said<ModName> {
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
        return Err(Mistake::new(at, what));
    }
    Ok(ModName {
        owner: owner.map(str::to_owned),
        name: name.to_owned(),
    })
}

fn of_forge(name: &ModName, at: Position) -> Said<()> {
    if name.owner.is_some() {
        return Ok(());
    }
    let what = format!(
        "a module of the Forge is named owner/{name}; for another source add git:, tarball: or local:",
    );
    Err(Mistake::new(at, what))
}

fn unpinned(name: &ModName, at: Position) -> Said<Source> {
    of_forge(name, at)?;
    Ok(Source::Forge(ForgeVersion::Unpinned))
}

fn released(name: &ModName, version: &Value, at: Position) -> Said<Source> {
    of_forge(name, at)?;
    let version = match version {
        Value::Symbol(word) | Value::Text(word) if word == "latest" => ForgeVersion::Latest,
        Value::Text(text) if is_version(text) => ForgeVersion::Exact(text.clone()),
        Value::Text(text) => {
            let what = format!(
                "{text:?} is no version of the Forge: three numbers as in '1.2.3', or :latest; ranges are \
                 not resolved"
            );
            return Err(Mistake::new(at, what));
        }
        other => {
            let what = format!("a version is a text in quotes, not {}", other.kind());
            return Err(Mistake::new(at, what));
        }
    };
    Ok(Source::Forge(version))
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

// === impl Options ===

impl Options {
    fn add(&mut self, key: String, value: Value) -> Said<()> {
        if self.given.iter().any(|(known, _)| *known == key) {
            return Err(self.wrong(format!("{key} is given twice")));
        }
        self.given.push((key, value));
        Ok(())
    }

    fn wrong(&self, what: impl Into<String>) -> Mistake {
        Mistake::new(self.at, what)
    }

    fn take(&mut self, key: &str) -> Option<Value> {
        let index = self.given.iter().position(|(known, _)| known == key)?;
        Some(self.given.remove(index).1)
    }

    fn text(&mut self, key: &str) -> Said<Option<String>> {
        match self.take(key) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Text(text)) if text.contains('\0') => {
                Err(self.wrong(format!("{key} has a NUL in it")))
            }
            // An address or a branch that begins with a dash would be an option of the programs
            // that receive it.
            Some(Value::Text(text)) if text.is_empty() || text.starts_with('-') => {
                Err(self.wrong(format!("{key}: {text:?} cannot be used")))
            }
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(format!("{key} is a text, not {}", other.kind()))),
        }
    }

    fn required(&mut self, key: &str) -> Said<String> {
        let text = self.text(key)?;
        text.ok_or_else(|| self.wrong(format!("{key} is missing")))
    }

    fn flag(&mut self, key: &str) -> Said<Option<bool>> {
        match self.take(key) {
            None | Some(Value::Nil) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(format!("{key} is true or false, not {}", other.kind()))),
        }
    }

    /// Builds the source from the options that determine its kind.
    fn source(&mut self, name: &ModName) -> Said<Source> {
        let named: Vec<&str> = KINDS
            .iter()
            .copied()
            .filter(|kind| self.given.iter().any(|(key, _)| key == kind))
            .collect();
        match (self.kind()?.as_deref(), named.as_slice()) {
            (None, ["git"]) => {
                let remote = self.required("git")?;
                self.git(remote)
            }
            (Some("git"), []) => {
                let remote = self.required("source")?;
                self.git(remote)
            }
            (None, ["svn"]) => {
                let remote = self.required("svn")?;
                self.svn(remote)
            }
            (Some("svn"), []) => {
                let remote = self.required("source")?;
                self.svn(remote)
            }
            (Some("tarball"), []) => self.tarball(),
            (Some("local"), []) => Ok(Source::Local),
            (None, ["local"]) => match self.flag("local")? {
                Some(true) => Ok(Source::Local),
                _ => Err(self.wrong("local: false names no other source")),
            },
            (Some("forge"), []) => match self.take("version") {
                Some(version) => released(name, &version, self.at),
                None => unpinned(name, self.at),
            },
            (Some(other), []) => Err(self.wrong(format!(
                "there is no type {other:?}; there are git, svn, tarball, local and forge"
            ))),
            (None, []) => match self.take("version") {
                Some(version) => released(name, &version, self.at),
                None => Err(self.no_source()),
            },
            _ => Err(self.wrong(format!("these are several sources: {}", named.join(", ")))),
        }
    }

    fn no_source(&self) -> Mistake {
        let keys: Vec<&str> = self.given.iter().map(|(key, _)| key.as_str()).collect();
        self.wrong(format!(
            "{} name no source; one of git:, svn:, local: or type: is missing",
            keys.join(", ")
        ))
    }

    /// The value of `type`, a text or a symbol.
    fn kind(&mut self) -> Said<Option<String>> {
        match self.take("type") {
            Some(Value::Symbol(kind)) => Ok(Some(kind)),
            Some(other) => {
                self.given.push(("type".to_owned(), other));
                self.text("type")
            }
            None => Ok(None),
        }
    }

    fn git(&mut self, remote: String) -> Said<Source> {
        let mut references = Vec::new();
        for key in ["ref", "branch", "tag", "commit", "version"] {
            if self.control_branch(key)? {
                references.push((key, GitRef::ControlBranch));
            } else if let Some(text) = self.text(key)? {
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
            return Err(self.wrong(what));
        }
        let reference = references.pop().map_or(GitRef::Unnamed, |(_, named)| named);
        let default_branch = match self.text("default_branch_override")? {
            Some(branch) => {
                self.take("default_branch");
                Some(branch)
            }
            None => self.text("default_branch")?,
        };
        Ok(Source::Git {
            remote,
            reference,
            default_branch,
        })
    }

    /// True if an option is `:control_branch`; it is then removed.
    fn control_branch(&mut self, key: &str) -> Said<bool> {
        let given = self.given.iter().find(|(known, _)| known == key);
        match given {
            Some((_, Value::Symbol(name))) if name == "control_branch" => {
                self.take(key);
                Ok(true)
            }
            Some((_, Value::Symbol(name))) => Err(self.wrong(format!(
                "{key}: :{name} is unknown; a text, or :control_branch"
            ))),
            _ => Ok(false),
        }
    }

    fn svn(&mut self, remote: String) -> Said<Source> {
        let mut revision = None;
        for key in ["rev", "revision", "version"] {
            if let Some(given) = self.text(key)? {
                if revision.is_some() {
                    return Err(self.wrong("the revision is given twice"));
                }
                revision = Some(given);
            }
        }
        Ok(Source::Svn {
            remote,
            revision,
            username: self.text("username")?,
            password: self.text("password")?,
        })
    }

    fn tarball(&mut self) -> Said<Source> {
        let location = self.required("source")?;
        let sha256 = match (self.text("version")?, self.text("checksum")?) {
            (Some(_), Some(_)) => {
                let what = "version and checksum of a tarball are the same; one of them is enough";
                return Err(self.wrong(what));
            }
            (version, checksum) => version.or(checksum).map(|it| it.to_ascii_lowercase()),
        };
        let is_sha256 =
            |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        if sha256.as_ref().is_some_and(|text| !is_sha256(text)) {
            let what = "the version of a tarball is its SHA-256, 64 hexadecimal digits";
            return Err(self.wrong(what));
        }
        Ok(Source::Tarball { location, sha256 })
    }

    fn nothing_left(&self) -> Said<()> {
        match self.given.first() {
            None => Ok(()),
            Some((key, _)) => Err(self.wrong(format!(
                "the option {key} is not known for this kind of source"
            ))),
        }
    }
}
