//! Checks the settings of a directory: [`check_settings`].

use api_types::rbac::LdapSettings;

use crate::defaults::{CA_BYTES, CONNECT_SECONDS_MAX, HOSTS, SETTING_BYTES};
use crate::tls_roots;

/// The error that a setting is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct SettingsError {
    /// Key of the invalid setting.
    pub place: &'static str,
    /// Description of the defect.
    pub what: String,
}

fn invalid_setting(place: &'static str, what: &str) -> Result<(), SettingsError> {
    let what = what.to_owned();
    Err(SettingsError { place, what })
}

/// Refuses settings that would not work, or would send passwords unencrypted.
pub(crate) fn check_settings(settings: &LdapSettings) -> Result<(), SettingsError> {
    check_without_secrets(settings)?;
    let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if has(&settings.login) && !has(&settings.password) {
        return invalid_setting("password", "the login needs its password");
    }
    if settings
        .ca_certificates
        .as_ref()
        .is_some_and(|pem| pem.len() > CA_BYTES)
    {
        return invalid_setting("ca_certificates", "is too long");
    }
    if let Err(error) = tls_roots::client_config(settings.ca_certificates.as_deref()) {
        let (place, what) = ("ca_certificates", error.to_string());
        return Err(SettingsError { place, what });
    }
    Ok(())
}

/// The same check for settings whose secrets are in files.
pub(crate) fn check_without_secrets(settings: &LdapSettings) -> Result<(), SettingsError> {
    check_texts(settings)?;
    check_attributes(settings)?;
    let hosts: Vec<&str> = settings.hosts().collect();
    if hosts.is_empty() || hosts.len() > HOSTS {
        return invalid_setting("hostname", "name one host, or up to 8 with spaces between");
    }
    let fit = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if !hosts.iter().all(|host| host.chars().all(fit)) {
        return invalid_setting("hostname", "a host name or an IP address, without ldaps://");
    }
    if settings.ssl && settings.start_tls {
        return invalid_setting("start_tls", "ssl and start_tls exclude each other");
    }
    let is_local = |host: &&str| matches!(*host, "localhost" | "127.0.0.1" | "::1");
    if !settings.ssl && !settings.start_tls && !hosts.iter().all(is_local) {
        return invalid_setting(
            "ssl",
            "without ssl or start_tls passwords would cross the network in the clear",
        );
    }
    if !settings.ssl_hostname_validation {
        return invalid_setting(
            "ssl_hostname_validation",
            "the server's name is always checked; use a certificate with the name in hostname",
        );
    }
    if settings.port == Some(0) {
        return invalid_setting("port", "from 1 to 65535");
    }
    if !(1..=CONNECT_SECONDS_MAX).contains(&settings.connect_timeout) {
        return invalid_setting("connect_timeout", "from 1 to 60 seconds");
    }
    if settings.base_dn.trim().is_empty() {
        return invalid_setting("base_dn", "is empty");
    }
    Ok(())
}

fn check_texts(settings: &LdapSettings) -> Result<(), SettingsError> {
    let optional = |text: &Option<String>| text.clone().unwrap_or_default();
    let texts = [
        ("display_name", settings.display_name.clone()),
        ("help_link", optional(&settings.help_link)),
        ("hostname", settings.hostname.clone()),
        ("login", optional(&settings.login)),
        ("password", optional(&settings.password)),
        ("base_dn", settings.base_dn.clone()),
        ("user_rdn", optional(&settings.user_rdn)),
        ("group_rdn", optional(&settings.group_rdn)),
    ];
    for (place, text) in texts {
        if text.len() > SETTING_BYTES {
            return invalid_setting(place, "is too long");
        }
        if text.chars().any(char::is_control) {
            return invalid_setting(place, "has control characters");
        }
    }
    Ok(())
}

/// Checks names of attributes and classes, which are used unescaped in filters.
fn check_attributes(settings: &LdapSettings) -> Result<(), SettingsError> {
    let names = [
        ("user_lookup_attr", settings.user_lookup_attr.as_str()),
        ("user_display_name_attr", &settings.user_display_name_attr),
        ("user_email_attr", &settings.user_email_attr),
        ("group_member_attr", &settings.group_member_attr),
        ("group_name_attr", &settings.group_name_attr),
        ("group_lookup_attr", &settings.group_lookup_attr),
    ];
    let member_of = settings.user_member_of_attr.as_deref();
    let member_of = member_of.map(|name| ("user_member_of_attr", name));
    let class = Some(("group_object_class", settings.group_object_class.as_str()))
        .filter(|(_, class)| *class != "*");
    let fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.' || c == ';';
    for (place, name) in names.into_iter().chain(member_of).chain(class) {
        if name.is_empty() || name.len() > 100 || !name.chars().all(fit) {
            return invalid_setting(place, "is no name of an attribute or class");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn fault(key: &str, value: Value) -> Option<&'static str> {
        let mut settings = json!({"hostname": "ldap.example", "base_dn": "dc=example",
                                  "user_lookup_attr": "uid"});
        settings[key] = value;
        let settings: LdapSettings = serde_json::from_value(settings).unwrap();
        check_settings(&settings).err().map(|error| error.place)
    }

    #[test]
    fn a_bad_setting_is_named() {
        assert_eq!(fault("hostname", json!("ldap.example 10.0.0.1")), None);
        assert_eq!(fault("hostname", json!(" ")), Some("hostname"));
        assert_eq!(fault("hostname", json!("ldaps://a/")), Some("hostname"));
        assert_eq!(fault("hostname", json!("a@b")), Some("hostname"));
        assert_eq!(fault("start_tls", json!(true)), Some("start_tls"));
        assert_eq!(fault("ssl", json!(false)), Some("ssl"));
        assert_eq!(fault("login", json!("cn=x")), Some("password"));
        assert_eq!(fault("connect_timeout", json!(0)), Some("connect_timeout"));
        assert_eq!(fault("base_dn", json!("dc=a\nb")), Some("base_dn"));
        assert_eq!(fault("port", json!(0)), Some("port"));
        assert_eq!(
            fault("ca_certificates", json!("x")),
            Some("ca_certificates")
        );
        let off = fault("ssl_hostname_validation", json!(false));
        assert_eq!(off, Some("ssl_hostname_validation"));
    }

    /// Filters are made of these names.
    #[test]
    fn escalation_a5_attributes_cannot_change_a_filter() {
        for name in ["", "uid)(|(uid=*", "a b", "cn\u{e9}", "*"] {
            assert_eq!(
                fault("user_lookup_attr", json!(name)),
                Some("user_lookup_attr")
            );
        }
        assert_eq!(fault("group_object_class", json!("*")), None);
        let class = fault("group_object_class", json!("a)(b=*"));
        assert_eq!(class, Some("group_object_class"));
    }
}
