//! Accounts of this machine from `/etc/passwd` and `/etc/group`: [`LocalAccounts`].

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;

use crate::defaults::ACCOUNT_FILE_BYTES;

/// A user with all groups of a service that runs as this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAccount {
    /// Name of the user, or its id if it has no name.
    pub name: String,
    /// Numeric id of the user.
    pub uid: u32,
    /// Numeric id of the user's primary group.
    pub gid: u32,
    /// Ids of all groups, including the primary one.
    pub groups: Vec<u32>,
}

/// Users and groups, by name and by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalAccounts {
    users: BTreeMap<String, (u32, u32)>,
    groups: BTreeMap<u32, AccountGroup>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct AccountGroup {
    name: String,
    members: Vec<String>,
}

// === impl LocalAccounts ===

impl LocalAccounts {
    /// Reads the accounts of this machine. A file that cannot be read counts as empty.
    pub fn read() -> Self {
        Self::parse(&text_of("/etc/passwd"), &text_of("/etc/group"))
    }

    /// Parses the texts of `/etc/passwd` and `/etc/group`; invalid lines are skipped.
    pub fn parse(passwd: &str, group: &str) -> Self {
        let user = |line: &str| {
            let mut fields = line.split(':');
            let (name, uid) = (fields.next()?, fields.nth(1)?.parse().ok()?);
            Some((name.to_owned(), (uid, fields.next()?.parse().ok()?)))
        };
        let group_of = |line: &str| {
            let mut fields = line.split(':');
            let (name, gid) = (fields.next()?, fields.nth(1)?.parse().ok()?);
            let members = fields.next().unwrap_or_default().split(',');
            let members = members.map(str::trim).filter(|name| !name.is_empty());
            let group = AccountGroup {
                name: name.to_owned(),
                members: members.map(str::to_owned).collect(),
            };
            Some((gid, group))
        };
        Self {
            users: passwd.lines().filter_map(user).collect(),
            groups: group.lines().filter_map(group_of).collect(),
        }
    }

    /// The account with a name, which may be a number as in a systemd unit; `None` if there is
    /// none.
    pub fn account(&self, name: &str) -> Option<ServiceAccount> {
        match (self.users.get(name), name.parse()) {
            (Some((uid, gid)), _) => Some(self.with_groups(name, *uid, *gid)),
            (None, Ok(uid)) => Some(self.account_of(uid)),
            (None, Err(_)) => None,
        }
    }

    /// The account with an id; an id without a name has no supplementary groups.
    pub fn account_of(&self, uid: u32) -> ServiceAccount {
        let known = self.users.iter().find(|(_, (other, _))| *other == uid);
        match known {
            Some((name, (_, gid))) => self.with_groups(name, uid, *gid),
            None => ServiceAccount {
                name: uid.to_string(),
                uid,
                gid: uid,
                groups: Vec::new(),
            },
        }
    }

    fn with_groups(&self, name: &str, uid: u32, gid: u32) -> ServiceAccount {
        let is_member = |group: &AccountGroup| group.members.iter().any(|member| member == name);
        let further = self.groups.iter().filter(|(_, group)| is_member(group));
        let mut groups: Vec<u32> = further.map(|(gid, _)| *gid).collect();
        if !groups.contains(&gid) {
            groups.push(gid);
        }
        ServiceAccount {
            name: name.to_owned(),
            uid,
            gid,
            groups,
        }
    }

    /// The user's name, or the id if there is no name.
    pub fn user_name(&self, uid: u32) -> String {
        let known = self.users.iter().find(|(_, (other, _))| *other == uid);
        known.map_or_else(|| uid.to_string(), |(name, _)| name.clone())
    }

    /// The group's name, or the id if there is no name.
    pub fn group_name(&self, gid: u32) -> String {
        let known = self.groups.get(&gid);
        known.map_or_else(|| gid.to_string(), |group| group.name.clone())
    }
}

fn text_of(path: &str) -> String {
    let mut text = String::new();
    if let Ok(file) = File::open(path) {
        // If reading fails midway, the accounts read so far are used.
        let _ = file.take(ACCOUNT_FILE_BYTES).read_to_string(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str =
        "root:x:0:0:root:/root:/bin/sh\ntutti:x:998:997::/var/lib/tutti:/x\nbad\n::\n";
    const GROUP: &str =
        "root:x:0:\ntutti:x:997:\npuppet:x:52:a, tutti\nother:x:60:puppet\nbad:x:y:\n";

    #[test]
    fn a_service_has_the_groups_that_name_its_user() {
        let accounts = LocalAccounts::parse(PASSWD, GROUP);
        let account = accounts.account("tutti").unwrap();
        assert_eq!((account.uid, account.gid), (998, 997));
        assert_eq!(account.groups, [52, 997]);
        assert_eq!(accounts.account("998").unwrap(), account);
        assert_eq!(accounts.account("nobody"), None);
        assert_eq!(accounts.account_of(4242).name, "4242");
        assert_eq!(accounts.user_name(0), "root");
        assert_eq!(accounts.group_name(52), "puppet");
        assert_eq!(accounts.group_name(53), "53");
    }
}
