//! Runs a program that prints facts: [`run_fact_program`].
//!
//! Invariant: the program and all processes that it started end when its time is over or the agent
//! ends; and no more output is read than a server accepts.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::defaults::{FACTS_BYTES, FACTS_TIMEOUT};
use crate::process::ATTENDANT;

/// Path of `program` in `first` or in a directory of `PATH`; `None` if it is not installed.
pub(super) fn find_program(
    program: &str,
    first: &Path,
    variables: &[(String, String)],
) -> Option<PathBuf> {
    let path = variables.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or("", |(_, value)| value.as_str());
    let places = path.split(':').filter(|place| place.starts_with('/'));
    std::iter::once(first)
        .chain(places.map(Path::new))
        .map(|place| place.join(program))
        .find(|file| file.is_file())
}

/// The JSON object that the program prints, or the reason for which there is none. When the future
/// is dropped, or the agent ends, the attendant's stdin is closed, and the program is ended.
pub(super) async fn run_fact_program(
    attendant: &[OsString],
    program: &Path,
    args: &[&str],
    variables: &[(String, String)],
) -> Result<Map<String, Value>, String> {
    let (executable, words) = attendant.split_first().ok_or("no wrapper is configured")?;
    let mut child = Command::new(executable)
        .args(words)
        .arg(ATTENDANT)
        .arg(program)
        .args(args)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let alive = child.stdin.take();
    let stdout = child.stdout.take();
    let text = tokio::time::timeout(FACTS_TIMEOUT, read(stdout)).await;
    let text = text.unwrap_or_else(|_| Err(format!("no answer within {FACTS_TIMEOUT:?}")));
    if text.is_err() {
        drop(alive);
        let _ = tokio::time::timeout(FACTS_TIMEOUT, child.wait()).await;
        return text.map(|_| Map::new());
    }
    let ended = tokio::time::timeout(FACTS_TIMEOUT, child.wait()).await;
    let told = match (text, ended) {
        (Err(why), _) => Err(why),
        (Ok(_), Err(_)) => Err(format!("it does not end within {FACTS_TIMEOUT:?}")),
        (Ok(_), Ok(Err(error))) => Err(error.to_string()),
        (Ok(text), Ok(Ok(status))) if status.success() => Ok(text),
        (Ok(_), Ok(Ok(status))) => Err(status.to_string()),
    };
    decode_errors::json::from_slice(&told?).map_err(|error| format!("its output: {error}"))
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
    use super::*;

    #[test]
    fn a_relative_path_finds_nothing() {
        let variables = [("PATH".to_owned(), ".:bin:".to_owned())];
        let nowhere = Path::new("/nonexistent");
        assert_eq!(find_program("no-such-program", nowhere, &variables), None);
    }
}
