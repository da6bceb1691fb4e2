//! Environments that a list defines, in addition to those from branches: r10k's sources of the
//! types `yaml`, `yamldir` and `exec`. Main function: [`read`]; an environment's definition:
//! [`EnvironmentDefinition`].
//!
//! Invariant: a list that cannot be read completely is not used at all. Otherwise an environment
//! after an error would look as if it was deleted, and would be removed.

mod definition;
mod definition_files;
mod document;
mod exec;
mod options;

pub use definition::{DefinitionListError, EnvironmentDefinition, ModuleConflicts};

use super::{EnvironmentSource, SourceKind};

/// The environments of a list; empty for a source that is not a list.
pub async fn read(
    source: &EnvironmentSource,
) -> Result<Vec<EnvironmentDefinition>, DefinitionListError> {
    let lists = match &source.kind {
        SourceKind::Git | SourceKind::Svn { .. } => return Ok(Vec::new()),
        SourceKind::Yaml { config } => {
            let config = config.clone();
            return document::parse_environments(
                source,
                &run_blocking(move || definition_files::read_definition_file(&config)).await?,
            );
        }
        SourceKind::Exec { command } => {
            let printed = exec::run(command, &source.name).await?;
            return document::parse_environments(source, &printed);
        }
        SourceKind::YamlDir { config } => {
            let config = config.clone();
            run_blocking(move || definition_files::read_definition_directory(&config)).await?
        }
    };
    let each = lists.iter();
    each.map(|(name, list)| document::parse_environment(source, name, list))
        .collect()
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DefinitionListError> + Send + 'static,
) -> Result<T, DefinitionListError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(DefinitionListError::Internal))
}
