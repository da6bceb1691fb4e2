//! Processes that run as another user: the [`LocalAccount`], the directory of its files
//! ([`PrivateDirectory`]), and the program that switches to the user ([`become_main`]).
//!
//! Invariants: an action for a user to which the agent cannot switch is not run at all; and the
//! user's executables are in a directory that only this user can read, since the spool is readable
//! by the agent alone.

use std::ffi::{CString, OsString};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, fchown, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use nix::unistd::{Gid, User, getgrouplist};
use serde::{Deserialize, Serialize};

use super::program::{SHELL, describe_start_failure, runs_by_shell};

/// Keyword that makes a wrapper's executable switch to another user.
pub(crate) const BECOME: &str = "+become";

/// Directory in which every user may create files.
const PUBLIC_DIRECTORY: &str = "/tmp";

/// A user of this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LocalAccount {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) groups: Vec<u32>,
    pub(crate) home: String,
    pub(crate) shell: String,
}

/// Reason for which nothing can be run as a user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AccountError {
    #[error("there is no user {0:?} on this node")]
    Unknown(String),
    #[error("the user {name:?} cannot be looked up: {source}")]
    LookUp {
        name: String,
        source: nix::errno::Errno,
    },
    #[error(
        "it cannot run as {name:?}: the agent runs as the user with id {own}, and only root can become \
         another one"
    )]
    NotRoot { name: String, own: u32 },
}

/// A directory of one action, accessible to its user alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PrivateDirectory {
    pub(crate) directory: PathBuf,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// A directory that was created, and is removed on drop.
#[derive(Debug)]
pub(crate) struct PrivateDirectoryGuard(PathBuf);

// === impl LocalAccount ===

impl LocalAccount {
    /// Looks a user up in the node's user databases; blocks. `None`: it is the agent's own user.
    pub(crate) fn find(name: &str) -> Result<Option<Self>, AccountError> {
        let look_up = |source| AccountError::LookUp {
            name: name.to_owned(),
            source,
        };
        let unknown = || AccountError::Unknown(name.to_owned());
        let user = User::from_name(name).map_err(look_up)?;
        let user = user.ok_or_else(unknown)?;
        let own = rustix::process::geteuid().as_raw();
        if user.uid.as_raw() == own {
            return Ok(None);
        }
        if own != 0 {
            let name = name.to_owned();
            return Err(AccountError::NotRoot { name, own });
        }
        let spelled = CString::new(user.name.as_str()).map_err(|_| unknown())?;
        let groups = getgrouplist(&spelled, user.gid).map_err(look_up)?;
        Ok(Some(Self {
            uid: user.uid.as_raw(),
            gid: user.gid.as_raw(),
            groups: groups.into_iter().map(Gid::as_raw).collect(),
            home: user.dir.to_string_lossy().into_owned(),
            shell: user.shell.to_string_lossy().into_owned(),
            name: user.name,
        }))
    }

    /// The variables that a login would set.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        let set = [
            ("HOME", &self.home),
            ("USER", &self.name),
            ("LOGNAME", &self.name),
            ("SHELL", &self.shell),
        ];
        set.map(|(name, value)| (name.to_owned(), value.clone()))
            .into()
    }

    /// The directory for the files of the action with this unguessable name.
    pub(crate) fn private_directory(&self, unguessable: &str) -> PrivateDirectory {
        PrivateDirectory {
            directory: Path::new(PUBLIC_DIRECTORY).join(format!("tutti-{unguessable}")),
            uid: self.uid,
            gid: self.gid,
        }
    }

    /// The arguments after [`BECOME`] that run a program as this user.
    pub(crate) fn become_args(&self, program: &str, args: Vec<String>) -> Vec<String> {
        let groups: Vec<String> = self.groups.iter().map(u32::to_string).collect();
        let mut words = vec![
            BECOME.to_owned(),
            self.uid.to_string(),
            self.gid.to_string(),
            groups.join(","),
            program.to_owned(),
        ];
        words.extend(args);
        words
    }
}

// === impl PrivateDirectory ===

impl PrivateDirectory {
    /// Creates the directory, which must not exist: one that another user created is not used.
    pub(crate) fn create(&self) -> io::Result<PrivateDirectoryGuard> {
        DirBuilder::new().mode(0o700).create(&self.directory)?;
        Ok(PrivateDirectoryGuard(self.directory.clone()))
    }

