//! Conversion of YAML to definitions: [`environments`], [`environment`].
//!
//! JSON is parsed as YAML, of which it is nearly a subset; where it is not, it is formatted anew
//! first. Invariant: an unknown or duplicate key is an error, with its line.

use std::collections::BTreeMap;

use psych::{Node, Value};
use puppetfile::{InnerPath, Mod, Position};

use super::definition::{DefinedError, Document, EnvironmentDefinition};
use super::options::{self, Options, Text};
use crate::defaults::{MODS, SOURCE_ENVIRONMENTS};
use crate::git::Wanted;
use crate::source::{Base, ModuleConflicts, Source, name};
use crate::svn::{Address, Login};

const READ: psych::Options = psych::Options {
    aliases: true,
    symbols: true,
    times: false,
};

/// All environments of a list.
pub(super) fn environments(
    source: &Source,
    list: &Document,
) -> Result<Vec<EnvironmentDefinition>, DefinedError> {
    let root = load(list)?;
    let entries = root.as_mapping().ok_or_else(|| {
        let what = "names of environments are expected here, each with what it is";
        list.wrong(root.line, what)
    })?;
    if entries.len() > SOURCE_ENVIRONMENTS {
        let what = format!("there are more than {SOURCE_ENVIRONMENTS} environments");
        return Err(list.wrong(root.line, what));
    }
    let each = entries.iter().map(|(key, value)| {
        let named = key.as_str().ok_or_else(|| {
            let what = "the name of an environment is a text; put it in quotes";
            list.wrong(key.line, what)
        });
        definition(source, list, named?, key.line, value)
    });
    each.collect()
}

/// The environment of a list that defines only one.
pub(super) fn environment(
    source: &Source,
    name: &str,
    list: &Document,
) -> Result<EnvironmentDefinition, DefinedError> {
    let root = load(list)?;
    definition(source, list, name, root.line, &root)
}

fn load(list: &Document) -> Result<Node, DefinedError> {
    let failed = |error| DefinedError::Yaml {
        place: list.place.clone(),
        error,
    };
    let document = match psych::load(&list.text, READ) {
        Ok(document) => document,
        // Tabs and halves of surrogate pairs, which are valid in JSON.
        Err(error) => match serde_json::from_str::<serde_json::Value>(&list.text) {
            Ok(value) => psych::load(&format!("{value:#}"), READ).map_err(failed)?,
            Err(_) => return Err(failed(error)),
        },
    };
    if let Some(twice) = document.warnings.first() {
        let what = format!(
            "{:?} stands in line {} already; which of the two is meant?",
            twice.key, twice.first_line
        );
        return Err(list.wrong(twice.line, what));
    }
    document.root.ok_or_else(|| {
        let what = "it is empty; write {} if there are to be no environments";
        list.wrong(1, what)
    })
}

fn definition(
    source: &Source,
    list: &Document,
    name: &str,
    line: u32,
    node: &Node,
) -> Result<EnvironmentDefinition, DefinedError> {
    let wrong = |line, what: String| list.wrong(line, format!("{name:?}: {what}"));
    let environment = name::listed(source, name).ok_or_else(|| {
        let what = "an environment's name has letters, digits and underscores only".to_owned();
        wrong(line, what)
    })?;
    let read = || {
        let mut options = Options::of(node, line)?;
        let base = base(&mut options)?;
        let moduledir = match options.text("moduledir")? {
            Some(given) => options::inner_path("moduledir", &given)?,
            None => InnerPath::MODULES,
        };
        let puppetfile = match options.text("puppetfile_name")? {
            Some(given) => options::inner_path("puppetfile_name", &given)?.to_string(),
            None => "Puppetfile".to_owned(),
        };
        let conflicts = conflicts(&mut options)?;
        let modules = modules(&mut options, &moduledir)?;
        options.nothing_left()?;
        Ok(EnvironmentDefinition {
            environment: environment.clone(),
            name: name.to_owned(),
            base,
            puppetfile,
            modules,
            conflicts,
            place: list.place.clone(),
        })
    };
    read().map_err(|(line, what)| wrong(line, what))
}

/// A line, and a description of the error there.
pub(super) type Wrong = (u32, String);

/// Location of the environment's own files.
fn base(options: &mut Options<'_>) -> Result<Base, Wrong> {
    let kind = options.text("type")?;
    match kind.as_ref().map_or("git", |kind| kind.value.as_str()) {
        "git" => {
            let remote = options.one_of("source", "remote")?;
            let wanted = options.one_of("version", "ref")?;
            Ok(Base::Git {
                remote,
                wanted: Wanted::Any(wanted),
            })
        }
        "svn" => {
            let url = options.one_of("source", "remote")?;
            let wanted = options.text("version")?.map(|given| given.value);
            let username = options.text("username")?.map(|given| given.value);
            let password = options.text("password")?.map(|given| given.value);
            let login = Login::of(username, password);
            let login = login.map_err(|what| (options.line, what.to_owned()))?;
            let address = Address { url, login };
            Ok(Base::Svn { address, wanted })
        }
        "tarball" => {
            let location = options.one_of("source", "remote")?;
            let sha256 = options.text("version")?.map(sha256).transpose()?;
            Ok(Base::Tarball { location, sha256 })
        }
        "plain" | "bare" => Ok(Base::Plain),
        other => {
            let line = kind.as_ref().map_or(options.line, |kind| kind.line);
            let what = format!(
                "the type {other:?} is not read here; there are git, svn, tarball and plain"
            );
            Err((line, what))
        }
    }
}

fn sha256(given: Text) -> Result<String, Wrong> {
    let digits = given.value.to_ascii_lowercase();
    match digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => Ok(digits),
        false => {
            let what = "the version of a tarball is its SHA-256, 64 hexadecimal digits";
            Err((given.line, what.to_owned()))
        }
    }
}

fn conflicts(options: &mut Options<'_>) -> Result<ModuleConflicts, Wrong> {
    let Some(given) = options.text("module_conflicts")? else {
        return Ok(ModuleConflicts::default());
    };
    match given.value.as_str() {
        "override_and_warn" => Ok(ModuleConflicts::OverrideAndWarn),
        "override" => Ok(ModuleConflicts::Override),
        "error" => Ok(ModuleConflicts::Error),
        _ => Err((
            given.line,
            "module_conflicts is override_and_warn, override or error".to_owned(),
        )),
    }
}

fn modules(options: &mut Options<'_>, moduledir: &InnerPath) -> Result<Vec<Mod>, Wrong> {
    let Some((node, line)) = options.take("modules") else {
        return Ok(Vec::new());
    };
    let entries = match &node.value {
        Value::Null => return Ok(Vec::new()),
        Value::Mapping(entries) => entries,
        _ => return Err((line, "modules are names with what each is".to_owned())),
    };
    if entries.len() > MODS {
        return Err((line, format!("there are more than {MODS} modules")));
    }
    let mut modules: Vec<Mod> = Vec::with_capacity(entries.len());
    let mut directories: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in entries.iter() {
        let title = options::key(key)?;
        let at = Position {
            line: key.line,
            column: key.column,
        };
        let module = puppetfile::module(at, &title, options::value(value)?);
        let mut module = module.map_err(|mistake| (mistake.at.line, mistake.what))?;
        let parent = module.install_path.get_or_insert_with(|| moduledir.clone());
        let directory = format!("{parent}/{}", module.name.name);
        if let Some(first) = directories.insert(directory.clone(), title.clone()) {
            let what = format!("{title:?} goes to {directory}, as does {first:?}");
            return Err((key.line, what));
        }
        modules.push(module);
    }
    Ok(modules)
}
