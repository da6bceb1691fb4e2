//! `file collect`: sends a file or a directory of this node to the requester as JSON. An extension
//! of Tutti; a stock pxp-agent refuses it. [`collect_main`] runs in a process of its own, so that
//! it can be stopped and can run as another user.
//!
//! Invariants: below the requested path no link is followed, even if the directory changes
//! meanwhile; the content is returned completely, within the limits, or not at all.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use pxp::action::{CollectParams, CollectedFileItem, CollectedFiles};
use pxp::defaults::{COLLECT_BYTES, COLLECT_ITEMS, MAX_FILE_PATH_BYTES};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use serde_json::json;
use serde_json::value::RawValue;

use super::request_plan::{
    ActionPlan, PlannedProgram, ProcessInput, RequestPlan, RequestRefusal, RunPlan, parse,
    without_nul,
};
use crate::defaults::COLLECT_DEPTH;
use crate::spool::ResultKind;

/// Keyword that makes a wrapper's executable read a file or directory.
pub(crate) const COLLECTOR: &str = "+collect";

/// Error kind of a file or directory that cannot be collected.
const KIND: &str = "tutti/download-error";

/// Reason for which a file or directory cannot be collected.
#[derive(Debug, thiserror::Error)]
enum CollectError {
    #[error("cannot read {path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{0} is neither a file nor a directory")]
    OtherKind(String),
    #[error("{0} has more than {COLLECT_BYTES} bytes in all, which is too much for one download")]
    TooLarge(String),
    #[error(
        "{0} has more than {COLLECT_ITEMS} files and directories, which is too much for one download"
    )]
    TooMany(String),
    #[error("{0} is too deep in its directory for a download")]
    TooDeep(String),
}

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let CollectParams { path, run_as } = parse(params)?;
    without_nul("`path`", &path)?;
    if !path.starts_with('/') {
        return Err(RequestRefusal::Input(format!(
            "`path` {path:?} is no absolute path"
        )));
    }
    if let Some(user) = &run_as {
        without_nul("`run_as`", user)?;
        if user.is_empty() {
            return Err(RequestRefusal::Input("`run_as` is empty".to_owned()));
        }
    }
    Ok(RequestPlan::Work(ActionPlan::Run(RunPlan {
        program: PlannedProgram::AgentExecutable,
        args: vec![COLLECTOR.to_owned()],
        input: ProcessInput::Stdin(path.into_bytes()),
        files: vec![],
        keep_files: false,
        result: ResultKind::Output,
        user: run_as,
        env: vec![],
    })))
}

/// Prints the file or directory whose path comes on standard input.
pub(crate) fn collect_main() -> ExitCode {
    let mut path = String::new();
    let read = io::stdin().lock().read_to_string(&mut path);
    let read = read.map_err(|source| CollectError::Io {
        path: "standard input".to_owned(),
        source,
    });
    let (told, code) = match read.and_then(|_| collect(&path)) {
        Ok(collected) => (serde_json::to_string(&collected), ExitCode::SUCCESS),
        Err(error) => {
            let error = json!({"kind": KIND, "msg": error.to_string(), "details": {}});
            let told = json!({"_error": error}).to_string();
            (Ok(told), ExitCode::FAILURE)
        }
    };
    let told = told.map_err(io::Error::from);
    match told.and_then(|told| io::stdout().lock().write_all(told.as_bytes())) {
        Ok(()) => code,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reads the file or directory at the path; if the path itself is a link, it is followed.
fn collect(path: &str) -> Result<CollectedFiles, CollectError> {
    let failed = |source: rustix::io::Errno| CollectError::Io {
        path: path.to_owned(),
        source: source.into(),
    };
    // Opening a pipe must not block until its other end is opened.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
    let mut gathering = FileCollector {
        top: path,
        collected: CollectedFiles::default(),
        bytes: 0,
    };
    match kind_of(&opened).map_err(failed)? {
        FileType::RegularFile => gathering.file(opened, String::new())?,
        FileType::Directory => {
            gathering.collected.is_directory = true;
            gathering.directory(&opened, "", COLLECT_DEPTH)?;
        }
        _ => return Err(CollectError::OtherKind(path.to_owned())),
    }
    Ok(gathering.collected)
}

fn kind_of(opened: impl AsFd) -> rustix::io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(opened)?.st_mode))
}

struct FileCollector<'a> {
    top: &'a str,
    collected: CollectedFiles,
    bytes: u64,
}

