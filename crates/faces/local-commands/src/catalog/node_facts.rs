//! Nodes with their facts in a directory: [`FactsDirectory`].
//!
//! Invariant: a certname is one component of a path.

use std::path::{Path, PathBuf};

use cli::CommandFailure;

use crate::defaults::COMPARED_NODES_MAX;

/// Extensions of files of facts; the first that exists is used.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// A directory of files of facts, named `NODE.json` or `NODE.yaml`.
#[derive(Debug)]
pub(super) struct FactsDirectory<'d>(pub(super) &'d Path);

impl FactsDirectory<'_> {
    /// The file of a node.
    pub(super) fn file(&self, certname: &str) -> Result<PathBuf, CommandFailure> {
        let mut files = EXTENSIONS.map(|it| self.0.join(format!("{certname}.{it}")));
        match files.iter_mut().find(|file| file.is_file()) {
            Some(file) => Ok(std::mem::take(file)),
            None => Err(CommandFailure::Usage(format!(
                "{} has no facts of {certname}: neither {certname}.json nor {certname}.yaml",
                self.0.display()
            ))),
        }
    }

    /// The certnames of all files, in order.
    pub(super) fn certnames(&self) -> Result<Vec<String>, CommandFailure> {
        let failure = |source| CommandFailure::Read {
            path: self.0.to_owned(),
            source,
        };
        let mut certnames = Vec::new();
        for entry in std::fs::read_dir(self.0).map_err(failure)? {
            let path = entry.map_err(failure)?.path();
            let extension = path.extension().and_then(|it| it.to_str());
            let stem = path.file_stem().and_then(|it| it.to_str());
            if let (Some(stem), Some(extension)) = (stem, extension)
                && EXTENSIONS.contains(&extension)
            {
                certnames.push(stem.to_owned());
            }
            check_number(certnames.len())?;
        }
        certnames.sort_unstable();
        certnames.dedup();
        match certnames.is_empty() {
            true => Err(CommandFailure::Usage(format!(
                "{} has no files NODE.json or NODE.yaml",
                self.0.display()
            ))),
            false => Ok(certnames),
        }
    }
}

/// The nodes of the command line without repetitions, or those of the directory if there are none.
pub(super) fn compared_nodes(
    named: &[String],
    directory: Option<&Path>,
) -> Result<Vec<String>, CommandFailure> {
    let mut certnames = match (named, directory) {
        ([], Some(directory)) => FactsDirectory(directory).certnames()?,
        ([], None) => {
            return Err(CommandFailure::Usage(
                "name at least one node, or the facts of all with --facts-dir".to_owned(),
            ));
        }
        (named, _) => named.to_vec(),
    };
    check_number(certnames.len())?;
    let mut seen = std::collections::HashSet::new();
    certnames.retain(|certname| seen.insert(certname.clone()));
    let is_wrong = |it: &&String| it.is_empty() || it.starts_with('.') || it.contains(['/', '\0']);
    match certnames.iter().find(is_wrong) {
        Some(certname) => Err(CommandFailure::Usage(format!(
            "invalid certname {certname:?}: it has no slashes and does not begin with a dot"
        ))),
        None => Ok(certnames),
    }
}

fn check_number(number: usize) -> Result<(), CommandFailure> {
    match number > COMPARED_NODES_MAX {
        true => Err(CommandFailure::Usage(format!(
            "these are more than {COMPARED_NODES_MAX} nodes; name some of them"
        ))),
        false => Ok(()),
    }
}

/// Number of threads that compare nodes: one for each core.
pub(super) fn worker_number() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// `1 node` or `3 nodes`.
pub(super) fn node_number(number: usize) -> String {
    match number {
        1 => "1 node".to_owned(),
        number => format!("{number} nodes"),
    }
}
