//! The file of the requests. Main type: [`StateFile`].
//!
//! Invariant: a change keeps everything in the file that it does not concern.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{CanceledRerun, RerunError};
use crate::defaults::RERUN_STATE_BYTES;

const FILE: &str = "state.json";
/// Mode of the file: the arguments of Puppet in it may contain names and paths of its user.
const MODE: u32 = 0o600;
const FORMAT: u64 = 1;

/// The requests as they are in the file.
#[derive(Debug, Default)]
pub(super) struct StateFile(Map<String, Value>);

/// The requests and reruns of one scope.
#[derive(Debug, Deserialize)]
pub(super) struct ScopeState {
    pub(super) reruns: u64,
    pub(super) requests: Map<String, Value>,
    pub(super) last: Option<LastRerun>,
}

/// The newest outcome of a scope.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct LastRerun {
    /// Seconds since 1970.
    pub(super) at: f64,
    pub(super) outcome: String,
}

/// One request.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RequestState {
    pub(super) delta: f64,
    pub(super) wait: f64,
    pub(super) max_runs: u64,
    /// Seconds since the machine started; `None` until the run that made the request has ended.
    pub(super) due: Option<f64>,
    /// Seconds since 1970, by the clock at the time of the request.
    pub(super) due_at: f64,
}

// === impl StateFile ===

impl StateFile {
    /// Reads the file; `None` if there is none.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>, RerunError> {
        let path = directory.join(FILE);
        let damaged = |cause: String| RerunError::Damaged {
            path: directory.join(FILE),
            cause,
        };
        let Some(bytes) = read_bounded(&path)? else {
            return Ok(None);
        };
        let map: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if map.get("format").and_then(Value::as_u64) != Some(FORMAT) {
            return Err(damaged(format!("its format is not {FORMAT}")));
        }
        let state = Self(map);
        // A damaged scope is found here, and not halfway through a change.
        for (name, scope) in state.scopes().into_iter().flatten() {
            parse_scope(scope).map_err(|cause| damaged(format!("{name}: {cause}")))?;
        }
        Ok(Some(state))
    }

    /// The start of the machine to which times of requests refer.
    pub(super) fn boot_id(&self) -> &str {
        self.0
            .get("boot_id")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Scopes by name, in the order of their last use.
    pub(super) fn parse_scopes(&self) -> Vec<(&str, ScopeState)> {
        let scopes = self.scopes().into_iter().flatten();
        let parsed = scopes.map(|(name, scope)| Some((name.as_str(), parse_scope(scope).ok()?)));
        parsed.flatten().collect()
    }

    /// Removes the requests with these keys from all scopes, or all requests if there are none.
    pub(super) fn remove(&mut self, keys: &[String]) -> Result<Vec<CanceledRerun>, RerunError> {
        let mut canceled = Vec::new();
        let scopes = self.0.get_mut("scopes").and_then(Value::as_object_mut);
        for (name, scope) in scopes.into_iter().flatten() {
            let Some(requests) = scope.get_mut("requests").and_then(Value::as_object_mut) else {
                continue;
            };
            requests.retain(|key, _| {
                let is_removed = keys.is_empty() || keys.contains(key);
                if is_removed {
                    canceled.push(CanceledRerun {
                        run: name.clone(),
                        key: key.clone(),
                    });
                }
                !is_removed
            });
        }
        let unknown = keys
            .iter()
            .find(|key| !canceled.iter().any(|it| it.key == **key));
        match unknown {
            Some(key) => Err(RerunError::UnknownKey { key: key.clone() }),
            None => Ok(canceled),
        }
    }

    /// Replaces the file. The caller holds the lock.
    pub(super) fn write(&self, directory: &Path) -> Result<(), RerunError> {
        let mut bytes = serde_json::to_vec_pretty(&self.0).expect("texts and numbers");
        bytes.push(b'\n');
        pki::durable::write_atomic(&directory.join(FILE), &bytes, MODE)?;
        Ok(())
    }

    fn scopes(&self) -> Option<&Map<String, Value>> {
        self.0.get("scopes").and_then(Value::as_object)
    }
}

impl RequestState {
    /// The requests of a scope by key. Others than valid ones are left out.
    pub(super) fn of(scope: &ScopeState) -> Vec<(String, Self)> {
        let requests = scope.requests.iter();
        let parsed =
            requests.map(|(key, value)| Some((key.clone(), Self::deserialize(value).ok()?)));
        parsed.flatten().collect()
    }
}

fn parse_scope(scope: &Value) -> Result<ScopeState, String> {
    let scope = ScopeState::deserialize(scope).map_err(|error| error.to_string())?;
    for (key, request) in &scope.requests {
        RequestState::deserialize(request).map_err(|error| format!("request {key:?}: {error}"))?;
    }
    Ok(scope)
}

/// The content of a file of limited size; `None` if there is none. A link, a pipe or a directory is an error.
fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, RerunError> {
    let path_of = || PathBuf::from(path);
    let unreadable = |source| RerunError::Read {
        path: path_of(),
        source,
    };
    let damaged = |cause: &str| RerunError::Damaged {
        path: path_of(),
        cause: cause.to_owned(),
    };
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
            return Err(damaged("it is a link"));
        }
        Err(error) => return Err(unreadable(error)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(damaged("it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(RERUN_STATE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > RERUN_STATE_BYTES {
        return Err(damaged("it is larger than 1 MiB"));
    }
    Ok(Some(bytes))
}
