//! The configured LDAP directories: [`LdapDirectories`].
//!
//! Invariants: directories of the configuration file come first and cannot be changed over the
//! API. Directories of the API are sealed as a whole, so that an attacker who can write the
//! database cannot send a stored password to another host. A stored password is used only for its
//! original host and login: a change of either requires the password again.

use std::sync::{Arc, PoisonError, RwLock};

use api_types::rbac::LdapSettings;
use async_trait::async_trait;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use optional_feature::Feature;
use pki::seal::SealKey;
use rbac::{DirectoryError, ExternalDirectory, RemoteUser};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use store::{Store, StoreError};
use tokio::sync::{Mutex, Semaphore};
use uuid::Uuid;

use crate::defaults::{DIRECTORIES, QUESTION, QUESTIONS_AT_ONCE};
use crate::settings_check::{SettingsError, check_without_secrets};
use crate::{LdapError, LdapSecrets, LdapServer, LdapUser};

const NAME: &str = "ldap_directories";

/// All LDAP directories, in the order in which they are queried. Cheap to clone.
#[derive(Clone, Debug)]
pub struct LdapDirectories {
    inner: Arc<LdapDirectoriesState>,
}

#[derive(Debug)]
struct LdapDirectoriesState {
    store: Store,
    seal: SealKey,
    fixed: Vec<LdapServer>,
    stored: RwLock<Vec<LdapServer>>,
    /// Held from the check of a change until it is written.
    changes: Mutex<()>,
    questions: Semaphore,
}

/// A directory of the configuration file.
#[derive(Debug)]
pub struct FixedDirectory {
    settings: LdapSettings,
    secrets: Feature<LdapSecrets>,
}

// === impl FixedDirectory ===

impl FixedDirectory {
    /// A directory with these settings, which include their secrets.
    pub fn new(mut settings: LdapSettings) -> Result<Self, SettingsError> {
        let secrets = Feature::with_value(LdapSecrets::new(&mut settings)?);
        Ok(Self { settings, secrets })
    }

    /// A directory whose secrets are in files. `settings` are checked without the secrets.
    pub fn with_secrets(
        settings: LdapSettings,
        secrets: Feature<LdapSecrets>,
    ) -> Result<Self, SettingsError> {
        check_without_secrets(&settings)?;
        Ok(Self { settings, secrets })
    }
}

/// The form in which a directory is sealed.
#[derive(Serialize, Deserialize)]
struct SealedDirectory {
    settings: LdapSettings,
    password: Option<String>,
}

/// The stored directories cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenDirectoriesError {
    /// The sealed directories cannot be opened.
    #[error(
        "the stored LDAP directories cannot be opened ({0}); restore seal.key from a backup, or \
         take the row {NAME:?} out of access_settings and set them up again"
    )]
    Sealed(String),
    /// The store could not be read.
    #[error("cannot read the LDAP directories")]
    Store(#[from] StoreError),
}

/// A directory was not written.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryChangeError {
    /// A setting is invalid.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// No directory has this id.
    #[error("there is no directory with the id {0:?}")]
    Unknown(String),
    /// The directory is defined in `tutti.toml`.
    #[error("this directory is set in the server's configuration and is changed there")]
    Fixed,
    /// The maximum number of directories is reached.
    #[error("there are {DIRECTORIES} directories, which is the limit")]
    TooMany,
    /// There are several directories, but version 1 of the API supports only one.
    #[error("there are several directories; use POST command/ldap/update with an id")]
    Several,
    /// The store could not be read or written.
    #[error("cannot write the LDAP directories")]
    Store(#[from] StoreError),
}

// === impl LdapDirectories ===

impl LdapDirectories {
    /// Reads the stored directories. `fixed` are those of the configuration file.
    pub async fn open(
        store: Store,
        seal: SealKey,
        fixed: Vec<FixedDirectory>,
    ) -> Result<Self, OpenDirectoriesError> {
        let servers = fixed.into_iter().map(|one| {
            let mut settings = one.settings;
            settings.id = Some(fixed_id(&settings));
            LdapServer::with_secrets(settings, one.secrets)
        });
        let servers = servers.collect();
        let stored = match store.access_setting(NAME).await? {
            Some(text) => unseal_servers(&seal, &text).map_err(OpenDirectoriesError::Sealed)?,
            None => Vec::new(),
        };
        Ok(Self {
            inner: Arc::new(LdapDirectoriesState {
                store,
                seal,
                fixed: servers,
                stored: RwLock::new(stored),
                changes: Mutex::default(),
                questions: Semaphore::new(QUESTIONS_AT_ONCE),
            }),
        })
    }

    /// The settings of all directories, in order, without passwords.
    pub fn list(&self) -> Vec<LdapSettings> {
        let servers = self.servers();
        servers.iter().map(|one| one.settings().clone()).collect()
    }

