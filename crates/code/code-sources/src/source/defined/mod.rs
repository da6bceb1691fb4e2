//! Environments that a list defines, in addition to those from branches: r10k's sources of the
//! types `yaml`, `yamldir` and `exec`. Main function: [`read`]; an environment's definition:
//! [`EnvironmentDefinition`].
//!
//! Invariant: a list that cannot be read completely is not used at all. Otherwise an environment
//! after an error would look as if it was deleted, and would be removed.

mod definition;
mod document;
mod exec;
mod files;
mod options;

pub use definition::{DefinedError, EnvironmentDefinition, ModuleConflicts};

use super::{Source, SourceKind};

/// The environments of a list; empty for a source that is not a list.
pub async fn read(source: &Source) -> Result<Vec<EnvironmentDefinition>, DefinedError> {
    let lists = match &source.kind {
        SourceKind::Git | SourceKind::Svn { .. } => return Ok(Vec::new()),
        SourceKind::Yaml { config } => {
            let config = config.clone();
            return document::environments(source, &blocking(move || files::one(&config)).await?);
        }
        SourceKind::Exec { command } => {
            let printed = exec::run(command, &source.name).await?;
            return document::environments(source, &printed);
        }
        SourceKind::YamlDir { config } => {
            let config = config.clone();
            blocking(move || files::all(&config)).await?
        }
    };
    let each = lists.iter();
    each.map(|(name, list)| document::environment(source, name, list))
        .collect()
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, DefinedError> + Send + 'static,
) -> Result<T, DefinedError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or(Err(DefinedError::Broken))
}
