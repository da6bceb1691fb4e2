//! Conversion of YAML to definitions: [`parse_environments`], [`parse_environment`].
//!
//! JSON is parsed as YAML, of which it is nearly a subset; where it is not, it is formatted anew
//! first. Invariant: an unknown or duplicate key is an error, with its line.

use std::collections::BTreeMap;

use psych::{YamlTreeNode, YamlValue};
use puppetfile::{InnerPath, ModuleDeclaration, PuppetfilePosition};

use super::definition::{DefinitionDocument, DefinitionListError, EnvironmentDefinition};
use super::options::{self, DefinitionOptions, OptionText};
use crate::defaults::{MODS, SOURCE_ENVIRONMENTS};
use crate::git::GitReference;
use crate::source::{EnvironmentBase, EnvironmentSource, ModuleConflicts, name};
use crate::svn::{SvnAddress, SvnLogin};

const READ: psych::YamlLoadOptions = psych::YamlLoadOptions {
    aliases: true,
    symbols: true,
    times: false,
};

/// All environments of a list.
pub(super) fn parse_environments(
    source: &EnvironmentSource,
    list: &DefinitionDocument,
) -> Result<Vec<EnvironmentDefinition>, DefinitionListError> {
    let root = load(list)?;
    let entries = root.as_mapping().ok_or_else(|| {
        let what = "names of environments are expected here, each with what it is";
        list.error_at(root.line, what)
    })?;
    if entries.len() > SOURCE_ENVIRONMENTS {
        let what = format!("there are more than {SOURCE_ENVIRONMENTS} environments");
        return Err(list.error_at(root.line, what));
    }
    let each = entries.iter().map(|(key, value)| {
        let named = key.as_str().ok_or_else(|| {
            let what = "the name of an environment is a text; put it in quotes";
            list.error_at(key.line, what)
        });
        parse_definition(source, list, named?, key.line, value)
    });
    each.collect()
}

/// The environment of a list that defines only one.
pub(super) fn parse_environment(
    source: &EnvironmentSource,
    name: &str,
    list: &DefinitionDocument,
) -> Result<EnvironmentDefinition, DefinitionListError> {
    let root = load(list)?;
    parse_definition(source, list, name, root.line, &root)
}

fn load(list: &DefinitionDocument) -> Result<YamlTreeNode, DefinitionListError> {
    let failed = |error| DefinitionListError::Yaml {
        place: list.location.clone(),
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
        return Err(list.error_at(twice.line, what));
    }
    document.root.ok_or_else(|| {
        let what = "it is empty; write {} if there are to be no environments";
        list.error_at(1, what)
    })
}

fn parse_definition(
    source: &EnvironmentSource,
    list: &DefinitionDocument,
    name: &str,
    line: u32,
    node: &YamlTreeNode,
) -> Result<EnvironmentDefinition, DefinitionListError> {
    let wrong = |line, what: String| list.error_at(line, format!("{name:?}: {what}"));
    let environment = name::listed_environment_name(source, name).ok_or_else(|| {
        let what = "an environment's name has letters, digits and underscores only".to_owned();
        wrong(line, what)
    })?;
    let read = || {
        let mut options = DefinitionOptions::of(node, line)?;
        let base = parse_base(&mut options)?;
        let moduledir = match options.take_text("moduledir")? {
            Some(given) => options::parse_inner_path("moduledir", &given)?,
            None => InnerPath::MODULES,
        };
        let puppetfile = match options.take_text("puppetfile_name")? {
            Some(given) => options::parse_inner_path("puppetfile_name", &given)?.to_string(),
            None => "Puppetfile".to_owned(),
        };
        let conflicts = parse_conflicts(&mut options)?;
        let modules = parse_modules(&mut options, &moduledir)?;
        options.check_all_used()?;
        Ok(EnvironmentDefinition {
            environment: environment.clone(),
            name: name.to_owned(),
            base,
            puppetfile,
            modules,
            conflicts,
            location: list.location.clone(),
        })
    };
    read().map_err(|(line, what)| wrong(line, what))
}

/// A line, and a description of the error there.
pub(super) type LineError = (u32, String);

/// Location of the environment's own files.
fn parse_base(options: &mut DefinitionOptions<'_>) -> Result<EnvironmentBase, LineError> {
    let kind = options.take_text("type")?;
    match kind.as_ref().map_or("git", |kind| kind.value.as_str()) {
        "git" => {
            let remote = options.take_one_of("source", "remote")?;
            let wanted = options.take_one_of("version", "ref")?;
            Ok(EnvironmentBase::Git {
                remote,
                wanted: GitReference::Any(wanted),
            })
        }
        "svn" => {
            let url = options.take_one_of("source", "remote")?;
            let wanted = options.take_text("version")?.map(|given| given.value);
            let username = options.take_text("username")?.map(|given| given.value);
            let password = options.take_text("password")?.map(|given| given.value);
            let login = SvnLogin::from_settings(username, password);
            let login = login.map_err(|what| (options.line, what.to_owned()))?;
            let address = SvnAddress { url, login };
            Ok(EnvironmentBase::Svn { address, wanted })
        }
        "tarball" => {
            let location = options.take_one_of("source", "remote")?;
            let sha256 = options
                .take_text("version")?
                .map(parse_sha256)
                .transpose()?;
            Ok(EnvironmentBase::Tarball { location, sha256 })
        }
        "plain" | "bare" => Ok(EnvironmentBase::NoFiles),
        other => {
            let line = kind.as_ref().map_or(options.line, |kind| kind.line);
            let what = format!(
                "the type {other:?} is not read here; there are git, svn, tarball and plain"
            );
            Err((line, what))
        }
    }
}

fn parse_sha256(given: OptionText) -> Result<String, LineError> {
    let digits = given.value.to_ascii_lowercase();
    match digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        true => Ok(digits),
        false => {
            let what = "the version of a tarball is its SHA-256, 64 hexadecimal digits";
            Err((given.line, what.to_owned()))
        }
    }
}

fn parse_conflicts(options: &mut DefinitionOptions<'_>) -> Result<ModuleConflicts, LineError> {
    let Some(given) = options.take_text("module_conflicts")? else {
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

fn parse_modules(
    options: &mut DefinitionOptions<'_>,
    moduledir: &InnerPath,
) -> Result<Vec<ModuleDeclaration>, LineError> {
    let Some((node, line)) = options.take("modules") else {
        return Ok(Vec::new());
    };
    let entries = match &node.value {
        YamlValue::Null => return Ok(Vec::new()),
        YamlValue::Mapping(entries) => entries,
        _ => return Err((line, "modules are names with what each is".to_owned())),
    };
    if entries.len() > MODS {
        return Err((line, format!("there are more than {MODS} modules")));
    }
    let mut modules: Vec<ModuleDeclaration> = Vec::with_capacity(entries.len());
    let mut directories: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in entries.iter() {
        let title = options::parse_key(key)?;
        let at = PuppetfilePosition {
            line: key.line,
            column: key.column,
        };
        let module =
            puppetfile::module_from_value(at, &title, options::to_puppetfile_value(value)?);
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
