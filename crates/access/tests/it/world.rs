//! A store in a directory of its own, and access to it.

use std::path::Path;

use access::{Access, LoginError};
use secrecy::{ExposeSecret as _, SecretString};
use store::{Store, StoreConfig};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) dir: TempDir,
    pub(crate) store: Store,
    pub(crate) access: Access,
}

impl World {
    pub(crate) async fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        let store = open_store(dir.path()).await;
        let access = Access::open(store.clone(), dir.path())
            .await
            .expect("access opens");
        Self { dir, store, access }
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
            .login(login, password, Default::default(), None, Some(address))
            .await?;
        Ok(token.expose_secret().to_owned())
    }
}

pub(crate) async fn open_store(dir: &Path) -> Store {
    Store::open(&StoreConfig::sqlite(dir.join("tutti.db")))
        .await
        .expect("the store opens")
}
