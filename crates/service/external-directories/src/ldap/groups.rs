//! All groups of a user, including nested groups.
//!
//! Invariants: every group is read once, so cycles end; levels, searches and groups are bounded,
//! and a user who exceeds a bound is refused, because an arbitrary part of the groups would be
//! wrong; only groups below the base of groups count.

use std::collections::{BTreeSet, HashSet};

use api_types::rbac::LdapSettings;
use ldap3::{Scope, SearchEntry};

use super::filter::{and_filter, class_filter, equals_filter, is_below, join_dn, or_filter};
use super::session::LdapSession;
use super::users::attribute_values;
use super::{LdapError, LdapUser};
use crate::defaults::{GROUP_LEVELS, GROUP_SEARCHES, GROUPS, GROUPS_IN_FILTER};

/// The attribute of groups whose members are logins, and never groups.
const MEMBER_UID: &str = "memberUid";

/// A search from a user upwards through the groups.
struct GroupSearch<'a> {
    settings: &'a LdapSettings,
    base: String,
    /// DNs of the groups that were read, in lower case.
    seen: HashSet<String>,
    names: BTreeSet<String>,
    searches: usize,
}

/// Names and DNs of all groups of `user`; `member_of` contains the groups in the user's entry.
pub(super) async fn find_user_groups(
    session: &mut LdapSession,
    settings: &LdapSettings,
    user: &LdapUser,
    member_of: Vec<String>,
) -> Result<Vec<String>, LdapError> {
    let mut walk = GroupSearch {
        settings,
        base: join_dn(settings.group_rdn.as_deref(), &settings.base_dn),
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

/// Returns `true` if there is a group with this name or DN.
pub(super) async fn has_group(
    session: &mut LdapSession,
    settings: &LdapSettings,
    name: &str,
) -> Result<bool, LdapError> {
    let base = join_dn(settings.group_rdn.as_deref(), &settings.base_dn);
    let group = class_filter(&settings.group_object_class);
    let named = and_filter(&[
        group.clone(),
        equals_filter(&settings.group_lookup_attr, name),
    ]);
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
        // There is no such entry, or the text is not a DN.
        Err(LdapError::Search { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

// === impl GroupSearch ===

impl GroupSearch<'_> {
    /// Adds the groups that have one of these as a member, and so on upwards.
    async fn by_members(
        &mut self,
        session: &mut LdapSession,
        mut members: Vec<String>,
        levels: usize,
    ) -> Result<(), LdapError> {
        let settings = self.settings;
        let attribute = &settings.group_member_attr;
        for _ in 0..levels {
            let mut next = Vec::new();
            for some in members.chunks(GROUPS_IN_FILTER) {
                let some: Vec<String> =
                    some.iter().map(|dn| equals_filter(attribute, dn)).collect();
                let filter =
                    and_filter(&[class_filter(&settings.group_object_class), or_filter(&some)]);
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

    /// Adds these groups, the groups that they name, and so on.
    async fn by_names(
        &mut self,
        session: &mut LdapSession,
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
                let filter = class_filter(&settings.group_object_class);
                let wanted = [settings.group_lookup_attr.as_str(), member_of];
                let found = session.search(dn, Scope::Base, &filter, &wanted, 1).await;
                let entry = match found {
                    Ok((mut found, _)) => found.pop(),
                    // Deleted a moment ago, or not readable for this server: not a group of the
                    // user.
                    Err(LdapError::Search { .. }) => None,
                    Err(error) => return Err(error),
                };
                if let Some(entry) = entry
                    && self.take(session, &entry, false)?
                {
                    next.extend(attribute_values(&entry, member_of).iter().cloned());
                }
            }
            if next.is_empty() {
                break;
            }
            groups = next;
        }
        Ok(())
    }

    /// Adds a group; returns `false` if it was added before.
    fn take(
        &mut self,
        session: &LdapSession,
        entry: &SearchEntry,
        more: bool,
    ) -> Result<bool, LdapError> {
        if more || self.seen.len() >= GROUPS {
            return Err(too_many(session));
        }
        if !self.seen.insert(entry.dn.to_lowercase()) {
            return Ok(false);
        }
        let names = attribute_values(entry, &self.settings.group_lookup_attr);
        self.names.extend(names.iter().cloned());
        self.names.insert(entry.dn.clone());
        Ok(true)
    }

    fn count(&mut self, session: &LdapSession) -> Result<(), LdapError> {
        self.searches += 1;
        // By names, each group takes a search of its own.
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

fn too_many(session: &LdapSession) -> LdapError {
    LdapError::TooMany {
        server: session.server.clone(),
        most: GROUPS,
    }
}
