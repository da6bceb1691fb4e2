//! Address of the server for files of tasks, as sent to agents. Main type: [`FileServer`].
//!
//! A request names the path of each file, and agents know servers by `primary-uris` of their own
//! configuration. That may be a puppetserver with other code, so a request names this server, too.
//! Invariant: no agent gets a member that it does not know. A stock pxp-agent, whose requests have
//! none for servers, appends a path to `https://HOST:PORT`; a path that begins with `@` makes that
//! the user part of an address whose host is named behind it.

use std::sync::OnceLock;

use pxp::action;
use serde_json::Value;
use serde_json::value::RawValue;

/// Address of the server that has the files of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileServer {
    authority: String,
    is_sent_to_stock_agents: bool,
}

/// The text is not a valid address of a file server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is not of the form https://HOST or https://HOST:PORT")]
pub struct FileServerError;

/// The parameters of a job for stock agents, made when the first of them is needed.
#[derive(Debug, Default)]
pub(crate) struct StockParams {
    /// Parameters of the job's own action.
    pub(crate) action: OnceLock<Box<RawValue>>,
    /// Parameters of the task that replaces the action.
    pub(crate) task: OnceLock<Box<RawValue>>,
    /// The reason to send the job's action to no stock agent.
    pub(crate) refusal: OnceLock<Option<String>>,
}

// === impl FileServer ===

impl FileServer {
    /// The server at `https://HOST:PORT`.
    pub fn new(url: &str) -> Result<Self, FileServerError> {
        let authority = url.strip_prefix("https://").ok_or(FileServerError)?;
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
        match !authority.is_empty() && authority.chars().all(is_plain) {
            true => Ok(Self {
                authority: authority.to_owned(),
                is_sent_to_stock_agents: false,
            }),
            false => Err(FileServerError),
        }
    }

    /// The same server, also sent to stock agents, whose configuration does not name it.
    #[must_use]
    pub fn with_stock_agents(self) -> Self {
        Self {
            is_sent_to_stock_agents: true,
            ..self
        }
    }

    /// The address for agents that take servers in requests.
    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.authority)
    }

    /// The parameters of an action for an agent that takes no servers in requests.
    pub(crate) fn stock_params<'p>(
        &self,
        params: &'p RawValue,
        made: &'p OnceLock<Box<RawValue>>,
    ) -> &'p RawValue {
        match self.is_sent_to_stock_agents {
            true => made.get_or_init(|| self.rewrite(params)),
            false => params,
        }
    }

    /// Rewrites the paths of files in the parameters of `task run`, `script run` and `file
    /// download`.
    fn rewrite(&self, params: &RawValue) -> Box<RawValue> {
        let Ok(mut params) = action::decode::<Value>(params) else {
            return params.to_owned();
        };
        if let Some(script) = params.get_mut("script") {
            self.rewrite_file(script);
        }
        let files = params.get_mut("files").and_then(Value::as_array_mut);
        for file in files.into_iter().flatten() {
            self.rewrite_file(file);
        }
        action::encode(&params)
    }

    fn rewrite_file(&self, file: &mut Value) {
        let Some(Value::String(path)) = file.pointer_mut("/uri/path") else {
            return;
        };
        // A directory has no path of its own.
        if path.starts_with('/') {
            *path = format!("@{}{path}", self.authority);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        action::encode(value)
    }

    fn rewritten(server: &FileServer, value: &Value) -> Value {
        let params = raw(value);
        let made = OnceLock::new();
        serde_json::from_str(server.stock_params(&params, &made).get()).unwrap()
    }

    #[test]
    fn addresses_are_https_with_a_host_and_nothing_else() {
        for url in [
            "https://tutti.example.com",
            "https://tutti:8141/",
            "https://[::1]:8140",
        ] {
            let server = FileServer::new(url).unwrap();
            assert_eq!(server.url(), url.trim_end_matches('/'));
        }
        for url in [
            "http://tutti",
            "tutti:8140",
            "https://",
            "https://tutti/x",
            "https://me@tutti",
            "https://tutti?x",
        ] {
            assert_eq!(FileServer::new(url), Err(FileServerError), "{url}");
        }
    }

    #[test]
    fn stock_agents_are_told_by_the_paths_of_files_where_they_would_not_find_it() {
        let params = json!({
            "task": "m",
            "input": {"path": "/etc"},
            "files": [{"filename": "x", "uri": {"path": "/puppet/x", "params": {"environment": "e"}}}],
            "script": {"uri": {"path": "/puppet/y"}},
        });
        let server = FileServer::new("https://tutti:8141").unwrap();
        assert_eq!(rewritten(&server, &params), params);
        let server = server.with_stock_agents();
        let told = rewritten(&server, &params);
        assert_eq!(told["files"][0]["uri"]["path"], "@tutti:8141/puppet/x");
        assert_eq!(told["script"]["uri"]["path"], "@tutti:8141/puppet/y");
        assert_eq!(
            told["files"][0]["uri"]["params"],
            json!({"environment": "e"})
        );
        assert_eq!(told["input"], params["input"]);
        let directory = json!({"files": [{"uri": {"path": "", "params": {}}}]});
        assert_eq!(rewritten(&server, &directory), directory);
    }
}
