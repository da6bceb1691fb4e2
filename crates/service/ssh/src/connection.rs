//! Settings to reach a node over SSH: [`SshConnection`], with the keys of `/inventory/v1` and of
//! `targets[]`.
//!
//! Invariants: secrets are [`SecretString`]s from here inward; an error names the invalid key and
//! never contains its value.

use std::time::Duration;

use partial_debug::partial_debug;
use pcp::Certname;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use crate::defaults::{CONNECT_TIMEOUT, CONNECT_TIMEOUT_MAX, NAME_BYTES, SECRET_BYTES};

/// Keys that are not secret.
pub const PARAMETERS: [&str; 10] = [
    "user",
    "port",
    "hostname",
    "connect-timeout",
    "run-as",
    "run-as-command",
    "tmpdir",
    "tty",
    REPLACES_AGENT,
    "extensions",
];

/// Key that permits a stored connection to be used for a node whose agent is away.
pub const REPLACES_AGENT: &str = "replaces-agent";

/// Keys that are secret.
pub const SENSITIVE_PARAMETERS: [&str; 3] = ["password", "private-key-content", "sudo-password"];

/// Host, account and options of a connection.
#[derive(Clone)]
pub struct SshConnection {
    /// Host name or address; `None` if it is the certname.
    pub(crate) host: Option<String>,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: Option<SecretString>,
    pub(crate) private_key: Option<SecretString>,
    pub(crate) run_as: Option<String>,
    pub(crate) sudo_password: Option<SecretString>,
    /// Program and arguments to use instead of `sudo`; empty for `sudo`.
    pub(crate) run_as_command: Vec<String>,
    pub(crate) connect_timeout: Duration,
    pub(crate) tty: bool,
    pub(crate) tmpdir: Option<String>,
    /// True if a stored connection may be used for a node that had an agent, while the agent is
    /// away.
    pub(crate) replaces_agent: bool,
}

/// Error: a key of a connection is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` {why}")]
pub struct SshConnectionError {
    /// Name of the key.
    pub key: String,
    /// Cause of the error, without the value.
    pub why: String,
}

// === impl SshConnection ===

impl SshConnection {
    /// Parses and checks both kinds of keys.
    pub fn read(
        parameters: &Map<String, Value>,
        sensitive: &Map<String, Value>,
    ) -> Result<Self, SshConnectionError> {
        check_keys(parameters, &PARAMETERS)?;
        check_keys(sensitive, &SENSITIVE_PARAMETERS)?;
        let connection = Self {
            host: name(parameters, "hostname")?,
            port: port(parameters)?,
            user: name(parameters, "user")?
                .ok_or_else(|| invalid_key("user", "is missing: the account to log in as"))?,
            password: secret(sensitive, "password")?,
            private_key: secret(sensitive, "private-key-content")?,
            run_as: name(parameters, "run-as")?,
            sudo_password: secret(sensitive, "sudo-password")?,
            run_as_command: read_words(parameters, "run-as-command")?,
            connect_timeout: connect_timeout(parameters)?,
            tty: flag(parameters, "tty")?,
            tmpdir: tmpdir(parameters)?,
            replaces_agent: flag(parameters, REPLACES_AGENT)?,
        };
        if let Some(extensions) = parameters.get("extensions")
            && !matches!(extensions, Value::Object(_) | Value::Null)
        {
            return Err(invalid_key("extensions", "must be an object"));
        }
        if connection.password.is_none() && connection.private_key.is_none() {
            let why = "or private-key-content is needed to log in";
            return Err(invalid_key("password", why));
        }
        if let Some(key) = &connection.private_key {
            crate::key::parse(key).map_err(|why| invalid_key("private-key-content", &why))?;
        }
        Ok(connection)
    }

    /// True if the connection is also for nodes that have agents. The user who stores such a
    /// connection decides where tasks for these nodes run.
    pub fn replaces_agent(&self) -> bool {
        self.replaces_agent
    }

    /// Host name or address of a node.
    pub(crate) fn host<'a>(&'a self, certname: &'a Certname) -> &'a str {
        self.host.as_deref().unwrap_or(certname.as_str())
    }
}

// Leaves out the secrets.
partial_debug!(SshConnection {
    host,
    port,
    user,
    run_as
});

// === reading ===

fn invalid_key(key: &str, why: &str) -> SshConnectionError {
    let (key, why) = (key.to_owned(), why.to_owned());
    SshConnectionError { key, why }
}

