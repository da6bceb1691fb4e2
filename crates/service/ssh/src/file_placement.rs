//! Files and directories to create on a node: [`FilePlacement`], and the [`script`] that creates
//! them.
//!
//! Invariants: a file appears completely or not at all, because a temporary file beside it is
//! renamed; an existing file keeps its mode; nothing is changed through a symbolic link. The script
//! is uploaded as a file of the run, since a thousand paths do not fit on a command line.

use pxp::action::{FileEntry, FileKind, FileParams, FilePath, Sha256};

use crate::quote::quote;
use crate::run_spec::check_no_nul;

/// Mode of a new file if the request has none.
const NEW_FILE_MODE: u32 = 0o644;
/// Mode of a new directory if the request has none.
const NEW_DIRECTORY_MODE: u32 = 0o755;
/// Bits of a mode that a request may set: no set-user-id, set-group-id or sticky bit.
const PERMISSIONS: u32 = 0o777;

/// A file or directory to create.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FilePlacement {
    /// Uploaded file of the run with the content; `None` for a directory.
    pub(crate) content: Option<FilePath>,
    pub(crate) destination: String,
    /// Mode if the destination does not exist yet.
    pub(crate) mode: u32,
}

const FUNCTIONS: &str = r#"t=
trap '[ -z "$t" ] || rm -f -- "$t"' EXIT
other() {
    echo "$1 exists and is not a $2" >&2
    exit 1
}
directory() {
    [ -d "$1" ] && return
    if [ -e "$1" ] || [ -h "$1" ]; then other "$1" directory; fi
    mkdir -p -- "$1" && chmod "$2" "$1" || exit 1
}
file() {
    if [ -h "$2" ] || { [ -e "$2" ] && [ ! -f "$2" ]; }; then other "$2" file; fi
    p=${2%/*}
    p=${p:-/}
    mkdir -p -- "$p" && t=$(mktemp "$p/.tutti-XXXXXXXXXX") || exit 1
    if [ -f "$2" ]; then cp -p -- "$2" "$t"; else chmod "$3" "$t"; fi || exit 1
    cat "$1" > "$t" && mv -f -- "$t" "$2" || exit 1
    t=
}
"#;

/// Builds the script that creates the items in order, from the uploaded files in `directory`.
pub(crate) fn script(directory: &str, items: &[FilePlacement]) -> String {
    let mut script = FUNCTIONS.to_owned();
    for item in items {
        let (destination, mode) = (quote(&item.destination), format!("{:o}", item.mode));
        let line = match &item.content {
            Some(content) => {
                let content = quote(&format!("{directory}/{content}"));
                format!("file {content} {destination} {mode}\n")
            }
            None => format!("directory {destination} {mode}\n"),
        };
        script.push_str(&line);
    }
    script.push_str("printf downloaded\n");
    script
}

/// Parses a request into placements with the hashes of their contents.
pub(crate) fn read(params: FileParams) -> Result<Vec<(FilePlacement, Option<Sha256>)>, String> {
    let new_file = params.mode.unwrap_or(NEW_FILE_MODE);
    let files = params.files.into_iter().enumerate();
    files
        .map(|(index, entry)| placement(entry, index, new_file))
        .collect()
}

/// Prepares the placement of a single file with inline content; returns the path for the content in
/// the run's directory, too.
pub(crate) fn uploaded_file(
    destination: String,
    mode: u32,
) -> Result<(FilePath, FilePlacement), String> {
    check_destination(&destination)?;
    let content = content(0);
    let placement = FilePlacement {
        content: Some(content.clone()),
        destination,
        mode: mode & PERMISSIONS,
    };
    Ok((content, placement))
}

fn check_destination(destination: &str) -> Result<(), String> {
    check_no_nul("the destination", destination)?;
    if !destination.starts_with('/') || destination.ends_with('/') {
        return Err(format!("{destination:?} is no absolute path of a file"));
    }
    Ok(())
}

fn content(index: usize) -> FilePath {
    let name = format!("content/{index}");
    name.parse::<FilePath>()
        .expect("two plain words are a path")
}

fn placement(
    entry: FileEntry,
    index: usize,
    new_file: u32,
) -> Result<(FilePlacement, Option<Sha256>), String> {
    let destination = entry.destination;
    check_destination(&destination)?;
    let (content, sha256, mode) = match entry.kind {
        FileKind::File => {
            let sha256 = entry
                .sha256
                .ok_or_else(|| format!("{destination:?} has no `sha256`"))?;
            (Some(content(index)), Some(sha256), new_file)
        }
        FileKind::Directory => (None, None, NEW_DIRECTORY_MODE),
        FileKind::Symlink => {
            return Err(
                "over SSH, files and directories are put in place, and no links".to_owned(),
            );
        }
    };
    let mode = entry.mode.unwrap_or(mode) & PERMISSIONS;
    let placement = FilePlacement {
        content,
        destination,
        mode,
    };
    Ok((placement, sha256))
}
