//! Files of which a version was built, read from notes on the disk. Main function:
//! [`expected_layout`].
//!
//! A lock names commits, archives and revisions; a note names the tree of each; a tree is stored
//! under its hash. Invariant: a tree whose bytes do not match its hash is not used.

use std::path::PathBuf;

use crate::content::{ContentError, TreeId, TreeManifest};
use crate::notes::read_note;
use crate::r10k_deploy_file::R10K_FILE;
use crate::tree_notes::{
    ArchiveForm, archive_note_name, archives_directory, commits_directories, revision_note_name,
    revisions_directory,
};
use crate::version::{GENERATED_FILE, LayoutError, LayoutPart, VersionLayout, VersionStore};
use crate::version_lock::{ControlKind, LOCK_FILE, LockedModule, ModuleOrigin, VersionLock};

/// The reason that the files of a version are not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExpectedFilesError {
    #[error("the list of files of {0} is not in the store")]
    NoTree(String),
    #[error(transparent)]
    Layout(#[from] LayoutError),
    #[error(transparent)]
    Content(#[from] ContentError),
}

/// Returns the layout of a version, except the files that are generated for it, such as the lock.
pub(super) fn expected_layout(
    versions: &VersionStore,
    lock: &VersionLock,
) -> Result<VersionLayout, ExpectedFilesError> {
    let directory = versions.directory();
    let copies = commits_directories(directory)?;
    let of_commit = |commit: &str| commit_note_paths(&copies, commit);
    let of_archive = |sha256: &str, form: ArchiveForm| {
        vec![
            archives_directory(directory)
                .join("trees")
                .join(archive_note_name(sha256, form)),
        ]
    };
    let of_revision = |remote: &str, revision: &str| {
        vec![revisions_directory(directory).join(revision_note_name(remote, revision))]
    };
    let commit = &lock.control.commit;
    let control = match lock.control.kind {
        ControlKind::Plain => TreeManifest::default(),
        kind => {
            let notes = match kind {
                ControlKind::Svn => of_revision(&lock.control.remote, commit),
                ControlKind::Tarball => of_archive(commit, ArchiveForm::Any),
                ControlKind::Git | ControlKind::Plain => of_commit(commit),
            };
            read_noted_tree(versions, &notes, "the control repository")?
        }
    };
    let mut modules: Vec<(&LockedModule, TreeManifest)> = Vec::new();
    for module in &lock.modules {
        let notes = match &module.origin {
            ModuleOrigin::Local => continue,
            ModuleOrigin::Git { commit, .. } => of_commit(commit),
            ModuleOrigin::Forge { sha256, .. } => of_archive(sha256, ArchiveForm::Release),
            ModuleOrigin::Tarball { sha256, .. } => of_archive(sha256, ArchiveForm::Any),
            ModuleOrigin::Svn { remote, revision } => of_revision(remote, &revision.to_string()),
        };
        modules.push((module, read_noted_tree(versions, &notes, &module.name)?));
    }
    let mut layout = build_layout(&control, &modules)?;
    for written in [LOCK_FILE, R10K_FILE, GENERATED_FILE] {
        layout.exclude(written.as_bytes());
    }
    Ok(layout)
}

/// Returns the paths of a commit's notes. A commit's hash identifies its files, so the note beside
/// any copy of the repository is right.
fn commit_note_paths(copies: &[PathBuf], commit: &str) -> Vec<PathBuf> {
    let is_hash = commit
        .bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match is_hash && matches!(commit.len(), 40 | 64) {
        true => copies.iter().map(|notes| notes.join(commit)).collect(),
        false => Vec::new(),
    }
}

/// Combines the trees of a lock to the layout of the version.
fn build_layout(
    control: &TreeManifest,
    modules: &[(&LockedModule, TreeManifest)],
) -> Result<VersionLayout, LayoutError> {
    let parts: Vec<_> = modules
        .iter()
        .map(|(module, manifest)| LayoutPart {
            directory: module.directory.clone(),
            manifest,
            exclude_spec: module.exclude_spec,
        })
        .collect();
    VersionLayout::new(control, &parts)
}

fn read_noted_tree(
    versions: &VersionStore,
    notes: &[PathBuf],
    name: &str,
) -> Result<TreeManifest, ExpectedFilesError> {
    for note in notes {
        let id = read_note(note).and_then(|text| text.parse::<TreeId>().ok());
        if let Some(id) = id
            && let Some(manifest) = versions.content().read_tree(id)?
        {
            return Ok(manifest);
        }
    }
    Err(ExpectedFilesError::NoTree(name.to_owned()))
}