fn check_keys(given: &Map<String, Value>, known: &[&str]) -> Result<(), SshConnectionError> {
    match given.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let shown: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
            let why = format!("is not known here; known are {}", known.join(", "));
            Err(invalid_key(&shown, &why))
        }
    }
}

/// Returns a text; `None` if it is absent or null.
fn text<'a>(
    given: &'a Map<String, Value>,
    key: &str,
) -> Result<Option<&'a str>, SshConnectionError> {
    match given.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(invalid_key(key, "must be a text")),
    }
}

/// Returns a user or host name, which becomes an argument of programs and a part of addresses.
fn name(given: &Map<String, Value>, key: &str) -> Result<Option<String>, SshConnectionError> {
    let Some(text) = text(given, key)? else {
        return Ok(None);
    };
    if text.is_empty() || text.len() > NAME_BYTES {
        return Err(invalid_key(key, "must have 1 to 255 bytes"));
    }
    if text.starts_with('-') || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        let why = "must not begin with a dash nor contain spaces or control characters";
        return Err(invalid_key(key, why));
    }
    Ok(Some(text.to_owned()))
}

fn secret(
    given: &Map<String, Value>,
    key: &str,
) -> Result<Option<SecretString>, SshConnectionError> {
    let Some(text) = text(given, key)? else {
        return Ok(None);
    };
    if text.is_empty() || text.len() > SECRET_BYTES || text.contains('\0') {
        return Err(invalid_key(key, "must have 1 to 65536 bytes and no NUL"));
    }
    // A password is one line of the dialog with `sudo` or sshd.
    if key != "private-key-content" && text.contains(['\n', '\r']) {
        return Err(invalid_key(key, "must be one line"));
    }
    Ok(Some(SecretString::from(text)))
}

fn port(given: &Map<String, Value>) -> Result<u16, SshConnectionError> {
    match given.get("port") {
        None | Some(Value::Null) => Ok(22),
        Some(value) => value
            .as_u64()
            .and_then(|port| u16::try_from(port).ok())
            .filter(|port| *port != 0)
            .ok_or_else(|| invalid_key("port", "must be a number from 1 to 65535")),
    }
}

fn connect_timeout(given: &Map<String, Value>) -> Result<Duration, SshConnectionError> {
    match given.get("connect-timeout") {
        None | Some(Value::Null) => Ok(CONNECT_TIMEOUT),
        Some(value) => value
            .as_u64()
            .map(Duration::from_secs)
            .filter(|wait| !wait.is_zero() && *wait <= CONNECT_TIMEOUT_MAX)
            .ok_or_else(|| {
                invalid_key(
                    "connect-timeout",
                    "must be a number of seconds from 1 to 600",
                )
            }),
    }
}

fn flag(given: &Map<String, Value>, key: &str) -> Result<bool, SshConnectionError> {
    match given.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(invalid_key(key, "must be true or false")),
    }
}

/// Returns a program and its arguments.
fn read_words(given: &Map<String, Value>, key: &str) -> Result<Vec<String>, SshConnectionError> {
    let why = "must be a list of texts, the program first";
    let list = match given.get(key) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(invalid_key(key, why)),
    };
    let words: Option<Vec<String>> = list
        .iter()
        .map(|word| word.as_str().map(str::to_owned))
        .collect();
    let words = words.ok_or_else(|| invalid_key(key, why))?;
    let bytes: usize = words.iter().map(String::len).sum();
    let clean = words
        .iter()
        .all(|word| !word.contains(|c: char| c.is_control()));
    if bytes > NAME_BYTES * 16 || !clean || words.first().is_some_and(String::is_empty) {
        return Err(invalid_key(key, "is too long or has control characters"));
    }
    Ok(words)
}

fn tmpdir(given: &Map<String, Value>) -> Result<Option<String>, SshConnectionError> {
    let Some(text) = text(given, "tmpdir")? else {
        return Ok(None);
    };
    let fits = text.starts_with('/') && text.len() <= NAME_BYTES;
    if !fits || text.contains(|c: char| c.is_control()) {
        let why = "must be an absolute path of at most 255 bytes without control characters";
        return Err(invalid_key("tmpdir", why));
    }
    Ok(Some(text.trim_end_matches('/').to_owned()))
}

// === for the seal ===

