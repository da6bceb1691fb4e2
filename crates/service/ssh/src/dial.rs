//! Connection to a host with a login: [`SshSession`].
//!
//! Invariants: the host's key is checked before any credential is sent, and only the credentials of
//! the connection are tried.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pcp::Certname;
use russh::client::{self, AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::{Algorithm, HashAlg, PrivateKeyWithHashAlg, PublicKeyOrCertificate};
use russh::{Disconnect, MethodKind, Preferred};
use secrecy::{ExposeSecret, SecretString};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::SshConnection;
use crate::defaults::{AUTH_TIMEOUT, KEEPALIVE, KEEPALIVE_UNANSWERED};
use crate::host_keys::{HostKeyError, HostKeys, KnownHostKeys};
use crate::key::UserKey;

/// Rounds of prompts that a host may send before it accepts or refuses the password.
const QUESTIONS: usize = 4;

/// An SSH connection after a successful login.
pub(crate) struct SshSession {
    pub(crate) handle: Handle<SshClientHandler>,
}

/// Cause of a failed connection or login. Nothing was run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SshDialError {
    #[error("cannot connect to {place}: {why}; is sshd running there, and is the port right?")]
    Unreachable { place: String, why: String },
    #[error("{place} did not answer within {} s (connect-timeout)", waited.as_secs())]
    Slow { place: String, waited: Duration },
    #[error(transparent)]
    HostKey(#[from] HostKeyError),
    #[error("{place} speaks no SSH that is understood here: {why}")]
    Protocol { place: String, why: String },
    #[error(
        "{place} refused to let `{user}` log in by {tried}; it would take {takes}. Check the user, \
         the secret and sshd's own log"
    )]
    Refused {
        place: String,
        user: String,
        tried: &'static str,
        takes: String,
    },
    #[error("the private key cannot be used: it {0}")]
    Key(String),
}

/// Callbacks of the SSH library: the check of the host key.
pub(crate) struct SshClientHandler {
    host: String,
    port: u16,
    host_keys: HostKeys,
    known_keys: KnownHostKeys,
    refused: Arc<Mutex<Option<HostKeyError>>>,
}

impl client::Handler for SshClientHandler {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else {
            // Certificates are not requested.
            return Ok(false);
        };
        let (host, port) = (self.host.as_str(), self.port);
        let checked = self
            .host_keys
            .check(host, port, &self.known_keys, key)
            .await;
        match checked {
            Ok(()) => Ok(true),
            Err(error) => {
                *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Ok(false)
            }
        }
    }
}

/// Connects and logs in.
pub(crate) async fn dial(
    certname: &Certname,
    connection: &SshConnection,
    host_keys: &HostKeys,
) -> Result<SshSession, SshDialError> {
    let (host, port) = (connection.host(certname), connection.port);
    let place = format!("{host}:{port}");
    let recorded = host_keys.read_known(host, port).await?;
    let refused = Arc::new(Mutex::new(None));
    let client = SshClientHandler {
        host: host.to_owned(),
        port,
        host_keys: host_keys.clone(),
        known_keys: recorded.clone(),
        refused: Arc::clone(&refused),
    };
    let config = Arc::new(config(&recorded));
    let connected = timeout(connection.connect_timeout, async {
        let stream = TcpStream::connect((host, port)).await.map_err(|error| {
            let (place, why) = (place.clone(), error.to_string());
            SshDialError::Unreachable { place, why }
        })?;
        let connected = client::connect_stream(config, stream, client).await;
        connected.map_err(|error| {
            let refused = refused
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            let (place, why) = (place.clone(), error.to_string());
            refused.map_or(SshDialError::Protocol { place, why }, SshDialError::HostKey)
        })
    });
    let mut handle = Box::pin(connected).await.map_err(|_| SshDialError::Slow {
        place: place.clone(),
        waited: connection.connect_timeout,
    })??;
    let logged_in = timeout(AUTH_TIMEOUT, log_in(&mut handle, connection, &place)).await;
    logged_in.map_err(|_| SshDialError::Slow {
        place,
        waited: AUTH_TIMEOUT,
    })??;
    Ok(SshSession { handle })
}

impl SshSession {
    /// Disconnects; errors are ignored.
    pub(crate) async fn close(self) {
        let _ = self
            .handle
            .disconnect(Disconnect::ByApplication, "", "en")
            .await;
    }
}

