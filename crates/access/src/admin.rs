//! The first user.
//!
//! The rule: the password is on disk before the user exists, so that a crash in between leaves
//! nobody locked out; the next start makes another one.

use std::path::Path;

use secrecy::ExposeSecret as _;
use store::{NewUser, Store};
use uuid::Uuid;

use crate::{OpenError, now_ms, password, token};

/// The login of the first user.
const LOGIN: &str = "admin";
/// Below the data directory.
const PASSWORD_FILE: &str = "admin-password";

pub(crate) async fn ensure(store: &Store, data_dir: &Path) -> Result<(), OpenError> {
    if store.user_by_login(LOGIN).await?.is_some() {
        return Ok(());
    }
    let secret = token::random_password();
    let password_hash = password::hash(secret.clone()).await?;
    let path = data_dir.join(PASSWORD_FILE);
    pki::durable::write_atomic(
        &path,
        format!("{}\n", secret.expose_secret()).as_bytes(),
        0o600,
    )?;
    let user = NewUser {
        id: Uuid::new_v4().to_string(),
        login: LOGIN.to_owned(),
        display_name: "Administrator".to_owned(),
        email: String::new(),
        password_hash: Some(password_hash),
        is_superuser: true,
        created_ms: now_ms(),
    };
    store.insert_user(user).await?;
    tracing::info!(path = %path.display(), "made the user admin; its password is in this file");
    Ok(())
}
