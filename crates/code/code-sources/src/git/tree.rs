//! The files of a commit. Main functions: [`store_commit`], [`read_file`].
//!
//! They are read as git stores them, with `ls-tree` and `cat-file`: the conversions of a work tree
//! (filters, line ends, `export-ignore`) are not applied. Invariant: a tree is stored completely or
//! not at all.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::GitMirror;
use super::program::{GitError, GitProgram, to_error_message};
use super::refs::CommitHash;
use crate::defaults::LISTED_BYTES;
use code_store::content::{
    ContentStore, IntakeError, TreeId, TreeManifest, TreePath, TreePathError,
};
use code_store::defaults::{FILE_BYTES, TREE_FILES};
use program_runner::defaults::OUTPUT_BYTES;

/// The error of storing a commit's tree.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A git command failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A path in the tree is invalid.
    #[error("commit {commit} of {remote}: {error}")]
    Path {
        /// The commit that was read.
        commit: CommitHash,
        /// The repository, without credentials.
        remote: String,
        /// The error of the path.
        error: TreePathError,
    },
    /// An entry is another repository.
    #[error(
        "commit {commit} of {remote}: {path} is a submodule, which is not followed; name the repository in \
         the Puppetfile instead"
    )]
    Submodule {
        /// The commit that was read.
        commit: CommitHash,
        /// The repository, without credentials.
        remote: String,
        /// Path of the submodule.
        path: TreePath,
    },
    /// A file cannot be stored.
    #[error("commit {commit} of {remote}: {error}")]
    Intake {
        /// The commit that was read.
        commit: CommitHash,
        /// The repository, without credentials.
        remote: String,
        /// The error of the store.
        error: IntakeError,
    },
}

impl TreeError {
    /// True if the copy of the repository may be damaged: git cannot read objects that it lists.
    pub fn is_mirror_error(&self) -> bool {
        let Self::Git(error) = self else {
            return false;
        };
        matches!(error, GitError::Failed { .. } | GitError::Unexpected { .. })
    }
}

/// A line of `ls-tree`.
struct ListedFile {
    kind: GitEntryKind,
    object: String,
    size_bytes: u64,
    path: TreePath,
}

#[derive(Clone, Copy, PartialEq)]
enum GitEntryKind {
    File,
    Executable,
    Link,
    Submodule,
}

/// The output of `ls-tree`, line by line.
struct TreeListing {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// A reader of objects of a repository, one after the other.
struct ObjectReader {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// Stores all files of a commit. May block.
pub fn store_commit(
    git: &GitProgram,
    mirror: &GitMirror,
    commit: &CommitHash,
    content: &ContentStore,
) -> Result<(TreeId, TreeManifest), TreeError> {
    let remote = mirror.to_public_url();
    let wrong = |error: IntakeError| TreeError::Intake {
        commit: commit.clone(),
        remote: remote.clone(),
        error,
    };
    let files = list_files(git, mirror, commit, None)?;
    let mut intake = content
        .begin_intake()
        .map_err(|error| wrong(error.into()))?;
    let mut objects = ObjectReader::open(git, mirror, &files)?;
    for file in files {
        let path = file.path.clone();
        let bytes = objects
            .next(&file)
            .ok_or_else(|| unexpected_output(mirror, "cat-file"))?;
        match file.kind {
            GitEntryKind::Link => intake.add_link(path, &bytes),
            kind => intake.add_file(path, &bytes, kind == GitEntryKind::Executable),
        }
        .map_err(wrong)?;
    }
    objects.end();
    intake.finish().map_err(wrong)
}

/// One file of a commit; `None` if it does not exist. May block.
pub fn read_file(
    git: &GitProgram,
    mirror: &GitMirror,
    commit: &CommitHash,
    path: &str,
) -> Result<Option<Vec<u8>>, TreeError> {
    let files = list_files(git, mirror, commit, Some(path))?;
    let is_file =
        |file: &&ListedFile| matches!(file.kind, GitEntryKind::File | GitEntryKind::Executable);
    let Some(file) = files.iter().find(is_file) else {
        return Ok(None);
    };
    let mut objects = ObjectReader::open(git, mirror, std::slice::from_ref(file))?;
    let bytes = objects
        .next(file)
        .ok_or_else(|| unexpected_output(mirror, "cat-file"))?;
    objects.end();
    Ok(Some(bytes))
}

fn unexpected_output(mirror: &GitMirror, verb: &'static str) -> GitError {
    GitError::Unexpected {
        verb,
        remote: mirror.to_public_url(),
    }
}

fn list_files(
    git: &GitProgram,
    mirror: &GitMirror,
    commit: &CommitHash,
    only: Option<&str>,
) -> Result<Vec<ListedFile>, TreeError> {
    let mut command: Command = git.command(Some(mirror.directory())).into_std();
    command.args(["ls-tree", "-r", "-z", "-l", "--full-tree", commit.as_str()]);
    if let Some(only) = only {
        command.args(["--", only]);
    }
    let mut listing = TreeListing::open(command)?;
    let mut files = Vec::new();
    while let Some(line) = listing.next() {
        let line = line.map_err(GitError::Start)?;
        let file = parse(&line).ok_or_else(|| unexpected_output(mirror, "ls-tree"))?;
        let file = file.map_err(|error| TreeError::Path {
            commit: commit.clone(),
            remote: mirror.to_public_url(),
            error,
        })?;
        if file.kind == GitEntryKind::Submodule {
            return Err(TreeError::Submodule {
                commit: commit.clone(),
                remote: mirror.to_public_url(),
                path: file.path,
            });
        }
        check(&file, files.len(), mirror, commit)?;
        files.push(file);
    }
    listing.end(mirror)?;
    Ok(files)
}

/// Checks a file before it is read into memory.
fn check(
    file: &ListedFile,
    before: usize,
    mirror: &GitMirror,
    commit: &CommitHash,
) -> Result<(), TreeError> {
    let error = if file.size_bytes > FILE_BYTES {
        IntakeError::TooLarge(file.path.clone())
    } else if before >= TREE_FILES {
        code_store::content::ManifestError::Files.into()
    } else {
        return Ok(());
    };
    Err(TreeError::Intake {
        commit: commit.clone(),
        remote: mirror.to_public_url(),
        error,
    })
}

/// Parses a line `100644 blob DIGITS    SIZE\tPATH`.
fn parse(line: &[u8]) -> Option<Result<ListedFile, TreePathError>> {
    let tab = line.iter().position(|b| *b == b'\t')?;
    let mut words = std::str::from_utf8(&line[..tab])
        .ok()?
        .split_ascii_whitespace();
    let (mode, _, object, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let kind = match mode {
        "120000" => GitEntryKind::Link,
        "160000" => GitEntryKind::Submodule,
        "100755" => GitEntryKind::Executable,
        mode if mode.starts_with("100") => GitEntryKind::File,
        _ => return None,
    };
    let object = object.to_owned();
    let size_bytes = if size == "-" { 0 } else { size.parse().ok()? };
    let path = TreePath::new(&line[tab + 1..]);
    Some(path.map(|path| ListedFile {
        kind,
        object,
        size_bytes,
        path,
    }))
}

// === impl TreeListing ===

impl TreeListing {
    fn open(mut command: Command) -> Result<Self, GitError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let output = child.stdout.take();
        let output = output.ok_or_else(|| GitError::Start(io::ErrorKind::BrokenPipe.into()))?;
        let output = BufReader::new(output);
        Ok(Self { child, output })
    }

    /// The next line; a line that is too long is truncated, and is then invalid.
    fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        let mut line = Vec::new();
        let mut output = (&mut self.output).take(LISTED_BYTES as u64);
        match output.read_until(0, &mut line) {
            Ok(0) => None,
            Ok(_) => {
                line.pop_if(|last| *last == 0);
                Some(Ok(line))
            }
            Err(error) => Some(Err(error)),
        }
    }