    /// Adds a directory at the end; returns its id.
    pub async fn create(&self, mut settings: LdapSettings) -> Result<String, DirectoryChangeError> {
        let _turn = self.inner.changes.lock().await;
        let id = Uuid::new_v4().to_string();
        settings.id = Some(id.clone());
        let mut stored = self.stored();
        if stored.len() + self.inner.fixed.len() >= DIRECTORIES {
            return Err(DirectoryChangeError::TooMany);
        }
        stored.push(LdapServer::new(settings)?);
        self.write(stored).await?;
        Ok(id)
    }

    /// Replaces the settings of a directory.
    pub async fn update(
        &self,
        id: &str,
        mut settings: LdapSettings,
    ) -> Result<(), DirectoryChangeError> {
        let _turn = self.inner.changes.lock().await;
        let mut stored = self.stored();
        let place = self.find_stored(&stored, id)?;
        settings.id = Some(id.to_owned());
        reuse_password(&mut settings, &stored[place]);
        stored[place] = LdapServer::new(settings)?;
        self.write(stored).await
    }

    /// Removes a directory. Its users can no longer log in, and their tokens are revoked at the
    /// next check.
    pub async fn delete(&self, id: &str) -> Result<(), DirectoryChangeError> {
        let _turn = self.inner.changes.lock().await;
        let mut stored = self.stored();
        let place = self.find_stored(&stored, id)?;
        stored.remove(place);
        self.write(stored).await
    }

    /// Sets the only directory, or removes it with `None`, for version 1 of the API.
    pub async fn replace_all(
        &self,
        settings: Option<LdapSettings>,
    ) -> Result<(), DirectoryChangeError> {
        if !self.inner.fixed.is_empty() {
            return Err(DirectoryChangeError::Fixed);
        }
        let ids: Vec<String> = self.stored().iter().map(id_of).collect();
        match (ids.as_slice(), settings) {
            ([], None) => Ok(()),
            ([], Some(settings)) => self.create(settings).await.map(|_| ()),
            ([id], None) => self.delete(id).await,
            ([id], Some(settings)) => self.update(id, settings).await,
            _ => Err(DirectoryChangeError::Several),
        }
    }

    /// A directory; without an id the first one.
    pub fn server(&self, id: Option<&str>) -> Result<LdapServer, DirectoryChangeError> {
        let wanted = |server: &LdapServer| id.is_none_or(|id| id_of(server) == id);
        let found = self.servers().into_iter().find(wanted);
        found.ok_or_else(|| DirectoryChangeError::Unknown(id.unwrap_or_default().to_owned()))
    }

    /// A directory that is not stored, for a test. If it has the id, host and login of a stored
    /// one, the stored password is used.
    pub fn test_server(
        &self,
        mut settings: LdapSettings,
    ) -> Result<LdapServer, DirectoryChangeError> {
        if let Some(id) = settings.id.clone()
            && let Ok(server) = self.server(Some(&id))
        {
            reuse_password(&mut settings, &server);
        }
        Ok(LdapServer::new(settings)?)
    }

