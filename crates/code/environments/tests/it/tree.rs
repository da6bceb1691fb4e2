//! [`Tree`]: a separate code directory for a test.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use environments::{CodeError, CodeReader, CodeVersion, EnvironmentDir, EnvironmentTask};

pub(crate) struct Tree {
    directory: tempfile::TempDir,
}

impl Tree {
    /// A tree with these files below `environments/production`; a name that begins with `/` is
    /// below the code directory.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        std::fs::create_dir_all(tree.path("")).unwrap();
        for (name, content) in files {
            tree.write(name, content.as_bytes());
        }
        tree
    }

    pub(crate) fn codedir(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match name.strip_prefix('/') {
            Some(name) => self.codedir().join(name),
            None => self.codedir().join("environments/production").join(name),
        }
    }

    pub(crate) fn write(&self, name: &str, content: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, name: &str, target: impl AsRef<Path>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(crate) fn version(&self) -> Arc<dyn CodeVersion> {
        EnvironmentDir::new(self.codedir())
            .version(&"production".parse().unwrap())
            .unwrap()
    }

    pub(crate) fn task(&self, name: &str) -> Result<EnvironmentTask, CodeError> {
        self.version().task(&name.parse().unwrap())
    }

    /// The text of the error of reading the task.
    pub(crate) fn refusal(&self, name: &str) -> String {
        self.task(name).unwrap_err().to_string()
    }
}

/// Names of the task's files, in order.
pub(crate) fn filenames(task: &EnvironmentTask) -> Vec<&str> {
    task.files
        .iter()
        .map(|file| file.filename.as_str())
        .collect()
}
