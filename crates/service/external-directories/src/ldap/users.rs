//! Search of users and check of their passwords. Main type: [`LdapUser`].
//!
//! Invariants: a login matches exactly one entry or none; the login of the user is the one in the
//! entry, not the typed one, since otherwise one person could have several users; a disabled user
//! is treated as missing.

use api_types::rbac::LdapSettings;
use ldap3::{Scope, SearchEntry};
use secrecy::{ExposeSecret as _, SecretString};

use super::filter::{equals_filter, join_dn};
use super::session::LdapSession;
use super::{LdapError, LdapServerState, groups};
use crate::defaults::LOGIN_BYTES;

/// A user in a directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LdapUser {
    /// DN of the user's entry.
    pub dn: String,
    /// Login of the user, in the spelling of the entry.
    pub login: String,
    /// Name to show; the login if the entry has none.
    pub display_name: String,
    /// E-mail address; may be empty.
    pub email: String,
    /// Permanent id of the entry; empty if the server has none.
    pub subject: String,
    /// Names and DNs of all groups.
    pub groups: Vec<String>,
}

/// Attributes with the permanent id of an entry: `OpenLDAP`, Active Directory, 389 and FreeIPA.
const SUBJECTS: &[&str] = &["entryUUID", "objectGUID", "nsUniqueId", "ipaUniqueID"];

/// Attributes that disable a login.
const ACCOUNT_CONTROL: &str = "userAccountControl";
const ACCOUNT_LOCK: &str = "nsAccountLock";
const LOCKED_TIME: &str = "pwdAccountLockedTime";
/// Flag in `userAccountControl`.
const ACCOUNT_DISABLE: i64 = 2;
/// Value of `pwdAccountLockedTime` for an account that an administrator has locked without end.
const LOCKED_FOR_EVER: &str = "000001010000Z";

/// Returns the user with all groups, if the password is right.
pub(super) async fn authenticate(
    session: &mut LdapSession,
    inner: &LdapServerState,
    login: &str,
    password: &SecretString,
) -> Result<Option<LdapUser>, LdapError> {
    if password.expose_secret().is_empty() {
        return Ok(None);
    }
    let found = find_entry(session, &inner.settings, login).await?;
    let Some((mut user, member_of)) = found else {
        return Ok(None);
    };
    if !session.is_password(&user.dn, password).await? {
        return Ok(None);
    }
    // The user may lack the permission to read groups.
    session.bind_service(inner).await?;
    user.groups = groups::find_user_groups(session, &inner.settings, &user, member_of).await?;
    Ok(Some(user))
}

/// Finds the user with all groups.
pub(super) async fn find_user_with_groups(
    session: &mut LdapSession,
    inner: &LdapServerState,
    login: &str,
) -> Result<Option<LdapUser>, LdapError> {
    let found = find_entry(session, &inner.settings, login).await?;
    let Some((mut user, member_of)) = found else {
        return Ok(None);
    };
    user.groups = groups::find_user_groups(session, &inner.settings, &user, member_of).await?;
    Ok(Some(user))
}

/// Checks that the bases of users and groups exist and can be read.
pub(super) async fn check_bases(
    session: &mut LdapSession,
    settings: &LdapSettings,
) -> Result<(), LdapError> {
    let users = join_dn(settings.user_rdn.as_deref(), &settings.base_dn);
    let groups = join_dn(settings.group_rdn.as_deref(), &settings.base_dn);
    for base in [users, groups] {
        session
            .search(&base, Scope::Base, "(objectClass=*)", &["1.1"], 1)
            .await?;
    }
    Ok(())
}

/// Finds the single entry of a login, and the groups named in it.
async fn find_entry(
    session: &mut LdapSession,
    settings: &LdapSettings,
    login: &str,
) -> Result<Option<(LdapUser, Vec<String>)>, LdapError> {
    if login.is_empty() || login.len() > LOGIN_BYTES || login.chars().any(char::is_control) {
        return Ok(None);
    }
    let base = join_dn(settings.user_rdn.as_deref(), &settings.base_dn);
    let filter = equals_filter(&settings.user_lookup_attr, login);
    let mut attributes = vec![
        settings.user_lookup_attr.as_str(),
        &settings.user_display_name_attr,
        &settings.user_email_attr,
        ACCOUNT_CONTROL,
        ACCOUNT_LOCK,
        LOCKED_TIME,
    ];
    attributes.extend(SUBJECTS);
    attributes.extend(settings.user_member_of_attr.as_deref());
    let (mut found, more) = session
        .search(&base, Scope::Subtree, &filter, &attributes, 1)
        .await?;
    if more {
        return Err(LdapError::NotUnique {
            server: session.server.clone(),
            attribute: settings.user_lookup_attr.clone(),
            login: login.to_owned(),
        });
    }
    let Some(entry) = found.pop() else {
        return Ok(None);
    };
    if is_disabled(&entry) {
        tracing::info!(login, "the directory has disabled this user");
        return Ok(None);
    }
    Ok(read(settings, login, entry))
}

