//! Code that is held in memory: a snapshot of the files that a plan loaded, or the files of a test.
//! Main type: [`CodeMap`].

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::code_source::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};

/// Files by their paths below an environment: `functions/x.pp`, `modules/m/types/y.pp`.
#[derive(Debug, Default, Clone)]
pub struct CodeMap {
    files: BTreeMap<Arc<str>, Arc<[u8]>>,
    dependencies: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

impl CodeMap {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with(mut self, path: &str, bytes: impl Into<Arc<[u8]>>) -> Self {
        self.insert(path, bytes);
        self
    }

    pub fn insert(&mut self, path: &str, bytes: impl Into<Arc<[u8]>>) {
        self.files.insert(path.into(), bytes.into());
    }

    /// Sets the modules that a module's metadata names. Only tests do: a plan's snapshot is read with the
    /// files that it could load.
    #[must_use]
    pub fn with_dependencies(mut self, module: &str, dependencies: &[&str]) -> Self {
        let names = dependencies.iter().map(|it| Arc::from(*it)).collect();
        self.dependencies.insert(module.into(), names);
        self
    }
}

impl CodeSource for CodeMap {
    fn module(&self, name: &str) -> Option<CodeModule> {
        let folder = format!("modules/{name}");
        let prefix = format!("{folder}/");
        let (first, _) = self.files.range(Arc::from(prefix.as_str())..).next()?;
        first.starts_with(&prefix).then(|| CodeModule {
            name: name.into(),
            path: folder.into(),
            dependencies: self.dependencies.get(name).cloned(),
        })
    }

    fn modules(&self) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = self
            .files
            .keys()
            .filter_map(|path| path.strip_prefix("modules/")?.split('/').next())
            .map(Arc::from)
            .collect();
        names.dedup();
        names
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        let path = match owner {
            CodeOwner::Environment => path.to_owned(),
            CodeOwner::Module(name) => format!("modules/{name}/{path}"),
        };
        Ok(self
            .files
            .get_key_value(path.as_str())
            .map(|(path, bytes)| SourceFile {
                path: Arc::clone(path),
                bytes: Arc::clone(bytes),
            }))
    }
}
