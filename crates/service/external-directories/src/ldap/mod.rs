//! One LDAP directory: [`LdapServer`].
//!
//! | module | content |
//! |---|---|
//! | [`hosts`] | the order in which hosts are tried |
//! | [`session`] | a connection with a bound user |
//! | [`users`] | search of a user, check of a password |
//! | [`groups`] | all groups of a user, including nested ones |
//! | [`filter`] | search filters |
//!
//! Invariant: each query runs in a task of its own with a timeout, so that an invalid response, and
//! a panic of the library over it, fails this query alone.

mod failure;
mod filter;
mod groups;
mod hosts;
mod session;
mod users;

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use api_types::rbac::LdapSettings;
use optional_feature::Feature;
use secrecy::SecretString;
use tokio_util::task::AbortOnDropHandle;

pub use failure::LdapError;
pub use users::LdapUser;

use crate::defaults::QUESTION;
use crate::settings_check::{SettingsError, check_settings};
use crate::tls_roots;
use hosts::HostOrder;
use session::LdapSession;

/// A directory with one or several hosts that have the same content. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LdapServer {
    inner: Arc<LdapServerState>,
}

#[derive(Debug)]
struct LdapServerState {
    settings: LdapSettings,
    secrets: Feature<LdapSecrets>,
    hosts: Mutex<HostOrder>,
}

/// Password of the lookup user and trusted CAs of a directory.
#[derive(Debug)]
pub struct LdapSecrets {
    password: Option<SecretString>,
    tls: Arc<rustls::ClientConfig>,
}

// === impl LdapSecrets ===

impl LdapSecrets {
    /// Checks `settings` and takes the secrets out of them.
    pub fn new(settings: &mut LdapSettings) -> Result<Self, SettingsError> {
        check_settings(settings)?;
        let place = "ca_certificates";
        let tls = tls_roots::client_config(settings.ca_certificates.as_deref());
        let tls = tls.map_err(|error| SettingsError {
            place,
            what: error.to_string(),
        })?;
        Ok(Self {
            password: settings.password.take().map(SecretString::from),
            tls,
        })
    }
}

// === impl LdapServer ===

impl LdapServer {
    /// Checks the settings; does not connect yet.
    pub fn new(mut settings: LdapSettings) -> Result<Self, SettingsError> {
        let secrets = Feature::with_value(LdapSecrets::new(&mut settings)?);
        Ok(Self::with_secrets(settings, secrets))
    }

    /// A directory whose secrets are in files. While these are unreadable, the directory stays
    /// configured, and each query fails with the cause.
    pub fn with_secrets(settings: LdapSettings, secrets: Feature<LdapSecrets>) -> Self {
        let hosts = HostOrder::new(settings.hosts().map(str::to_owned).collect());
        Self {
            inner: Arc::new(LdapServerState {
                settings,
                secrets,
                hosts: Mutex::new(hosts),
            }),
        }
    }

    /// Settings without the password.
    pub fn settings(&self) -> &LdapSettings {
        &self.inner.settings
    }

    pub(crate) fn password(&self) -> Option<&SecretString> {
        self.inner.secrets.get().ok()?.password.as_ref()
    }

    /// Returns the user with all groups if the password is right; `None` if the user does not exist
    /// or is disabled, or the password is wrong.
    pub async fn authenticate(
        &self,
        login: &str,
        password: &SecretString,
    ) -> Result<Option<LdapUser>, LdapError> {
        let (login, password) = (login.to_owned(), password.clone());
        self.run_query(move |server| async move {
            let mut session = server.connect().await?;
            users::authenticate(&mut session, &server.inner, &login, &password).await
        })
        .await
    }

    /// Finds the user with all groups; `None` if the user does not exist or is disabled.
    pub async fn find_user(&self, login: &str) -> Result<Option<LdapUser>, LdapError> {
        let login = login.to_owned();
        self.run_query(move |server| async move {
            let mut session = server.connect().await?;
            users::find_user_with_groups(&mut session, &server.inner, &login).await
        })
        .await
    }

    /// True if there is a group with this name or DN.
    pub async fn has_group(&self, name: &str) -> Result<bool, LdapError> {
        let name = name.to_owned();
        self.run_query(move |server| async move {
            let mut session = server.connect().await?;
            groups::has_group(&mut session, &server.inner.settings, &name).await
        })
        .await
    }

    /// Tests the connection, the login of the lookup user, the base DN and the group base.
    pub async fn test(&self) -> Result<(), LdapError> {
        self.run_query(|server| async move {
            let mut session = server.connect().await?;
            users::check_bases(&mut session, &server.inner.settings).await
        })
        .await
    }

    async fn run_query<T, F>(&self, question: impl FnOnce(Self) -> F) -> Result<T, LdapError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, LdapError>> + Send + 'static,
    {
        let asking = AbortOnDropHandle::new(tokio::spawn(question(self.clone())));
        match tokio::time::timeout(QUESTION, asking).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(LdapError::Garbage {
                server: self.name(),
            }),
            Err(_) => Err(LdapError::Slow {
                server: self.name(),
                seconds: QUESTION.as_secs(),
            }),
        }
    }

    /// Connects to the first host that accepts the login.
    async fn connect(&self) -> Result<LdapSession, LdapError> {
        // Checked before any host, since hosts are not the cause of a failure.
        self.inner.secrets()?;
        let order = self.hosts(|hosts| hosts.to_ordered(Instant::now()));
        let mut first = None;
        for host in order {
            match Box::pin(self.connect_to(&host)).await {
                Ok(session) => {
                    self.hosts(|hosts| hosts.record_answered(&host));
                    return Ok(session);
                }
                Err(error) => {
                    tracing::warn!(%error, "a host of a directory cannot be asked");
                    self.hosts(|hosts| hosts.record_failed(&host, Instant::now()));
                    first.get_or_insert(error);
                }
            }
        }
        Err(first.unwrap_or(LdapError::Garbage {
            server: self.name(),
        }))
    }

    async fn connect_to(&self, host: &str) -> Result<LdapSession, LdapError> {
        let settings = &self.inner.settings;
        let timeout = Duration::from_secs(settings.connect_timeout);
        let tls = Arc::clone(&self.inner.secrets()?.tls);
        let opening = LdapSession::open(settings, host, tls, timeout);
        let mut session = Box::pin(opening).await?;
        session.bind_service(&self.inner).await?;
        Ok(session)
    }

    fn hosts<T>(&self, look: impl FnOnce(&mut HostOrder) -> T) -> T {
        let hosts = self.inner.hosts.lock();
        look(&mut hosts.unwrap_or_else(PoisonError::into_inner))
    }

    fn name(&self) -> String {
        self.inner.settings.hostname.clone()
    }
}

// === impl LdapServerState ===

impl LdapServerState {
    fn secrets(&self) -> Result<&LdapSecrets, LdapError> {
        Ok(self.secrets.get()?)
    }
}
