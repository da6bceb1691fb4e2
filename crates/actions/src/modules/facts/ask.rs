//! Running a program that prints facts: [`ask`].
//!
//! The rule: the program's whole process group ends when its time is over, and no more is read
//! than a server takes.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::defaults::{FACTS_BYTES, FACTS_TIMEOUT};

/// Where Puppet's own packages put links to their programs.
const PUPPET_BIN: &str = "/opt/puppetlabs/bin";

/// Where `program` is installed.
pub(super) fn find(program: &str, variables: &[(String, String)]) -> Option<PathBuf> {
    let path = variables.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or("", |(_, value)| value.as_str());
    let places = std::iter::once(PUPPET_BIN).chain(path.split(':'));
    let places = places.filter(|place| place.starts_with('/'));
    places
        .map(|place| Path::new(place).join(program))
        .find(|file| file.is_file())
}

/// The JSON object that it prints, or why there is none.
pub(super) async fn ask(
    program: &Path,
    args: &[&str],
    variables: &[(String, String)],
) -> Result<Map<String, Value>, String> {
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| error.to_string())?;
    let stdout = child.stdout.take();
    let group = child.id().and_then(|id| i32::try_from(id).ok());
    let text = tokio::time::timeout(FACTS_TIMEOUT, read(stdout)).await;
    let text = text.unwrap_or_else(|_| Err(format!("no answer within {FACTS_TIMEOUT:?}")));
    if text.is_err()
        && let Some(group) = group.and_then(Pid::from_raw)
    {
        // Nobody has waited for the leader yet, so the group is still its own, also when it has
        // ended and a child that it left holds the pipe.
        let _ = kill_process_group(group, Signal::KILL);
    }
    let ended = tokio::time::timeout(FACTS_TIMEOUT, child.wait()).await;
    let told = match (text, ended) {
        (Err(why), _) => Err(why),
        (Ok(_), Err(_)) => Err(format!("it does not end within {FACTS_TIMEOUT:?}")),
        (Ok(_), Ok(Err(error))) => Err(error.to_string()),
        (Ok(text), Ok(Ok(status))) if status.success() => Ok(text),
        (Ok(_), Ok(Ok(status))) => Err(status.to_string()),
    };
    serde_json::from_slice(&told?).map_err(|error| format!("not a JSON object: {error}"))
}

async fn read(stdout: Option<impl AsyncRead + Unpin>) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    if let Some(stdout) = stdout {
        let read = stdout.take(FACTS_BYTES + 1).read_to_end(&mut text).await;
        read.map_err(|error| error.to_string())?;
    }
    match text.len() as u64 > FACTS_BYTES {
        true => Err(format!("it prints more than {FACTS_BYTES} bytes")),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    async fn script(body: &str) -> Result<Map<String, Value>, String> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("facter");
        std::fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = directory.path().display().to_string();
        let variables = [("PATH".to_owned(), format!("{path}:/usr/bin:/bin"))];
        let found = find("facter", &variables).unwrap();
        ask(&found, &["--json"], &variables).await
    }

    #[tokio::test]
    async fn what_is_not_an_object_in_time_and_size_is_told() {
        let good = script("test \"$1\" = --json && echo '{\"kernel\": \"Linux\"}'").await;
        assert_eq!(good.unwrap()["kernel"], "Linux");
        for (body, words) in [
            ("echo '{}'; exit 3", "exit status: 3"),
            ("echo kernel = Linux", "not a JSON object"),
            ("echo '[1]'", "not a JSON object"),
            ("head -c 2000000 /dev/zero", "more than"),
        ] {
            let error = script(body).await.unwrap_err();
            assert!(error.contains(words), "{body}: {error}");
        }
    }

    #[test]
    fn a_relative_path_finds_nothing() {
        let variables = [("PATH".to_owned(), ".:bin:".to_owned())];
        assert_eq!(find("no-such-program", &variables), None);
    }
}
