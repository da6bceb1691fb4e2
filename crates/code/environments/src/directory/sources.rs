//! Files to evaluate, and the dependencies between modules.
//!
//! Invariant: a file is read completely or refused, and never from outside of its module or
//! environment.

use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::modules::{self, check_relative};
use super::{Entry, Module, Source, Version, names_in};
use crate::CodeError;
use crate::defaults::{METADATA_BYTES, SOURCE_BYTES};

const METADATA: &str = "metadata.json";

const OWNER_EXECUTES: u32 = 0o100;

// === impl Version ===

impl Version {
    pub(super) fn list_modules(&self) -> Result<Vec<Module>, CodeError> {
        self.modules.all()?.into_iter().map(described).collect()
    }

    pub(super) fn find_module(&self, name: &str) -> Result<Option<Module>, CodeError> {
        self.modules.find(name).map(described).transpose()
    }

    pub(super) fn read_source(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Option<Source>, CodeError> {
        match self.place(module, path)? {
            Some(place) => read(&place, path, SOURCE_BYTES),
            None => Ok(None),
        }
    }

    pub(super) fn list_entries(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Vec<Entry>, CodeError> {
        let Some(place) = self.place(module, path)? else {
            return Ok(Vec::new());
        };
        let directory = place.directory.join(path);
        if place.inside(&directory)?.is_none() {
            return Ok(Vec::new());
        }
        let names = names_in(&directory)?.into_iter();
        Ok(names
            .map(|name| {
                let metadata = directory.join(&name).metadata().ok();
                let is_directory = metadata.as_ref().is_some_and(Metadata::is_dir);
                let mode = metadata.map_or(0, |metadata| metadata.permissions().mode());
                Entry {
                    name,
                    is_directory,
                    is_executable: !is_directory && mode & OWNER_EXECUTES != 0,
                }
            })
            .collect())
    }

    /// The module, or the environment itself.
    fn place(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Option<modules::Module>, CodeError> {
        check_relative(path).map_err(|problem| CodeError::InvalidPath { problem })?;
        Ok(match module {
            Some(name) => self.modules.find(name),
            None => Some(modules::Module {
                name: "environment".to_owned(),
                directory: self.directory.clone(),
            }),
        })
    }
}

fn read(
    place: &modules::Module,
    relative: &str,
    bytes_max: u64,
) -> Result<Option<Source>, CodeError> {
    let Some((path, file)) = place.open(relative)? else {
        return Ok(None);
    };
    let mut content = Vec::new();
    // One byte more than the limit is enough to detect an excess.
    let read = file.take(bytes_max + 1).read_to_end(&mut content);
    read.map_err(|error| CodeError::io(&path, error))?;
    if content.len() as u64 > bytes_max {
        let what = format!("it has more than {bytes_max} bytes");
        return Err(CodeError::refused(path, what));
    }
    Ok(Some(Source { path, content }))
}

fn described(module: modules::Module) -> Result<Module, CodeError> {
    let metadata = read(&module, METADATA, METADATA_BYTES)?;
    let metadata: Option<Value> =
        metadata.and_then(|file| serde_json::from_slice(&file.content).ok());
    Ok(Module {
        dependencies: metadata.as_ref().map(dependencies),
        name: module.name,
        directory: module.directory,
    })
}

/// The names of the modules that metadata depends on: `puppetlabs/stdlib` and `puppetlabs-stdlib`
/// are both `stdlib`.
fn dependencies(metadata: &Value) -> Vec<String> {
    let listed = metadata["dependencies"].as_array().into_iter().flatten();
    let names = listed.filter_map(|dependency| dependency["name"].as_str());
    names
        .map(|name| name.rsplit(['/', '-']).next().unwrap_or(name).to_owned())
        .collect()
}
