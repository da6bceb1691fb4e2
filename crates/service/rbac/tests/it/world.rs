//! A store in a temporary directory, and RBAC on it.

use std::sync::Arc;

use rbac::{
    AuthSettings, LoginError, PermissionGrant, Rbac, RoleSpec, TokenRequest, UserIdentity, UserSpec,
};
use secrecy::{ExposeSecret as _, SecretString};
use store::{Store, StoreConfig};
use tempfile::TempDir;
use testkit::engine::Database;

/// Password of every user that is created here.
pub(crate) const PASSWORD: &str = "a good password";

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) database: Database,
    pub(crate) store: Store,
    pub(crate) access: Rbac,
}

impl World {
    pub(crate) async fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let database = Database::empty().await.expect("a database");
        let store = open_store(&database).await;
        let access = Box::pin(Rbac::open(store.clone(), dir.path()))
            .await
            .expect("access opens");
        Self {
            dir,
            database,
            store,
            access,
        }
    }

    pub(crate) async fn with(settings: AuthSettings) -> Self {
        let dir = TempDir::new().expect("a directory");
        let database = Database::empty().await.expect("a database");
        let store = open_store(&database).await;
        let access = Box::pin(Rbac::open_with(store.clone(), dir.path(), settings))
            .await
            .expect("access opens");
        Self {
            dir,
            database,
            store,
            access,
        }
    }

    /// Shuts down and starts again on the same database.
    pub(crate) async fn reopen(&mut self) {
        self.access.shutdown().await;
        self.store.close().await;
        self.store = open_store(&self.database).await;
        let access = Rbac::open(self.store.clone(), self.dir.path()).await;
        self.access = access.expect("access opens");
    }

    pub(crate) async fn admin(&self) -> Arc<UserIdentity> {
        let token = self.login("admin", &self.password()).await;
        let token = token.expect("the administrator logs in");
        self.access.authenticate(&token).await.expect("a token")
    }

    /// Creates a user with these roles; returns the id.
    pub(crate) async fn user(&self, login: &str, role_ids: &[i64]) -> String {
        let spec = UserSpec {
            login: login.to_owned(),
            display_name: login.to_owned(),
            password: Some(PASSWORD.into()),
            role_ids: role_ids.to_vec(),
            ..UserSpec::default()
        };
        let admin = self.access.api_user();
        let made = self.access.create_user(&admin, spec).await;
        made.expect("a user")
    }

    /// Creates a role with these permissions; returns the id.
    pub(crate) async fn role(&self, name: &str, grants: &[(&str, &str, &str)]) -> i64 {
        let grant = |(object_type, action, instance): &(&str, &str, &str)| {
            PermissionGrant::new(*object_type, *action, *instance)
        };
        let spec = RoleSpec {
            display_name: name.to_owned(),
            permissions: grants.iter().map(grant).collect(),
            ..RoleSpec::default()
        };
        let admin = self.access.api_user();
        let made = self.access.create_role(&admin, spec).await;
        made.expect("a role")
    }

    /// Creates a user with a role of these permissions; returns the identity and a token.
    pub(crate) async fn with_rights(
        &self,
        login: &str,
        grants: &[(&str, &str, &str)],
    ) -> (Arc<UserIdentity>, String) {
        let role = self.role(&format!("role of {login}"), grants).await;
        self.user(login, &[role]).await;
        let token = self.login(login, PASSWORD).await.expect("logged in");
        let identity = self.access.authenticate(&token).await.expect("a token");
        (identity, token)
    }

    pub(crate) fn password(&self) -> String {
        let file = self.dir.path().join("admin-password");
        let text = std::fs::read_to_string(file).expect("the password file");
        text.trim_end().to_owned()
    }

    pub(crate) async fn login(&self, login: &str, password: &str) -> Result<String, LoginError> {
        self.login_from("192.0.2.1", login, password).await
    }

    pub(crate) async fn login_from(
        &self,
        address: &str,
        login: &str,
        password: &str,
    ) -> Result<String, LoginError> {
        let address = address.parse().expect("an address");
        let password = SecretString::from(password);
        let token = self
            .access
            .login(login, password, TokenRequest::default(), Some(address))
            .await?;
        Ok(token.expose_secret().to_owned())
    }
}

pub(crate) async fn open_store(database: &Database) -> Store {
    Store::open(&StoreConfig::new(database.url()))
        .await
        .expect("the store opens")
}