impl SshConnection {
    /// All keys, with secrets in plain text, for sealing only.
    pub(crate) fn to_exposed(&self) -> Map<String, Value> {
        let open = |secret: &Option<SecretString>| match secret {
            Some(secret) => Value::from(secret.expose_secret()),
            None => Value::Null,
        };
        let mut all = Map::new();
        let mut put = |key: &str, value: Value| all.insert(key.to_owned(), value);
        put("hostname", self.host.as_deref().into());
        put("port", self.port.into());
        put("user", self.user.as_str().into());
        put("run-as", self.run_as.as_deref().into());
        put("run-as-command", self.run_as_command.clone().into());
        put("connect-timeout", self.connect_timeout.as_secs().into());
        put("tty", self.tty.into());
        put("tmpdir", self.tmpdir.as_deref().into());
        put(REPLACES_AGENT, self.replaces_agent.then_some(true).into());
        put("password", open(&self.password));
        put("private-key-content", open(&self.private_key));
        put("sudo-password", open(&self.sudo_password));
        all
    }

    /// Parses the output of [`Self::to_exposed`], or an entry of `targets[]` without the keys that
    /// are not of the connection.
    pub fn read_flat(mut all: Map<String, Value>) -> Result<Self, SshConnectionError> {
        let mut sensitive = Map::new();
        for key in SENSITIVE_PARAMETERS {
            if let Some((key, value)) = all.remove_entry(key) {
                sensitive.insert(key, value);
            }
        }
        Self::read(&all, &sensitive)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn read(parameters: Value, sensitive: Value) -> Result<SshConnection, SshConnectionError> {
        SshConnection::read(&map(parameters), &map(sensitive))
    }

    #[test]
    fn defaults_stand_where_nothing_is_said() {
        let connection = read(json!({"user": "root"}), json!({"password": "x"})).unwrap();
        assert_eq!(connection.port, 22);
        assert_eq!(connection.connect_timeout, CONNECT_TIMEOUT);
        assert_eq!(connection.host(&"n1".parse().unwrap()), "n1");
    }

    #[test]
    fn each_wrong_key_is_named_and_no_value_is_shown() {
        let cases = [
            (json!({}), json!({"password": "canary"}), "user"),
            (json!({"user": "-canary"}), json!({"password": "x"}), "user"),
            (
                json!({"user": "a canary"}),
                json!({"password": "x"}),
                "user",
            ),
            (json!({"user": "a"}), json!({}), "password"),
            (json!({"user": "a"}), json!({"password": 7}), "password"),
            (
                json!({"user": "a"}),
                json!({"password": "a\ncanary"}),
                "password",
            ),
            (
                json!({"user": "a", "port": 0}),
                json!({"password": "x"}),
                "port",
            ),
            (
                json!({"user": "a", "port": 70_000}),
                json!({"password": "x"}),
                "port",
            ),
            (
                json!({"user": "a", "tmpdir": "canary"}),
                json!({"password": "x"}),
                "tmpdir",
            ),
            (
                json!({"user": "a", "tty": "canary"}),
                json!({"password": "x"}),
                "tty",
            ),
            (
                json!({"user": "a", "run-as-command": ["", 1]}),
                json!({"password": "x"}),
                "run-as-command",
            ),
            (
                json!({"user": "a", "hostname": "h\u{0}canary"}),
                json!({"password": "x"}),
                "hostname",
            ),
            (
                json!({"user": "a", "connect-timeout": 0}),
                json!({"password": "x"}),
                "connect-timeout",
            ),
            (
                json!({"user": "a", "canari": 1}),
                json!({"password": "x"}),
                "canari",
            ),
            (
                json!({"user": "a"}),
                json!({"private-key-content": "canary"}),
                "private-key-content",
            ),
        ];
        for (parameters, sensitive, key) in cases {
            let error = read(parameters, sensitive).unwrap_err();
            assert_eq!(error.key, key);
            assert!(!error.to_string().contains("canary"), "{error}");
        }
    }

    #[test]
    fn what_is_sealed_reads_back_and_nothing_shows_it() {
        let parameters = json!({
            "user": "a", "run-as": "root", "port": 2222, "tmpdir": "/var/tmp/", "tty": true,
            "run-as-command": ["doas", "-u"], "hostname": "10.0.0.1", "connect-timeout": 3,
            "replaces-agent": true,
        });
        let sensitive = json!({"password": "canary", "sudo-password": "canary"});
        let connection = read(parameters, sensitive).unwrap();
        let again = SshConnection::read_flat(connection.to_exposed()).unwrap();
        assert_eq!(again.to_exposed(), connection.to_exposed());
        assert_eq!(again.tmpdir.as_deref(), Some("/var/tmp"));
        assert!(again.replaces_agent());
        assert!(!format!("{connection:?}").contains("canary"));
    }
}