impl FileCollector<'_> {
    fn directory(
        &mut self,
        directory: &OwnedFd,
        relative: &str,
        depth: usize,
    ) -> Result<(), CollectError> {
        if depth == 0 {
            return Err(CollectError::TooDeep(self.full(relative)));
        }
        for name in self.names(directory, relative)? {
            let Ok(text) = name.to_str() else {
                self.collected.left_out += 1;
                continue;
            };
            let path = match relative {
                "" => text.to_owned(),
                relative => format!("{relative}/{text}"),
            };
            if path.len() > MAX_FILE_PATH_BYTES {
                return Err(CollectError::TooDeep(self.full(&path)));
            }
            self.entry(directory, &name, path, depth)?;
        }
        Ok(())
    }

    fn names(
        &self,
        directory: &OwnedFd,
        relative: &str,
    ) -> Result<Vec<std::ffi::CString>, CollectError> {
        let failed = |source| self.io(relative, source);
        let mut names = Vec::new();
        for entry in Dir::read_from(directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                names.push(name.to_owned());
            }
            if names.len() > COLLECT_ITEMS {
                return Err(CollectError::TooMany(self.top.to_owned()));
            }
        }
        names.sort();
        Ok(names)
    }

    fn entry(
        &mut self,
        directory: &OwnedFd,
        name: &CStr,
        path: String,
        depth: usize,
    ) -> Result<(), CollectError> {
        let failed = |source| self.io(&path, source);
        let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let kind = FileType::from_raw_mode(found.map_err(failed)?.st_mode);
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let open = |more| rustix::fs::openat(directory, name, flags | more, Mode::empty());
        match kind {
            FileType::Directory => {
                let opened = open(OFlags::DIRECTORY).map_err(failed)?;
                self.push(path.clone(), None, false)?;
                self.directory(&opened, &path, depth - 1)
            }
            FileType::RegularFile => {
                let opened = open(OFlags::empty()).map_err(failed)?;
                // It may have been replaced meanwhile.
                match kind_of(&opened).map_err(failed)? {
                    FileType::RegularFile => self.file(opened, path),
                    _ => Err(CollectError::OtherKind(self.full(&path))),
                }
            }
            _ => {
                self.collected.left_out += 1;
                Ok(())
            }
        }
    }

    fn file(&mut self, opened: OwnedFd, path: String) -> Result<(), CollectError> {
        let mode = rustix::fs::fstat(&opened).map_err(|source| self.io(&path, source))?;
        let left = COLLECT_BYTES - self.bytes;
        let mut content = Vec::new();
        // One byte more than allowed is enough to detect that there are too many.
        let read = File::from(opened).take(left + 1).read_to_end(&mut content);
        read.map_err(|source| CollectError::Io {
            path: self.full(&path),
            source,
        })?;
        if content.len() as u64 > left {
            return Err(CollectError::TooLarge(self.top.to_owned()));
        }
        self.bytes += content.len() as u64;
        let is_executable = mode.st_mode & Mode::XUSR.as_raw_mode() != 0;
        self.push(path, Some(BASE64.encode(&content)), is_executable)
    }

    fn push(
        &mut self,
        path: String,
        content: Option<String>,
        is_executable: bool,
    ) -> Result<(), CollectError> {
        if self.collected.items.len() == COLLECT_ITEMS {
            return Err(CollectError::TooMany(self.top.to_owned()));
        }
        self.collected.items.push(CollectedFileItem {
            path,
            content,
            is_executable,
        });
        Ok(())
    }

    fn io(&self, relative: &str, source: rustix::io::Errno) -> CollectError {
        CollectError::Io {
            path: self.full(relative),
            source: source.into(),
        }
    }

    fn full(&self, relative: &str) -> String {
        match relative {
            "" => self.top.to_owned(),
            relative => format!("{}/{relative}", self.top.trim_end_matches('/')),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    use super::*;

    fn told(path: &Path) -> Result<CollectedFiles, String> {
        collect(path.to_str().unwrap()).map_err(|error| error.to_string())
    }

    fn content(item: &CollectedFileItem) -> Option<Vec<u8>> {
        item.content
            .as_ref()
            .map(|text| BASE64.decode(text).unwrap())
    }

    #[test]
    fn a_file_is_told_with_its_bytes_also_through_a_link_that_was_asked_for() {
        let place = tempfile::tempdir().unwrap();
        let (file, link) = (place.path().join("file"), place.path().join("link"));
        std::fs::write(&file, b"\0\xff").unwrap();
        symlink(&file, &link).unwrap();
        for path in [file, link] {
            let collected = told(&path).unwrap();
            assert!(!collected.is_directory);
            assert_eq!(collected.items.len(), 1);
            assert_eq!(collected.items[0].path, "");
            assert_eq!(content(&collected.items[0]).unwrap(), b"\0\xff");
        }
    }

    #[test]
    fn a_directory_is_told_without_links_and_pipes() {
        let place = tempfile::tempdir().unwrap();
        let at = |path: &str| place.path().join(path);
        std::fs::create_dir_all(at("b/deep")).unwrap();
        std::fs::write(at("b/deep/a:\\ b"), "x").unwrap();
        std::fs::write(at("a"), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(at("a"), PermissionsExt::from_mode(0o755)).unwrap();
        symlink("/etc", at("etc")).unwrap();
        symlink("/etc/passwd", at("b/passwd")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        let collected = told(place.path()).unwrap();
        assert!(collected.is_directory);
        assert_eq!(collected.left_out, 3);
        let items: Vec<_> = collected
            .items
            .iter()
            .map(|item| {
                (
                    item.path.as_str(),
                    item.content.is_some(),
                    item.is_executable,
                )
            })
            .collect();
        let expected = [
            ("a", true, true),
            ("b", false, false),
            ("b/deep", false, false),
            ("b/deep/a:\\ b", true, false),
        ];
        assert_eq!(items, expected);
    }

    #[test]
    fn what_is_too_much_or_not_there_is_said() {
        let place = tempfile::tempdir().unwrap();
        let large = place.path().join("large");
        File::create(&large)
            .unwrap()
            .set_len(COLLECT_BYTES)
            .unwrap();
        assert!(told(place.path()).is_ok());
        std::fs::write(place.path().join("more"), "x").unwrap();
        let why = told(place.path()).unwrap_err();
        assert!(why.contains("bytes in all"), "{why}");
        std::fs::remove_file(large).unwrap();
        for number in 0..COLLECT_ITEMS {
            std::fs::create_dir(place.path().join(number.to_string())).unwrap();
        }
        let why = told(place.path()).unwrap_err();
        assert!(why.contains("files and directories"), "{why}");
        let why = told(&place.path().join("none")).unwrap_err();
        assert!(why.starts_with("cannot read /"), "{why}");
        let why = told(Path::new("/dev/null")).unwrap_err();
        assert!(why.contains("neither a file nor a directory"), "{why}");
    }
}
