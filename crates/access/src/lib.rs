//! Who may do what: users, passwords, tokens and the one question [`Access::authorize`].
//!
//! At the first start there is one user, `admin`, with a random password in
//! `<data_dir>/admin-password` (mode 0600). The rules: passwords are kept as argon2id, tokens as
//! SHA-256; a failed login tells nothing about whether the user exists, neither by its words nor
//! by its time nor by its lock; every route asks the same two functions,
//! [`Access::authenticate`] and [`Access::authorize`].

mod admin;
pub mod defaults;
mod label;
mod lifetime;
mod lockout;
mod login;
mod password;
mod permission;
mod session;
mod token;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{Store, StoreError};

pub use label::{Label, LabelError};
pub use lifetime::{Lifetime, LifetimeError};
pub use login::LoginError;
pub use password::HashError;
pub use permission::{Denied, Instance, Permission};
pub use session::{AuthenticateError, Identity, RevokeError};

use crate::lockout::LockOut;
use crate::password::Passwords;

/// Users and tokens. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Access {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    passwords: Passwords,
    locks: Mutex<LockOut>,
}

/// Why users and tokens are not available.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store.
    #[error("cannot read or write users")]
    Store(#[from] StoreError),
    /// Hashing.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The file with the first password.
    #[error("cannot keep the administrator's first password")]
    PasswordFile(#[from] pki::durable::WriteError),
}

impl Access {
    /// Opens, and makes the user `admin` at the first start.
    pub async fn open(store: Store, data_dir: &Path) -> Result<Self, OpenError> {
        let passwords = Passwords::new().await?;
        admin::ensure(&store, data_dir).await?;
        let locks = Mutex::new(LockOut::new());
        Ok(Self {
            inner: Arc::new(Inner {
                store,
                passwords,
                locks,
            }),
        })
    }

    /// Whether `identity` has a permission. The only place that answers this.
    pub fn authorize(&self, identity: &Identity, permission: Permission<'_>) -> Result<(), Denied> {
        // Roles come with the complete RBAC; until then there are administrators and the rest.
        if identity.is_superuser {
            return Ok(());
        }
        Err(Denied {
            login: identity.login.clone(),
            permission: permission.to_string(),
        })
    }
}

impl Inner {
    fn locks(&self) -> MutexGuard<'_, LockOut> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
