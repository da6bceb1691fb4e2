//! Environments that a list names, beside those that are branches: r10k's sources of the types `yaml`, `yamldir`
//! and `exec`. Main function: [`read`]; what a list says of an environment: [`EnvironmentDefinition`].
//!
//! The rule that must hold: a list that cannot be read as a whole says nothing. Else an environment behind a
//! mistake would look like one that is gone, and would be taken away.

mod definition;
mod document;
mod exec;
mod files;
mod options;

pub use definition::{DefinedError, EnvironmentDefinition, ModuleConflicts};

use super::{Source, SourceKind};

/// The environments of a list; none for a source that is no list.
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