    /// Waits for git's end after its output was read, and checks its exit status.
    fn end(mut self, mirror: &GitMirror) -> Result<(), GitError> {
        let mut said = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            let mut stderr = stderr.take(OUTPUT_BYTES as u64);
            stderr.read_to_end(&mut said).map_err(GitError::Start)?;
        }
        let status = self.child.wait().map_err(GitError::Start)?;
        match status.success() {
            true => Ok(()),
            false => Err(GitError::Failed {
                verb: "ls-tree",
                remote: mirror.to_public_url(),
                status,
                message: to_error_message(&said, &mirror.to_public_url()),
            }),
        }
    }
}

impl Drop for TreeListing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

// === impl ObjectReader ===

impl ObjectReader {
    /// Starts reading these objects, in this order.
    fn open(git: &GitProgram, mirror: &GitMirror, files: &[ListedFile]) -> Result<Self, GitError> {
        let mut command: Command = git.command(Some(mirror.directory())).into_std();
        command
            .args(["cat-file", "--batch", "--buffer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().map_err(GitError::Start)?;
        let wanted: Vec<u8> = files
            .iter()
            .flat_map(|file| [file.object.as_bytes(), b"\n"].concat())
            .collect();
        let (input, output) = (child.stdin.take(), child.stdout.take());
        // Git answers while it still receives requests, so a separate thread writes them; it ends
        // when all are written, or when git ends.
        std::thread::spawn(move || request_object(input, &wanted));
        let output = BufReader::new(output.ok_or_else(|| unexpected_output(mirror, "cat-file"))?);
        Ok(Self { child, output })
    }

    /// The content of the next object.
    fn next(&mut self, file: &ListedFile) -> Option<Vec<u8>> {
        let mut header = String::new();
        self.output.read_line(&mut header).ok()?;
        let mut words = header.split_ascii_whitespace();
        let (object, kind, size) = (words.next()?, words.next()?, words.next()?);
        if object != file.object || kind != "blob" {
            return None;
        }
        let size: u64 = size.parse().ok().filter(|size| *size <= FILE_BYTES)?;
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()?);
        let read = (&mut self.output).take(size).read_to_end(&mut bytes).ok()?;
        let mut end = [0];
        self.output.read_exact(&mut end).ok()?;
        (read as u64 == size).then_some(bytes)
    }

    fn end(mut self) {
        // All requested objects were read; the exit status does not matter.
        let _ = self.child.wait();
    }
}

fn request_object(input: Option<ChildStdin>, wanted: &[u8]) {
    if let Some(mut input) = input {
        // If git ends early, reading its answers fails.
        let _ = input.write_all(wanted);
    }
}

impl Drop for ObjectReader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
