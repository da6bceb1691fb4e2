//! Role-based access control (RBAC): users, user groups, roles, permissions, passwords and tokens.
//! Main type: [`Rbac`].
//!
//! The first start creates the default [roles](default_roles) and two users: `admin`, with a random
//! password in `<data_dir>/admin-password` (mode 0600), and `api_user`, which cannot log in.
//!
//! Invariants:
//! - Passwords are stored as argon2id hashes, tokens as SHA-256 hashes.
//! - A failed login does not reveal if the user exists: not by its message, its duration or its
//!   lock.
//! - Every route uses the same two functions, [`Rbac::authenticate`] and [`Rbac::authorize`].
//! - No user can grant a permission that the same user lacks, not even to the own account.
//! - Every write that changes permissions goes through [`Rbac`], which then invalidates its cache.

mod activity;
pub mod catalog;
mod code_instance;
mod counters;
pub mod default_roles;
pub mod defaults;
mod directory;
mod directory_rights;
mod disclaimer;
mod error;
mod first_users;
mod groups;
mod identity;
mod locked_write;
mod lockout;
mod login;
mod metrics;
mod milliseconds;
mod password;
mod password_change;
mod password_fault;
mod password_queue;
mod permission;
mod permissions;
mod random_secrets;
mod remote_users;
mod revoke;
mod roles;
mod session;
mod settings;
mod task_targets;
mod token_cache;
mod token_label;
mod token_lifetime;
mod tokens;
mod users;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::{Store, StoreError};
use tokio_util::task::TaskTracker;

pub use code_instance::{CodeReach, UnnamedEnvironmentScope};
pub use directory::{DirectoryError, ExternalDirectory, RemoteUser};
pub use directory_rights::{DirectoryChange, DirectoryReach};
pub use error::ManageError;
pub use first_users::{ADMIN_ID, API_USER_ID};
pub use groups::{GroupSpec, GroupView};
pub use identity::UserIdentity;
pub use login::LoginError;
pub use metrics::RbacMetrics;
pub use password::HashError;
pub use password_change::{PasswordFault, check_new_password};
pub use password_queue::LoginOrigin;
pub use permission::{
    GrantError, PermissionDenied, PermissionGrant, PermissionInstance, RequestedPermission,
};
pub use permissions::PermissionSet;
pub use random_secrets::random_password;
pub use remote_users::UncheckedUser;
pub use revoke::{RevokeError, RevokeFaults, TokenRevocation};
pub use roles::{MemberChange, RoleSpec, RoleView};
pub use session::{AuthenticateError, TokenSession};
pub use settings::AuthSettings;
pub use task_targets::{TaskRight, TaskScope, TaskTargetRecord};
pub use token_label::{TokenLabel, TokenLabelError};
pub use token_lifetime::{LifetimeError, TokenLifetime};
pub use tokens::{IssueError, TokenRequest, TokenView};
pub use users::{UserEdit, UserSpec, UserView};

use crate::activity::ActivityWriter;
use crate::lockout::LockOut;
use crate::password::PasswordHasher;
use crate::token_cache::TokenCache;

/// Users, roles and tokens. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Rbac {
    inner: Arc<RbacInner>,
}

#[derive(Debug)]
struct RbacInner {
    store: Store,
    settings: AuthSettings,
    passwords: PasswordHasher,
    locks: Mutex<LockOut>,
    cache: Arc<TokenCache>,
    metrics: RbacMetrics,
    /// Locked from the first read to the write of every change of permissions, so that no other
    /// change happens in between.
    changes: Arc<tokio::sync::Mutex<()>>,
    /// Writes in progress.
    tasks: TaskTracker,
    api_user: Arc<UserIdentity>,
    activity: ActivityWriter,
}

/// Error while opening [`Rbac`].
#[derive(Debug, thiserror::Error)]
pub enum RbacOpenError {
    /// The store failed.
    #[error("cannot read or write users")]
    Store(#[from] StoreError),
    /// The first password cannot be hashed.
    #[error(transparent)]
    Hash(#[from] HashError),
    /// The file with the first password cannot be written.
    #[error("cannot keep the administrator's first password")]
    PasswordFile(#[from] pki::durable::DurableWriteError),
}

impl Rbac {
    /// Opens RBAC with the default [`AuthSettings`].
    pub async fn open(store: Store, data_dir: &Path) -> Result<Self, RbacOpenError> {
        Box::pin(Self::open_with(store, data_dir, AuthSettings::default())).await
    }

    /// Opens RBAC and creates the first users and the default roles if they are missing.
    pub async fn open_with(
        store: Store,
        data_dir: &Path,
        settings: AuthSettings,
    ) -> Result<Self, RbacOpenError> {
        let passwords = PasswordHasher::new().await?;
        let steady_ms = settings.clock.steady_ms();
        default_roles::ensure(&store).await?;
        first_users::ensure(&store, data_dir).await?;
        let api_user = Arc::new(first_users::ensure_api_user(&store).await?);
        let cache = Arc::new(TokenCache::default());
        let activity = ActivityWriter::start(store.clone(), Arc::clone(&cache));
        Ok(Self {
            inner: Arc::new(RbacInner {
                store,
                settings,
                passwords,
                locks: Mutex::new(LockOut::new(steady_ms)),
                cache,
                metrics: RbacMetrics::default(),
                changes: Arc::default(),
                tasks: TaskTracker::new(),
                api_user,
                activity,
            }),
        })
    }

    /// Finishes all writes and stops. Call it before the store is closed.
    pub async fn shutdown(&self) {
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        self.inner.activity.shutdown().await;
    }

    /// Fails unless `identity` has the permission. No other code decides on permissions.
    pub fn authorize(
        &self,
        identity: &UserIdentity,
        permission: RequestedPermission<'_>,
    ) -> Result<(), PermissionDenied> {
        if identity.permissions.permits(permission) {
            return Ok(());
        }
        Err(PermissionDenied {
            login: identity.login.clone(),
            permission: permission.to_string(),
        })
    }

    /// Counters of logins and tokens.
    pub fn metrics(&self) -> &RbacMetrics {
        &self.inner.metrics
    }

    /// The identity of programs whose client certificate is in the allow-list. It has every
    /// permission.
    pub fn api_user(&self) -> Arc<UserIdentity> {
        Arc::clone(&self.inner.api_user)
    }

    /// The identity of a program whose certificate may administer the CA. It has no other
    /// permission, and audit events name its certname.
    pub fn ca_administrator(&self, certname: &str) -> Arc<UserIdentity> {
        let grant = PermissionGrant::new("cert_requests", "accept_reject", permission::ALL);
        Arc::new(UserIdentity {
            login: certname.to_owned(),
            display_name: certname.to_owned(),
            is_superuser: false,
            permissions: Arc::new(PermissionSet::from_grants([&grant])),
            ..UserIdentity::clone(&self.inner.api_user)
        })
    }
}

impl RbacInner {
    fn locks(&self) -> MutexGuard<'_, LockOut> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Milliseconds of the steady clock, which times locks and delays.
    fn steady_ms(&self) -> i64 {
        self.settings.clock.steady_ms()
    }
}