fn read(
    settings: &LdapSettings,
    typed: &str,
    entry: SearchEntry,
) -> Option<(LdapUser, Vec<String>)> {
    let names = attribute_values(&entry, &settings.user_lookup_attr);
    // An attribute may have several values. The typed login must be one of them: a server that
    // ignores spaces, accents or the width of letters would otherwise evade the count of failed
    // logins.
    let same = |name: &&String| name.to_lowercase() == typed.to_lowercase();
    let login = names.iter().find(same)?.clone();
    let text = |name: &str| {
        attribute_values(&entry, name)
            .first()
            .cloned()
            .unwrap_or_default()
    };
    let display_name = Some(text(&settings.user_display_name_attr));
    let member_of = settings.user_member_of_attr.as_deref();
    let member_of = member_of.map_or_else(Vec::new, |name| attribute_values(&entry, name).to_vec());
    let user = LdapUser {
        display_name: display_name
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| login.clone()),
        email: text(&settings.user_email_attr),
        subject: subject(&entry),
        groups: Vec::new(),
        login,
        dn: entry.dn,
    };
    Some((user, member_of))
}

/// Values of an attribute. Servers may write its name in another case.
pub(super) fn attribute_values<'a>(entry: &'a SearchEntry, name: &str) -> &'a [String] {
    let found = entry
        .attrs
        .iter()
        .find(|(given, _)| given.eq_ignore_ascii_case(name));
    found.map_or(&[], |(_, values)| values)
}

fn subject(entry: &SearchEntry) -> String {
    for &name in SUBJECTS {
        if let Some(text) = attribute_values(entry, name).first() {
            return text.clone();
        }
        let bytes = entry
            .bin_attrs
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .and_then(|(_, values)| values.first());
        if let Some(bytes) = bytes {
            return bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        }
    }
    String::new()
}

fn is_disabled(entry: &SearchEntry) -> bool {
    let first = |name| attribute_values(entry, name).first();
    let control = first(ACCOUNT_CONTROL).and_then(|text| text.parse::<i64>().ok());
    control.is_some_and(|flags| flags & ACCOUNT_DISABLE != 0)
        || first(ACCOUNT_LOCK).is_some_and(|text| text.eq_ignore_ascii_case("true"))
        || first(LOCKED_TIME).is_some_and(|text| text == LOCKED_FOR_EVER)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn entry(attributes: &[(&str, &str)]) -> SearchEntry {
        let attrs = attributes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), vec![(*value).to_owned()]));
        SearchEntry {
            dn: String::new(),
            attrs: attrs.collect(),
            bin_attrs: HashMap::from([("objectGUID".to_owned(), vec![vec![0xff, 0x01]])]),
        }
    }

    #[test]
    fn a_login_is_one_that_the_entry_has_in_any_letters_and_no_other_spelling() {
        let settings = serde_json::json!({"hostname": "ldap.example.com",
            "base_dn": "dc=example,dc=com", "user_lookup_attr": "uid",
            "group_object_class": "groupOfNames", "group_name_attr": "cn",
            "group_member_attr": "member", "group_lookup_attr": "cn"});
        let settings: LdapSettings = serde_json::from_value(settings).unwrap();
        let login = |typed| {
            let found = read(&settings, typed, entry(&[("uid", "rita k")]));
            found.map(|(user, _)| user.login)
        };
        assert_eq!(login("RITA K").as_deref(), Some("rita k"));
        for typed in ["rita  k", " rita k", "\u{ff52}ita k", "ri\u{ad}ta k"] {
            assert_eq!(login(typed), None, "{typed}");
        }
    }

    #[test]
    fn a_disabled_entry_is_known_by_each_kind_of_server() {
        assert!(is_disabled(&entry(&[("useraccountcontrol", "514")])));
        assert!(!is_disabled(&entry(&[("userAccountControl", "512")])));
        assert!(is_disabled(&entry(&[("nsaccountlock", "TRUE")])));
        assert!(is_disabled(&entry(&[(LOCKED_TIME, LOCKED_FOR_EVER)])));
        // A lock that ends by itself after wrong passwords is for the server to keep.
        assert!(!is_disabled(&entry(&[(LOCKED_TIME, "20260101000000Z")])));
        assert!(!is_disabled(&entry(&[])));
    }

    #[test]
    fn an_entry_is_known_for_ever_by_text_or_bytes() {
        assert_eq!(subject(&entry(&[])), "ff01");
        assert_eq!(subject(&entry(&[("entryuuid", "u")])), "u");
    }
}