/// Prefers the algorithms of recorded host keys: a host has keys of several algorithms, and
/// possibly only one of them is recorded.
fn config(recorded: &KnownHostKeys) -> client::Config {
    let mut kinds: Vec<Algorithm> = recorded.keys.iter().map(|key| key.algorithm()).collect();
    kinds.extend(Preferred::DEFAULT.key.iter().cloned());
    kinds.retain(|kind| !kind.clone().is_rsa());
    let mut known: Vec<Algorithm> = Vec::new();
    for kind in kinds {
        if !known.contains(&kind) {
            known.push(kind);
        }
    }
    client::Config {
        preferred: Preferred {
            key: Cow::Owned(known),
            ..Preferred::DEFAULT
        },
        keepalive_interval: Some(KEEPALIVE),
        keepalive_max: KEEPALIVE_UNANSWERED,
        nodelay: true,
        ..client::Config::default()
    }
}

async fn log_in(
    handle: &mut Handle<SshClientHandler>,
    connection: &SshConnection,
    place: &str,
) -> Result<(), SshDialError> {
    let lost = |error: russh::Error| SshDialError::Protocol {
        place: place.to_owned(),
        why: error.to_string(),
    };
    let user = &connection.user;
    let mut takes = None;
    let mut tried = "its private key";
    if let Some(key) = &connection.private_key {
        let key = crate::key::parse(key).map_err(SshDialError::Key)?;
        let shown = show_key(handle, user, &key).await;
        match shown.map_err(|why| SshDialError::Protocol {
            place: place.to_owned(),
            why,
        })? {
            AuthResult::Success => return Ok(()),
            AuthResult::Failure {
                remaining_methods, ..
            } => takes = Some(remaining_methods),
        }
    }
    if let Some(password) = &connection.password {
        tried = "its password";
        let offered = |kind| takes.as_ref().is_none_or(|takes| takes.contains(&kind));
        if offered(MethodKind::Password) {
            let answer = handle.authenticate_password(user, password.expose_secret());
            match answer.await.map_err(lost)? {
                AuthResult::Success => return Ok(()),
                AuthResult::Failure {
                    remaining_methods, ..
                } => takes = Some(remaining_methods),
            }
        }
        // sshd with PAM may take passwords by keyboard-interactive prompts only.
        let asks = takes
            .as_ref()
            .is_some_and(|takes| takes.contains(&MethodKind::KeyboardInteractive));
        if asks
            && answer_questions(handle, user, password)
                .await
                .map_err(lost)?
        {
            return Ok(());
        }
    }
    let takes = takes.as_ref().map(|takes| {
        let names = takes.iter().map(<&str>::from);
        names.collect::<Vec<_>>().join(", ")
    });
    Err(SshDialError::Refused {
        place: place.to_owned(),
        user: user.clone(),
        tried,
        takes: takes
            .filter(|takes| !takes.is_empty())
            .unwrap_or_else(|| "nothing more".to_owned()),
    })
}

/// Authenticates with the private key.
async fn show_key(
    handle: &mut Handle<SshClientHandler>,
    user: &str,
    key: &UserKey,
) -> Result<AuthResult, String> {
    match key {
        UserKey::Curve(key) => {
            let key = PrivateKeyWithHashAlg::new(Arc::clone(key), None);
            let shown = handle.authenticate_publickey(user, key).await;
            shown.map_err(|error| error.to_string())
        }
        UserKey::Rsa(key) => {
            // SHA-512 is used even if the host names no signature algorithm, or SHA-1 only.
            let best = handle.best_supported_rsa_hash().await;
            let best = best.map_err(|error| error.to_string())?.flatten();
            let hash = Some(best.unwrap_or(HashAlg::Sha512));
            let mut signer = key.as_ref();
            let shown = handle.authenticate_publickey_with(user, key.public(), hash, &mut signer);
            shown.await.map_err(|error| error.to_string())
        }
    }
}

/// Answers keyboard-interactive prompts: the password once, for a single prompt without echo. Any
/// other prompt ends the attempt.
async fn answer_questions(
    handle: &mut Handle<SshClientHandler>,
    user: &str,
    password: &SecretString,
) -> Result<bool, russh::Error> {
    let mut answer = handle
        .authenticate_keyboard_interactive_start(user, None)
        .await?;
    let mut told = false;
    for _ in 0..QUESTIONS {
        let prompts = match answer {
            KeyboardInteractiveAuthResponse::Success => return Ok(true),
            KeyboardInteractiveAuthResponse::Failure { .. } => return Ok(false),
            KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => prompts,
        };
        let answers = match prompts.as_slice() {
            [] => Vec::new(),
            [one] if !one.echo && !told => {
                told = true;
                vec![password.expose_secret().to_owned()]
            }
            _ => return Ok(false),
        };
        answer = handle
            .authenticate_keyboard_interactive_respond(answers)
            .await?;
    }
    Ok(false)
}