    /// Origins of the directories that have a group with this name or DN; only the directory
    /// `origin` is queried if one is given. Fails if none has the group and one cannot be queried.
    pub async fn find_group(
        &self,
        name: &str,
        origin: Option<&str>,
    ) -> Result<Vec<String>, LdapError> {
        let (mut found, mut failed) = (Vec::new(), None);
        for server in &self.servers() {
            let its_origin = origin_of(server);
            if origin.is_some_and(|origin| origin != its_origin) {
                continue;
            }
            match server.has_group(name).await {
                Ok(true) => found.push(its_origin),
                Ok(false) => {}
                Err(error) => failed = Some(error),
            }
        }
        match failed.filter(|_| found.is_empty()) {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    /// Origins of all directories (`ldap:ID`), in the order in which they are queried.
    pub fn origins(&self) -> Vec<String> {
        self.servers().iter().map(origin_of).collect()
    }

    /// The user's entry in the directory of `origin`; `None` if the user is gone or disabled, or
    /// the directory itself is no longer configured.
    pub async fn look_up(
        &self,
        origin: &str,
        login: &str,
    ) -> Result<Option<RemoteUser>, LdapError> {
        let servers = self.servers();
        let server = servers.iter().find(|server| origin_of(server) == origin);
        let Some(server) = server else {
            return Ok(None);
        };
        let found = server.find_user(login).await?;
        Ok(found.map(|user| to_remote_user(server, user)))
    }

    fn servers(&self) -> Vec<LdapServer> {
        let mut all = self.inner.fixed.clone();
        all.extend(self.stored());
        all
    }

    fn stored(&self) -> Vec<LdapServer> {
        let stored = self.inner.stored.read();
        stored.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn find_stored(&self, stored: &[LdapServer], id: &str) -> Result<usize, DirectoryChangeError> {
        if self.inner.fixed.iter().any(|server| id_of(server) == id) {
            return Err(DirectoryChangeError::Fixed);
        }
        let place = stored.iter().position(|server| id_of(server) == id);
        place.ok_or_else(|| DirectoryChangeError::Unknown(id.to_owned()))
    }

    async fn write(&self, servers: Vec<LdapServer>) -> Result<(), DirectoryChangeError> {
        let sealed = seal_servers(&self.inner.seal, &servers);
        let value = (!servers.is_empty()).then_some(sealed.as_str());
        self.inner.store.set_access_setting(NAME, value).await?;
        let mut stored = self
            .inner
            .stored
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *stored = servers;
        Ok(())
    }
}

#[async_trait]
impl ExternalDirectory for LdapDirectories {
    async fn authenticate(
        &self,
        login: &str,
        password: &SecretString,
        origin: Option<&str>,
    ) -> Result<RemoteUser, DirectoryError> {
        let turn = tokio::time::timeout(QUESTION, self.inner.questions.acquire());
        let _turn = turn.await.map_err(|_| {
            DirectoryError::Unavailable("too many logins wait for it already".to_owned())
        })?;
        let mut servers = self.servers();
        // A directory never receives the password of a user of another directory.
        let is_own = |server: &LdapServer| origin.is_some_and(|origin| origin_of(server) == origin);
        if servers.iter().any(is_own) {
            servers.retain(is_own);
        }
        let mut failed = None;
        for server in servers {
            match server.authenticate(login, password).await {
                Ok(Some(user)) => return Ok(to_remote_user(&server, user)),
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(%error, "a directory cannot vouch for a login");
                    // A login that two people share is not valid for either; further details are
                    // not needed.
                    if !matches!(error, LdapError::NotUnique { .. }) {
                        failed.get_or_insert(error);
                    }
                }
            }
        }
        match failed {
            Some(error) => Err(DirectoryError::Unavailable(error.to_login_text())),
            None => Err(DirectoryError::Refused),
        }
    }
}

fn to_remote_user(server: &LdapServer, user: LdapUser) -> RemoteUser {
    RemoteUser {
        origin: origin_of(server),
        subject: user.subject,
        login: user.login,
        display_name: user.display_name,
        email: user.email,
        groups: user.groups,
    }
}

fn id_of(server: &LdapServer) -> String {
    server.settings().id.clone().unwrap_or_default()
}

fn origin_of(server: &LdapServer) -> String {
    ldap_origin(&id_of(server))
}

/// Origin (`ldap:ID`) of the users of the LDAP directory with this id.
pub fn ldap_origin(id: &str) -> String {
    format!("ldap:{id}")
}

/// An id that stays the same as long as the directory has the same address.
fn fixed_id(settings: &LdapSettings) -> String {
    use sha2::{Digest as _, Sha256};
    let place = format!("{}\n{}", settings.hostname, settings.base_dn);
    let digest = Sha256::digest(place.as_bytes());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes)
        .into_uuid()
        .to_string()
}

/// Keeps the stored password if none is given and the host and login are unchanged.
fn reuse_password(settings: &mut LdapSettings, present: &LdapServer) {
    let then = present.settings();
    let same_place = then.hostname == settings.hostname
        && then.effective_port() == settings.effective_port()
        && then.ssl == settings.ssl
        && then.start_tls == settings.start_tls
        && then.ca_certificates == settings.ca_certificates
        && then.login == settings.login;
    if settings.password.is_none() && same_place {
        let password = present.password();
        settings.password = password.map(|password| password.expose_secret().to_owned());
    }
}

fn seal_servers(seal: &SealKey, servers: &[LdapServer]) -> String {
    let stored: Vec<SealedDirectory> = servers
        .iter()
        .map(|server| SealedDirectory {
            settings: server.settings().clone(),
            password: server
                .password()
                .map(|text| text.expose_secret().to_owned()),
        })
        .collect();
    // Only text and numbers, so the conversion to JSON cannot fail.
    let plain = serde_json::to_vec(&stored).unwrap_or_default();
    BASE64_STANDARD.encode(seal.seal(&plain))
}

fn unseal_servers(seal: &SealKey, text: &str) -> Result<Vec<LdapServer>, String> {
    let bytes = BASE64_STANDARD.decode(text);
    let bytes = bytes.map_err(|_| "they are not base64".to_owned())?;
    let plain = seal.open(&bytes).map_err(|error| error.to_string())?;
    // Without the reason, which could repeat a part of a password.
    let stored: Vec<SealedDirectory> = serde_json::from_slice(&plain)
        .map_err(|_| "they are not the list that was stored".to_owned())?;
    let servers = stored.into_iter().map(|one| {
        let mut settings = one.settings;
        settings.password = one.password;
        LdapServer::new(settings).map_err(|error| error.to_string())
    });
    servers.collect()
}
