//! Permissions to change the settings of directories: [`Rbac::begin_directory_change`].
//!
//! Invariant: a directory defines the remote users and their imported groups, so control of its
//! settings amounts to every permission of those groups and users. A user who changes the settings
//! must hold all of these permissions, and none of them is granted to another user until the change
//! is written.

use std::collections::BTreeSet;

use crate::locked_write::RightsLock;
use crate::{ManageError, Rbac, RequestedPermission, UserIdentity};

/// The user groups and users that a change of a directory affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryReach<'a> {
    /// Every imported group and every remote user. A directory that is new, or has another host,
    /// is queried for every login that no other directory has.
    Every,
    /// Groups and users of one directory, by its origin (`ldap:ID`), and those without a directory.
    Origin(&'a str),
}

/// Lock for writing settings of directories. Permissions of users and groups cannot change until it
/// is dropped.
#[derive(Debug)]
pub struct DirectoryChange {
    _turn: RightsLock,
}

impl Rbac {
    /// Allows a change of directories if the caller has `directory_service:edit` and every
    /// permission of the affected groups and remote users.
    pub async fn begin_directory_change(
        &self,
        by: &UserIdentity,
        reach: DirectoryReach<'_>,
    ) -> Result<DirectoryChange, ManageError> {
        self.authorize(
            by,
            RequestedPermission::on("directory_service", "edit", "*"),
        )?;
        let turn = self.lock_rights().await;
        let (users, groups) = self.affected_users_and_groups(reach).await?;
        for role in self.inner.store.roles().await? {
            let is_theirs = role.user_ids.iter().any(|id| users.contains(id))
                || role.group_ids.iter().any(|id| groups.contains(id));
            if is_theirs {
                self.require_rights_of_roles(by, &[role.id]).await?;
            }
        }
        Ok(DirectoryChange { _turn: turn })
    }

    /// Ids of the affected users and groups.
    async fn affected_users_and_groups(
        &self,
        reach: DirectoryReach<'_>,
    ) -> Result<(BTreeSet<String>, BTreeSet<String>), ManageError> {
        let store = &self.inner.store;
        let (mut users, mut groups) = (BTreeSet::new(), BTreeSet::new());
        let theirs: Option<BTreeSet<String>> = match reach {
            DirectoryReach::Every => None,
            DirectoryReach::Origin(origin) => {
                Some(store.users_of_origin(origin).await?.into_iter().collect())
            }
        };
        for user in store
            .users()
            .await?
            .into_iter()
            .filter(|user| user.is_remote)
        {
            let is_reached = match &theirs {
                None => true,
                Some(theirs) => {
                    theirs.contains(&user.id) || store.user_origin(&user.id).await?.is_none()
                }
            };
            if is_reached {
                users.insert(user.id);
            }
        }
        for group in store.groups().await? {
            let is_reached = match reach {
                DirectoryReach::Every => true,
                DirectoryReach::Origin(origin) => group.origin.is_empty() || group.origin == origin,
            };
            if is_reached {
                groups.insert(group.id);
            }
        }
        Ok((users, groups))
    }
}
