//! A connection to one host with a bound user: [`LdapSession`].
//!
//! Invariants: the connection's driver task ends with the session; a search returns no more entries
//! than requested, and follows no referral and no alias.

use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;

use api_types::rbac::LdapSettings;
use ldap3::{
    DerefAliases, Ldap, LdapConnAsync, LdapConnSettings, Scope, SearchEntry, SearchOptions,
};
use secrecy::{ExposeSecret as _, SecretString};
use tokio_util::task::AbortOnDropHandle;

use super::LdapServerState;
use super::failure::{LdapError, connection_error, to_one_line};
use crate::defaults::OPERATION;

pub(super) struct LdapSession {
    ldap: Ldap,
    pub(super) server: String,
    _driver: AbortOnDropHandle<()>,
}

/// Result codes of LDAP.
const SUCCESS: u32 = 0;
const SIZE_LIMIT: u32 = 4;
const NO_SUCH_OBJECT: u32 = 32;
const INVALID_CREDENTIALS: u32 = 49;

// === impl LdapSession ===

impl LdapSession {
    /// Connects; no user is bound yet.
    pub(super) async fn open(
        settings: &LdapSettings,
        host: &str,
        tls: Arc<rustls::ClientConfig>,
        timeout: Duration,
    ) -> Result<Self, LdapError> {
        let scheme = if settings.ssl { "ldaps" } else { "ldap" };
        let shown_host = match host.parse::<Ipv6Addr>() {
            Ok(address) => format!("[{address}]"),
            Err(_) => host.to_owned(),
        };
        let server = format!("{shown_host}:{}", settings.effective_port());
        let options = LdapConnSettings::new()
            .set_conn_timeout(timeout)
            .set_starttls(settings.start_tls)
            .set_config(tls);
        let url = format!("{scheme}://{server}");
        let opened = Box::pin(LdapConnAsync::with_settings(options, &url)).await;
        let (connection, ldap) =
            opened.map_err(|error| connection_error(&server, timeout.as_secs(), &error))?;
        let driver = tokio::spawn(async move {
            // The operation under way fails with it.
            if let Err(error) = Box::pin(connection.drive()).await {
                tracing::debug!(%error, "a connection to a directory broke");
            }
        });
        Ok(Self {
            ldap,
            server,
            _driver: AbortOnDropHandle::new(driver),
        })
    }

    /// Binds as the lookup user, or anonymously if none is configured.
    pub(super) async fn bind_service(&mut self, inner: &LdapServerState) -> Result<(), LdapError> {
        let dn = inner.settings.login.as_deref().filter(|dn| !dn.is_empty());
        let Some((dn, password)) = dn.zip(inner.secrets()?.password.as_ref()) else {
            return self.bind("", "").await?.map_err(|words| LdapError::Bind {
                server: self.server.clone(),
                words,
            });
        };
        let bound = self.bind(dn, password.expose_secret()).await?;
        bound.map_err(|words| LdapError::Bind {
            server: self.server.clone(),
            words,
        })
    }

    /// Checks the password of `dn` by a bind.
    pub(super) async fn is_password(
        &mut self,
        dn: &str,
        password: &SecretString,
    ) -> Result<bool, LdapError> {
        // LDAP accepts a bind without a password or name as anonymous.
        if dn.is_empty() || password.expose_secret().is_empty() {
            return Ok(false);
        }
        let bound = self.bind(dn, password.expose_secret()).await?;
        if let Err(words) = &bound {
            tracing::debug!(dn, words, "the directory does not take the password");
        }
        Ok(bound.is_ok())
    }

    /// Binds. The inner error is the server's message about a refused bind.
    async fn bind(&mut self, dn: &str, password: &str) -> Result<Result<(), String>, LdapError> {
        let bound = self.ldap.with_timeout(OPERATION).simple_bind(dn, password);
        let bound = bound.await.map_err(|error| self.broken(&error))?;
        match bound.rc {
            SUCCESS => Ok(Ok(())),
            INVALID_CREDENTIALS if bound.text.is_empty() => {
                Ok(Err("invalid credentials".to_owned()))
            }
            code => Ok(Err(format!("{} (code {code})", to_one_line(&bound.text)))),
        }
    }

    /// Returns at most `most` entries, and true if there are more.
    pub(super) async fn search(
        &mut self,
        base: &str,
        scope: Scope,
        filter: &str,
        attributes: &[&str],
        most: usize,
    ) -> Result<(Vec<SearchEntry>, bool), LdapError> {
        let seconds = i32::try_from(OPERATION.as_secs()).unwrap_or(i32::MAX);
        let options = SearchOptions::new()
            .deref(DerefAliases::Never)
            .timelimit(seconds)
            .sizelimit(i32::try_from(most.saturating_add(1)).unwrap_or(i32::MAX));
        let attributes: Vec<String> = attributes.iter().map(|&name| name.to_owned()).collect();
        let ldap = self
            .ldap
            .with_timeout(OPERATION)
            .with_search_options(options);
        let stream = ldap.streaming_search(base, scope, filter, attributes).await;
        let mut stream =
            stream.map_err(|error| connection_error(&self.server, OPERATION.as_secs(), &error))?;
        let mut found = Vec::new();
        loop {
            let next = stream.next().await;
            let next =
                next.map_err(|error| connection_error(&self.server, OPERATION.as_secs(), &error))?;
            let Some(entry) = next else { break };
            if entry.is_ref() || entry.is_intermediate() {
                continue;
            }
            if found.len() == most {
                // The rest of the stream is dropped with the session.
                return Ok((found, true));
            }
            found.push(SearchEntry::construct(entry));
        }
        let result = stream.finish().await;
        match result.rc {
            SUCCESS => Ok((found, false)),
            SIZE_LIMIT => Ok((found, true)),
            NO_SUCH_OBJECT => Err(self.refused(base, "there is no such entry")),
            code => Err(self.refused(
                base,
                &format!("{} (code {code})", to_one_line(&result.text)),
            )),
        }
    }

    fn refused(&self, base: &str, words: &str) -> LdapError {
        LdapError::Search {
            server: self.server.clone(),
            base: base.to_owned(),
            words: words.to_owned(),
        }
    }

    fn broken(&self, error: &ldap3::LdapError) -> LdapError {
        connection_error(&self.server, OPERATION.as_secs(), error)
    }
}
