//! `tutti` as a person at the site uses it. Main type: [`Said`].

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use testkit::client::Client;
use testkit::installation::Installation;
use tokio::process::Command;

/// What a command printed, and its exit code.
#[derive(Clone, Debug)]
pub struct Said {
    /// Both outputs, the standard one first.
    pub text: String,
    /// 0: all succeeded; 1: a node did not; 2: the command could not be carried out.
    pub code: Option<i32>,
}

/// Where the token is.
pub(crate) fn token_file(installation: &Installation) -> PathBuf {
    installation.root().join("token")
}

/// Keeps the client's token for the command line.
pub fn keep_token(installation: &Installation, client: &Client) -> Result<()> {
    Ok(std::fs::write(token_file(installation), client.token())?)
}

/// Which server, trusted by what, with which token: as flags.
pub(crate) fn connection(installation: &Installation) -> Vec<String> {
    let ca = installation.ca_dir().join("ca_crt.pem");
    vec![
        "--service-url".to_owned(),
        format!("https://localhost:{}", installation.api_port()),
        "--cacert".to_owned(),
        ca.display().to_string(),
        "--token-file".to_owned(),
        token_file(installation).display().to_string(),
    ]
}

/// Runs `tutti arguments…` to its end.
pub async fn run(installation: &Installation, arguments: &[&str]) -> Result<Said> {
    let mut command = Command::new(installation.tutti());
    command
        .args(arguments)
        .args(connection(installation))
        .kill_on_drop(true);
    let output = command.output().await.context("cannot run tutti")?;
    let text = [output.stdout, output.stderr].concat();
    Ok(Said {
        text: String::from_utf8_lossy(&text).into_owned(),
        code: output.status.code(),
    })
}

// === impl Said ===

impl Said {
    /// Asserts an exit code, and that all of these were said.
    #[track_caller]
    pub fn expect(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.text);
        for word in words {
            assert!(self.text.contains(word), "{word} is not in:\n{}", self.text);
        }
    }
}
