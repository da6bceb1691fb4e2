//! The program that gives the version of catalogs: [`ConfigVersion`].
//!
//! `config_version` of `environment.conf` is a command line for the shell; a relative path at its begin is
//! below the environment.
//!
//! Invariant: a program ends within a time, together with all processes of its group, and its output is
//! bounded.

use std::io::{PipeReader, Read as _, pipe};
use std::os::unix::process::CommandExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::EnvironmentOnDisk;
use super::on_disk::setting;
use super::text_file::{EnvironmentReadError, read_if_exists};
use crate::defaults::{CONFIG_VERSION_BYTES_MAX, CONFIG_VERSION_TIME_MAX};

/// A program whose output is the version of a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigVersion {
    command: String,
}

/// A version that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ConfigVersionError {
    #[error(transparent)]
    Read(#[from] EnvironmentReadError),
    #[error(
        "config_version in {}: the variable ${name} is unknown; use $environment, $environmentpath or \
         $codedir", path.display()
    )]
    UnknownVariable { path: PathBuf, name: String },
    #[error("Execution of config_version command `{command}` failed: {cause}")]
    Failed { command: String, cause: String },
}

impl EnvironmentOnDisk {
    /// The program that `environment.conf` names; `None` if it names none.
    ///
    /// # Errors
    /// The file cannot be read, or the command has an unknown variable.
    pub fn config_version(&self) -> Result<Option<ConfigVersion>, ConfigVersionError> {
        let path = self.root.join("environment.conf");
        let text = read_if_exists(&path)?.unwrap_or_default();
        let command = match setting(&text, "config_version") {
            None | Some("") => return Ok(None),
            Some(command) if command.starts_with('$') => command.to_owned(),
            Some(command) => absolute(&self.root, command),
        };
        let environmentpath = self.root.parent().unwrap_or(&self.root);
        let codedir = environmentpath.parent().unwrap_or(environmentpath);
        let value = |name: &str| match name {
            "environment" => Some(self.name.clone()),
            "environmentpath" => Some(environmentpath.display().to_string()),
            "codedir" => Some(codedir.display().to_string()),
            _ => None,
        };
        match interpolate(&command, value) {
            Ok(command) => Ok(Some(ConfigVersion { command })),
            Err(name) => Err(ConfigVersionError::UnknownVariable { path, name }),
        }
    }
}

impl ConfigVersion {
    /// Runs the program and returns its output without the white space around it.
    ///
    /// # Errors
    /// The program cannot be started, fails, takes too long or writes too much.
    pub fn run(&self) -> Result<String, ConfigVersionError> {
        self.output().map_err(|cause| ConfigVersionError::Failed {
            command: self.command.clone(),
            cause,
        })
    }

    fn output(&self) -> Result<String, String> {
        let (reader, writer) = pipe().map_err(|error| error.to_string())?;
        let other = writer.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new("/bin/sh");
        command.arg0("sh").arg("-c").arg(&self.command);
        command.envs([("LANG", "C"), ("LC_ALL", "C")]);
        command.stdin(Stdio::null()).stdout(writer).stderr(other);
        let mut child = command
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        // this process must not keep the pipe open
        drop(command);
        let since = Instant::now();
        let output = read_bounded(reader);
        let left = CONFIG_VERSION_TIME_MAX.saturating_sub(since.elapsed());
        // it may have closed its output and go on
        let has_ended = output.is_ok() && wait_until_dead(&child, left);
        // Before it is reaped, so that no other group has its id. It may have ended by itself.
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        let status = child.wait().map_err(|error| error.to_string())?;
        match has_ended {
            true => self.check(&output?, status),
            false => Err(output.err().unwrap_or_else(too_slow)),
        }
    }

    fn check(&self, output: &[u8], status: ExitStatus) -> Result<String, String> {
        let text = String::from_utf8_lossy(output);
        match status.success() {
            true => Ok(text.trim().to_owned()),
            false => Err(format!(
                "Execution of '{}' returned {}: {}",
                self.command,
                status.code().unwrap_or(-1),
                text.trim()
            )),
        }
    }
}

/// True if the program ended within the time; it is not reaped.
fn wait_until_dead(child: &Child, time: Duration) -> bool {
    let Ok(pidfd) = pidfd_open(Pid::from_child(child), PidfdFlags::empty()) else {
        return false;
    };
    let mut polled = [PollFd::new(&pidfd, PollFlags::IN)];
    let timeout = Timespec::try_from(time).ok();
    matches!(poll(&mut polled, timeout.as_ref()), Ok(ready) if ready > 0)
}

fn too_slow() -> String {
    format!(
        "it takes longer than {} s",
        CONFIG_VERSION_TIME_MAX.as_secs()
    )
}

