//! A directory, and users and roles over it. Main type: [`World`].

use std::sync::Arc;

use api_types::rbac::LdapSettings;
use external_directories::{FixedDirectory, LdapDirectories, LdapServer};
use pki::seal::SealKey;
use rbac::{AuthSettings, GroupSpec, LoginError, Rbac, TokenRequest, UserIdentity};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Value, json};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use testkit::peers::Slapd;
use testkit::peers::slapd::{BASE, LOOKUP_DN, LOOKUP_PASSWORD};

/// RBAC with external directories.
pub(crate) struct World {
    pub(crate) access: Rbac,
    pub(crate) directories: LdapDirectories,
    pub(crate) store: Store,
    pub(crate) home: TempDir,
}

/// `None`, and a line that nobody misses, where slapd is not installed.
pub(crate) fn slapd() -> Option<Slapd> {
    if Slapd::is_installed() {
        return Some(Slapd::start().unwrap());
    }
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let line = format!("NOT RUN: {name}: slapd is not installed (apt install slapd ldap-utils)\n");
    std::io::Write::write_all(&mut std::io::stderr(), line.as_bytes()).unwrap();
    None
}

/// How `slapd` is asked over TLS, with `more` over it.
pub(crate) fn settings(slapd: &Slapd, more: Value) -> LdapSettings {
    let ca = std::fs::read_to_string(slapd.ca_file()).unwrap();
    let mut settings = json!({
        "display_name": "Example", "hostname": "localhost", "port": slapd.tls_port(),
        "ca_certificates": ca, "login": LOOKUP_DN, "password": LOOKUP_PASSWORD, "base_dn": BASE,
        "user_rdn": "ou=people", "user_lookup_attr": "uid", "group_rdn": "ou=groups",
        "group_object_class": "groupOfNames", "search_nested_groups": true});
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    serde_json::from_value(settings).unwrap()
}

pub(crate) fn server(slapd: &Slapd, more: Value) -> LdapServer {
    LdapServer::new(settings(slapd, more)).unwrap()
}

pub(crate) fn secret(text: &str) -> SecretString {
    SecretString::from(text.to_owned())
}

// === impl World ===

impl World {
    pub(crate) async fn with(settings: Vec<LdapSettings>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", home.path().join("tutti.db").display());
        let store = Store::open(&StoreConfig::new(url)).await.unwrap();
        let seal = SealKey::open_or_create(&home.path().join("seal.key")).unwrap();
        let fixed = settings.into_iter().map(FixedDirectory::new);
        let fixed = fixed.collect::<Result<_, _>>().unwrap();
        let directories = LdapDirectories::open(store.clone(), seal, fixed);
        let directories = directories.await.unwrap();
        let settings = AuthSettings {
            directory: Some(Arc::new(directories.clone())),
            ..AuthSettings::default()
        };
        let access = Rbac::open_with(store.clone(), home.path(), settings);
        Self {
            access: access.await.unwrap(),
            directories,
            store,
            home,
        }
    }

    pub(crate) async fn login(&self, login: &str, password: &str) -> Result<String, LoginError> {
        let request = TokenRequest::default();
        let token = self.access.login(login, secret(password), request, None);
        Ok(token.await?.expose_secret().to_owned())
    }

    pub(crate) async fn who(&self, token: &str) -> Arc<UserIdentity> {
        self.access.authenticate(token).await.unwrap()
    }

    /// Imports a group with the role of operators; gives its id.
    pub(crate) async fn import(&self, group: &str) -> String {
        let spec = GroupSpec {
            origin: self.directories.origins().into_iter().next(),
            login: group.to_owned(),
            role_ids: vec![2],
            ..GroupSpec::default()
        };
        let admin = self.access.api_user();
        self.access.create_group(&admin, spec).await.unwrap()
    }

    pub(crate) fn admin_password(&self) -> String {
        let path = self.home.path().join("admin-password");
        std::fs::read_to_string(path).unwrap().trim().to_owned()
    }
}
