//! Periodic check that remote users with valid tokens still exist in their directories:
//! [`RemoteUserCheck`].
//!
//! Invariants: a user who is gone from the directory loses all tokens within the interval and one
//! round. A directory that does not respond revokes no token, and is queried again in the next
//! round.

use std::time::Duration;

use rbac::{Rbac, UncheckedUser};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::LdapDirectories;
use crate::defaults::{RECHECK_BATCH, RECHECK_LOOK};

/// Handle of the background task. [`RemoteUserCheck::shutdown`], or dropping the handle, stops it.
#[derive(Debug)]
pub struct RemoteUserCheck {
    stop: CancellationToken,
    tasks: TaskTracker,
}

// === impl RemoteUserCheck ===

impl RemoteUserCheck {
    /// Starts to check every user once per `interval`.
    pub fn start(access: Rbac, directories: LdapDirectories, interval: Duration) -> Self {
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let stopped = stop.clone();
        tasks.spawn(async move {
            let asking = run(access, directories, interval);
            // Cancelling a query changes nothing: writes run in tasks of `rbac`.
            let _ = stopped.run_until_cancelled(asking).await;
        });
        tasks.close();
        Self { stop, tasks }
    }

    /// Stops the task and waits for its end.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        self.tasks.wait().await;
    }
}

impl Drop for RemoteUserCheck {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn run(access: Rbac, directories: LdapDirectories, interval: Duration) {
    let look = RECHECK_LOOK.min(interval);
    loop {
        let more = Box::pin(run_round(&access, &directories, interval)).await;
        if !more {
            tokio::time::sleep(look).await;
        }
    }
}

/// Checks the users who are due. Returns true if more users may be due.
async fn run_round(access: &Rbac, directories: &LdapDirectories, interval: Duration) -> bool {
    let mut more = false;
    let asked = async {
        for origin in access.due_origins(interval).await? {
            let due = access.due_remote_users(&origin, interval, RECHECK_BATCH);
            let due = due.await?;
            let answered = ask_all(access, directories, &due).await;
            more |= answered && due.len() >= RECHECK_BATCH as usize;
        }
        Ok::<(), store::StoreError>(())
    };
    if let Err(error) = asked.await {
        tracing::warn!(%error, "cannot read whose tokens are to be checked");
        return false;
    }
    more
}

/// Checks these users of one directory. Returns false at the first query without response.
async fn ask_all(access: &Rbac, directories: &LdapDirectories, due: &[UncheckedUser]) -> bool {
    for user in due {
        if !ask(access, directories, user).await {
            return false;
        }
    }
    true
}

/// Checks one user. Returns false if the directory does not respond.
async fn ask(access: &Rbac, directories: &LdapDirectories, user: &UncheckedUser) -> bool {
    let written = match directories.look_up(&user.origin.origin, &user.login).await {
        Ok(Some(told)) => {
            let stays = access.confirm_remote_user(user, told);
            Box::pin(stays).await.map_err(|error| error.to_string())
        }
        Ok(None) => {
            let gone = access.revoke_remote_user(user).await;
            gone.map_err(|error| error.to_string())
        }
        Err(error) => {
            tracing::warn!(%error, "cannot check whether users are still in the directory; their tokens stay good");
            return false;
        }
    };
    if let Err(error) = written {
        tracing::warn!(
            login = user.login,
            error,
            "cannot write what a directory said of a user"
        );
    }
    true
}
