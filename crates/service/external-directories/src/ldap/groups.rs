//! All groups of a user, those of groups in groups as well.
//!
//! The rules: every group is looked at once, so circles end; levels, searches and groups are
//! bounded, and a user with more is refused rather than let in with a part of his groups, of
//! which nobody knows which one; only groups below the base of groups count.

use std::collections::{BTreeSet, HashSet};

use api_types::rbac::LdapSettings;
use ldap3::{Scope, SearchEntry};

use super::filter::{all, any, below, class, equal, is_below};
use super::session::Session;
use super::users::values;
use super::{LdapError, LdapUser};
use crate::defaults::{GROUP_LEVELS, GROUP_SEARCHES, GROUPS, GROUPS_IN_FILTER};

/// The members of such groups are logins, and no groups.
const MEMBER_UID: &str = "memberUid";

/// A walk from a user upwards.
struct Walk<'a> {
    settings: &'a LdapSettings,
    base: String,
    /// DNs, in small letters.
    seen: HashSet<String>,
    names: BTreeSet<String>,
    searches: usize,
}

/// Names and DNs of all groups of `user`; `member_of` is what his entry names.
pub(super) async fn of(
    session: &mut Session,
    settings: &LdapSettings,
    user: &LdapUser,
    member_of: Vec<String>,
) -> Result<Vec<String>, LdapError> {
    let mut walk = Walk {
        settings,
        base: below(settings.group_rdn.as_deref(), &settings.base_dn),
        seen: HashSet::new(),
        names: BTreeSet::new(),
        searches: 0,
    };
    let by_login = settings.group_member_attr.eq_ignore_ascii_case(MEMBER_UID);
    let levels = match settings.search_nested_groups && !by_login {
        true => GROUP_LEVELS,
        false => 1,
    };
    if settings.user_member_of_attr.is_some() {
        walk.by_names(session, member_of, levels).await?;
    } else {
        let first = if by_login { &user.login } else { &user.dn };
        walk.by_members(session, vec![first.clone()], levels)
            .await?;
    }
    Ok(walk.names.into_iter().collect())
}

/// Whether there is a group of this name or DN.
pub(super) async fn exists(
    session: &mut Session,
    settings: &LdapSettings,
    name: &str,
) -> Result<bool, LdapError> {
    let base = below(settings.group_rdn.as_deref(), &settings.base_dn);
    let group = class(&settings.group_object_class);
    let named = all(&[group.clone(), equal(&settings.group_lookup_attr, name)]);
    let found = session
        .search(&base, Scope::Subtree, &named, &["1.1"], 1)
        .await?;
    if !found.0.is_empty() {
        return Ok(true);
    }
    if !name.contains('=') || !is_below(name, &base) {
        return Ok(false);
    }
    match session.search(name, Scope::Base, &group, &["1.1"], 1).await {
        Ok((found, _)) => Ok(!found.is_empty()),
        // No such entry, or no name of one.
        Err(LdapError::Search { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

// === impl Walk ===

impl Walk<'_> {
    /// Groups that have one of these as a member, and so on upwards.
    async fn by_members(
        &mut self,
        session: &mut Session,
        mut members: Vec<String>,
        levels: usize,
    ) -> Result<(), LdapError> {
        let settings = self.settings;
        let attribute = &settings.group_member_attr;
        for _ in 0..levels {
            let mut next = Vec::new();
            for some in members.chunks(GROUPS_IN_FILTER) {
                let some: Vec<String> = some.iter().map(|dn| equal(attribute, dn)).collect();
                let filter = all(&[class(&settings.group_object_class), any(&some)]);
                let wanted = [settings.group_lookup_attr.as_str()];
                self.count(session)?;
                let base = self.base.clone();
                let (found, more) = session
                    .search(&base, Scope::Subtree, &filter, &wanted, GROUPS)
                    .await?;
                for entry in found {
                    let dn = entry.dn.clone();
                    if self.take(session, &entry, more)? {
                        next.push(dn);
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            members = next;
        }
        Ok(())
    }

    /// These groups, and those that they name themselves, and so on.
    async fn by_names(
        &mut self,
        session: &mut Session,
        mut groups: Vec<String>,
        levels: usize,
    ) -> Result<(), LdapError> {
        let settings = self.settings;
        let member_of = settings.user_member_of_attr.as_deref().unwrap_or_default();
        for _ in 0..levels {
            let mut next = Vec::new();
            groups.retain(|dn| is_below(dn, &self.base));
            for dn in &groups {
                if self.seen.contains(&dn.to_lowercase()) {
                    continue;
                }
                self.count(session)?;
                let filter = class(&settings.group_object_class);
                let wanted = [settings.group_lookup_attr.as_str(), member_of];
                let found = session.search(dn, Scope::Base, &filter, &wanted, 1).await;
                let entry = match found {
                    Ok((mut found, _)) => found.pop(),
                    // Deleted a moment ago, or not for our eyes: no group of his.
                    Err(LdapError::Search { .. }) => None,
                    Err(error) => return Err(error),
                };
                if let Some(entry) = entry
                    && self.take(session, &entry, false)?
                {
                    next.extend(values(&entry, member_of).iter().cloned());
                }
            }
            if next.is_empty() {
                break;
            }
            groups = next;
        }
        Ok(())
    }

    /// Notes a group; `false`: it was noted before.
    fn take(
        &mut self,
        session: &Session,
        entry: &SearchEntry,
        more: bool,
    ) -> Result<bool, LdapError> {
        if more || self.seen.len() >= GROUPS {
            return Err(too_many(session));
        }
        if !self.seen.insert(entry.dn.to_lowercase()) {
            return Ok(false);
        }
        let names = values(entry, &self.settings.group_lookup_attr);
        self.names.extend(names.iter().cloned());
        self.names.insert(entry.dn.clone());
        Ok(true)
    }

    fn count(&mut self, session: &Session) -> Result<(), LdapError> {
        self.searches += 1;
        // By names each group is a search of its own.
        let most = match self.settings.user_member_of_attr {
            Some(_) => GROUPS,
            None => GROUP_SEARCHES,
        };
        match self.searches > most {
            true => Err(too_many(session)),
            false => Ok(()),
        }
    }
}

fn too_many(session: &Session) -> LdapError {
    LdapError::TooMany {
        server: session.server.clone(),
        most: GROUPS,
    }
}
