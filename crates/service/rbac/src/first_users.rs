//! The built-in users `admin` and `api_user`.
//!
//! Invariants: the password file is written before the user `admin` is stored, so a crash in
//! between locks no administrator out: the next start creates another password. The built-in users
//! cannot be changed, except for the password of `admin`.

use std::path::Path;

use secrecy::ExposeSecret as _;
use store::{NewUserRow, Store, StoreError, now_ms};

use crate::{RbacOpenError, UserIdentity, password, random_secrets};

/// Id of the user `admin`, the same as in Puppet Enterprise, because scripts contain it.
pub const ADMIN_ID: &str = "42bf351c-f9ec-40af-84ad-e976fec7f4bd";

/// Id of the user `api_user`, as which programs with a certificate of the allow-list act; the same
/// as in Puppet Enterprise.
pub const API_USER_ID: &str = "af94921f-bd76-4b58-b5ce-e17c029a2790";

/// Login of the first administrator.
pub(crate) const ADMIN: &str = "admin";
/// Login of programs with a certificate of the allow-list.
pub(crate) const API_USER: &str = "api_user";
/// File in the data directory with the first password of `admin`.
const PASSWORD_FILE: &str = "admin-password";

/// True if the user is built in and cannot be changed.
pub(crate) fn is_immutable(user_id: &str) -> bool {
    user_id == ADMIN_ID || user_id == API_USER_ID
}

pub(crate) async fn ensure(store: &Store, data_dir: &Path) -> Result<(), RbacOpenError> {
    if store.user_by_login(ADMIN).await?.is_some() {
        return Ok(());
    }
    let secret = random_secrets::random_password();
    let password_hash = password::hash_without_queue(secret.clone()).await?;
    let path = data_dir.join(PASSWORD_FILE);
    pki::durable::write_atomic(
        &path,
        format!("{}\n", secret.expose_secret()).as_bytes(),
        0o600,
    )?;
    let user = first_user(ADMIN_ID, ADMIN, "Administrator", Some(password_hash));
    store.insert_user(user).await?;
    tracing::info!(path = %path.display(), "made the user admin; its password is in this file");
    Ok(())
}

pub(crate) async fn ensure_api_user(store: &Store) -> Result<UserIdentity, StoreError> {
    let user = first_user(API_USER_ID, API_USER, "API user", None);
    store.insert_user(user).await?;
    let row = store.user(API_USER_ID).await?;
    // Always present: the login is reserved since the first start.
    let row = row.ok_or(StoreError::Closed)?;
    UserIdentity::load(store, row).await
}

fn first_user(id: &str, login: &str, name: &str, password_hash: Option<String>) -> NewUserRow {
    NewUserRow {
        id: id.to_owned(),
        login: login.to_owned(),
        display_name: name.to_owned(),
        email: String::new(),
        password_hash,
        is_superuser: true,
        is_remote: false,
        created_ms: now_ms(),
    }
}