    /// Gives all files in it to the user, the deepest first: as long as the directory above belongs
    /// to the agent, the user cannot replace the files that are handed over. Links are not
    /// followed.
    pub(crate) fn hand_over(&self) -> io::Result<()> {
        let mut all = vec![self.directory.clone()];
        let mut next = 0;
        while let Some(path) = all.get(next).cloned() {
            if path.symlink_metadata()?.is_dir() {
                for entry in path.read_dir()? {
                    all.push(entry?.path());
                }
            }
            next += 1;
        }
        // The content of a directory was found after the directory itself.
        for path in all.iter().rev() {
            lchown(path, Some(self.uid), Some(self.gid))?;
        }
        Ok(())
    }

    /// Gives the output file to the user, so that it can be opened again, as through `/dev/stderr`.
    pub(crate) fn give_output(&self, output: &File) -> io::Result<()> {
        fchown(output, Some(self.uid), None)
    }
}

impl Drop for PrivateDirectoryGuard {
    fn drop(&mut self) {
        // Files that cannot be removed are left to the cleanup of the directory of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Switches to the user named by the arguments and runs the program named by them. Must be called
/// before any thread is started, since the system switches users per thread.
pub(crate) fn become_main(mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let ids = (|| {
        let number = |word: OsString| word.to_str()?.parse::<u32>().ok();
        let (uid, gid) = (number(words.next()?)?, number(words.next()?)?);
        let groups = words.next()?;
        let groups = groups.to_str()?.split(',').filter(|word| !word.is_empty());
        let groups: Option<Vec<u32>> = groups.map(|word| word.parse().ok()).collect();
        Some((uid, gid, groups?))
    })();
    let (Some((uid, gid, groups)), Some(program)) = (ids, words.next()) else {
        return ExitCode::from(2);
    };
    if let Err(error) = become_user(uid, gid, &groups) {
        write_error(&format!("cannot become the user with id {uid}: {error}"));
        return ExitCode::from(126);
    }
    let (program, words) = (PathBuf::from(program), words.collect::<Vec<_>>());
    let mut error = Command::new(&program).args(&words).exec();
    if runs_by_shell(&program, &error) {
        error = Command::new(SHELL).arg(&program).args(&words).exec();
    }
    write_error(&describe_start_failure(&program, &error));
    match error.kind() {
        io::ErrorKind::NotFound => ExitCode::from(127),
        _ => ExitCode::from(126),
    }
}

fn become_user(uid: u32, gid: u32, groups: &[u32]) -> io::Result<()> {
    use rustix::process::{Gid, Uid};
    let groups: Vec<Gid> = groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    rustix::thread::set_thread_groups(&groups)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    let is_changed = rustix::process::getuid() == uid
        && rustix::process::geteuid() == uid
        && rustix::process::getegid() == gid;
    match is_changed {
        true => Ok(()),
        false => Err(io::Error::other("the system did not change it")),
    }
}

/// Prints a message on standard error, which is the action's.
fn write_error(words: &str) {
    use io::Write as _;
    // If the message is not read, the exit code remains.
    let _ = writeln!(io::stderr(), "{words}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_and_somebody_who_is_not_there_are_told_apart() {
        let name = "there-is-no-such-user";
        let error = LocalAccount::find(name).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no user \"there-is-no-such-user\" on this node"
        );
        let found = LocalAccount::find("nobody");
        match rustix::process::geteuid().is_root() {
            true => assert_ne!(found.unwrap().unwrap().uid, 0),
            false => assert!(matches!(found, Err(AccountError::NotRoot { .. }))),
        }
    }

    #[test]
    fn what_somebody_else_put_there_is_not_used() {
        let place = tempfile::tempdir().unwrap();
        let private = PrivateDirectory {
            directory: place.path().to_owned(),
            uid: 1,
            gid: 1,
        };
        let error = private.create().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn a_link_is_handed_over_and_not_what_it_leads_to() {
        use std::os::unix::fs::MetadataExt;
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("inside"), place.path().join("outside"));
        std::fs::create_dir_all(inside.join("deep")).unwrap();
        std::fs::write(inside.join("deep/file"), "x").unwrap();
        std::fs::write(&outside, "x").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("deep/link")).unwrap();
        let private = PrivateDirectory {
            directory: inside.clone(),
            uid: 65_534,
            gid: 65_534,
        };
        private.hand_over().unwrap();
        let owner = |path: &Path| path.symlink_metadata().unwrap().uid();
        for given in ["", "deep", "deep/file", "deep/link"] {
            assert_eq!(owner(&inside.join(given)), 65_534, "{given}");
        }
        assert_eq!(owner(&outside), 0);
    }
}
