//! Files to evaluate, and the dependencies between modules.
//!
//! Invariant: a file is read completely or refused, and never from outside of its module or
//! environment.

use std::fs::Metadata;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::modules::{self, check_relative};
use super::{
    CodeDirectoryEntry, DirectoryVersion, EnvironmentModule, EvaluationSource, list_names,
};
use crate::CodeError;
use crate::defaults::{METADATA_BYTES, SOURCE_BYTES};

const METADATA: &str = "metadata.json";

const OWNER_EXECUTES: u32 = 0o100;

// === impl DirectoryVersion ===

impl DirectoryVersion {
    pub(super) fn list_modules(&self) -> Result<Vec<EnvironmentModule>, CodeError> {
        self.modules
            .list_modules()?
            .into_iter()
            .map(with_metadata)
            .collect()
    }

    pub(super) fn find_module(&self, name: &str) -> Result<Option<EnvironmentModule>, CodeError> {
        self.modules
            .find_module(name)
            .map(with_metadata)
            .transpose()
    }

    pub(super) fn read_source(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Option<EvaluationSource>, CodeError> {
        match self.module_or_environment(module, path)? {
            Some(place) => read_bounded(&place, path, SOURCE_BYTES),
            None => Ok(None),
        }
    }

    pub(super) fn list_entries(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Vec<CodeDirectoryEntry>, CodeError> {
        let Some(place) = self.module_or_environment(module, path)? else {
            return Ok(Vec::new());
        };
        let directory = place.directory.join(path);
        if place.kind_inside(&directory)?.is_none() {
            return Ok(Vec::new());
        }
        let names = list_names(&directory)?.into_iter();
        Ok(names
            .map(|name| {
                let metadata = directory.join(&name).metadata().ok();
                let is_directory = metadata.as_ref().is_some_and(Metadata::is_dir);
                let mode = metadata.map_or(0, |metadata| metadata.permissions().mode());
                CodeDirectoryEntry {
                    name,
                    is_directory,
                    is_executable: !is_directory && mode & OWNER_EXECUTES != 0,
                }
            })
            .collect())
    }

    /// The module, or the environment itself.
    fn module_or_environment(
        &self,
        module: Option<&str>,
        path: &str,
    ) -> Result<Option<modules::ModuleDirectory>, CodeError> {
        check_relative(path).map_err(|problem| CodeError::InvalidPath { problem })?;
        Ok(match module {
            Some(name) => self.modules.find_module(name),
            None => Some(modules::ModuleDirectory {
                name: "environment".to_owned(),
                directory: self.directory.clone(),
            }),
        })
    }
}

fn read_bounded(
    place: &modules::ModuleDirectory,
    relative: &str,
    bytes_max: u64,
) -> Result<Option<EvaluationSource>, CodeError> {
    let Some((path, file)) = place.open(relative)? else {
        return Ok(None);
    };
    let mut content = Vec::new();
    // One byte more than the limit is enough to detect an excess.
    let read = file.take(bytes_max + 1).read_to_end(&mut content);
    read.map_err(|error| CodeError::io(&path, error))?;
    if content.len() as u64 > bytes_max {
        let what = format!("it has more than {bytes_max} bytes");
        return Err(CodeError::refuse(path, what));
    }
    Ok(Some(EvaluationSource { path, content }))
}

fn with_metadata(module: modules::ModuleDirectory) -> Result<EnvironmentModule, CodeError> {
    let metadata = read_bounded(&module, METADATA, METADATA_BYTES)?;
    let metadata: Option<Value> =
        metadata.and_then(|file| serde_json::from_slice(&file.content).ok());
    Ok(EnvironmentModule {
        dependencies: metadata.as_ref().map(parse_dependencies),
        name: module.name,
        directory: module.directory,
    })
}

/// The names of the modules that metadata depends on: `puppetlabs/stdlib` and `puppetlabs-stdlib`
/// are both `stdlib`.
fn parse_dependencies(metadata: &Value) -> Vec<String> {
    let listed = metadata["dependencies"].as_array().into_iter().flatten();
    let names = listed.filter_map(|dependency| dependency["name"].as_str());
    names
        .map(|name| name.rsplit(['/', '-']).next().unwrap_or(name).to_owned())
        .collect()
}