/// All output until its end, on a thread that ends with it.
fn read_bounded(reader: PipeReader) -> Result<Vec<u8>, String> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let mut output = Vec::new();
        let limit = CONFIG_VERSION_BYTES_MAX as u64 + 1;
        let read = reader.take(limit).read_to_end(&mut output);
        // the caller may have given up
        let _ = sender.send(read.map(|_| output));
    });
    match receiver.recv_timeout(CONFIG_VERSION_TIME_MAX) {
        Ok(Ok(output)) if output.len() > CONFIG_VERSION_BYTES_MAX => Err(format!(
            "it writes more than {} KiB",
            CONFIG_VERSION_BYTES_MAX >> 10
        )),
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(RecvTimeoutError::Timeout) => Err(too_slow()),
        Err(RecvTimeoutError::Disconnected) => Err("its output cannot be read".to_owned()),
    }
}

/// The command with an absolute path, as Ruby's `File.expand_path` makes it of the whole text.
fn absolute(root: &Path, command: &str) -> String {
    let mut path = PathBuf::new();
    for component in root.join(command).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
    }
    path.to_string_lossy().into_owned()
}

/// The text with the values of `$name` and `${name}`, or the name that has none.
fn interpolate(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push_str(before);
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = match after.strip_prefix('{').and_then(|it| it.split_once('}')) {
            Some(found) => found,
            None => after.split_at(after.find(|c| !is_name(c)).unwrap_or(after.len())),
        };
        rest = after;
        match name {
            "" => result.push('$'),
            name => result.push_str(&value(name).ok_or_else(|| name.to_owned())?),
        }
    }
    result.push_str(rest);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::Instant;

    use super::{ConfigVersionError, interpolate};
    use crate::EnvironmentOnDisk;
    use crate::defaults::CONFIG_VERSION_TIME_MAX;

    fn version(command: &str) -> Result<Option<String>, ConfigVersionError> {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("environments/production");
        fs::create_dir_all(root.join("scripts")).unwrap();
        let conf = format!("modulepath = m\nconfig_version = {command}\n");
        fs::write(root.join("environment.conf"), conf).unwrap();
        let script = "#!/bin/sh\necho \"$# $1 $2\"\n";
        fs::write(root.join("scripts/version.sh"), script).unwrap();
        let open = EnvironmentOnDisk::open("production", &root, &[], Path::new("/no"));
        let named = open.unwrap().config_version()?;
        let run = |it: super::ConfigVersion| it.run();
        let version = named.map(run).transpose();
        let place = directory.path().display().to_string();
        version.map(|it| it.map(|it| it.replace(&place, "")))
    }

    #[test]
    fn the_output_of_the_program_is_the_version() {
        let run = |command: &str| version(command).unwrap().unwrap();
        assert_eq!(run("/bin/echo v42"), "v42");
        assert_eq!(run("/bin/echo   a b; echo c >&2"), "a b\nc");
        let script = "/bin/sh $codedir/environments/production/scripts/version.sh $environmentpath ${environment}";
        assert_eq!(run(script), "2 /environments production");
        assert_eq!(run("/bin/true"), "");
        assert_eq!(version("").unwrap(), None);
        let relative = version("scripts/version.sh x").unwrap_err().to_string();
        assert!(
            relative.contains("/environments/production/scripts/version.sh x` failed"),
            "{relative}"
        );
        assert!(
            relative.contains("returned 126"),
            "it is not executable: {relative}"
        );
    }

    #[test]
    fn failures_name_command_and_cause() {
        let failure = |command: &str| version(command).unwrap_err().to_string();
        let failed = failure("/bin/sh -c 'echo no luck; exit 3' x");
        let expected = "Execution of config_version command `/bin/sh -c 'echo no luck; exit 3' x` failed: \
                        Execution of '/bin/sh -c 'echo no luck; exit 3' x' returned 3: no luck";
        assert_eq!(failed, expected);
        assert!(failure("/bin/kill -9 $$").contains("returned -1"));
        assert!(failure("/bin/echo $vardir").contains("the variable $vardir is unknown"));
        assert!(failure("/usr/bin/yes").contains("more than 64 KiB"));
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_its_children() {
        for command in [
            "/bin/sleep 1000 & echo $! ; sleep 1000",
            // its output ends before it does
            "/bin/sh -c 'exec >&- 2>&-; sleep 1000' x",
        ] {
            let since = Instant::now();
            let error = version(command).unwrap_err();
            assert!(error.to_string().contains("takes longer than"), "{error}");
            assert!(since.elapsed() < 2 * CONFIG_VERSION_TIME_MAX);
        }
    }

    #[test]
    fn dollars_without_a_name_stay() {
        let value = |name: &str| (name == "x").then(|| "1".to_owned());
        assert_eq!(interpolate("$x${x}$ $$x", value).unwrap(), "11$ $1");
        assert_eq!(interpolate("${y", value), Ok("${y".to_owned()));
        assert_eq!(interpolate("$y", value), Err("y".to_owned()));
    }
}
