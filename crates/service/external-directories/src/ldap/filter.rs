//! Search filters. Invariant: values are inserted into a filter only by [`equals_filter`].

use ldap3::ldap_escape;

/// `(attribute=value)`, with the value escaped.
pub(super) fn equals_filter(attribute: &str, value: &str) -> String {
    format!("({attribute}={})", ldap_escape(value))
}

/// A filter that requires all of these.
pub(super) fn and_filter(parts: &[String]) -> String {
    format!("(&{})", parts.concat())
}

/// A filter that requires one of these.
pub(super) fn or_filter(parts: &[String]) -> String {
    format!("(|{})", parts.concat())
}

/// A filter for entries of a class; `*` for any.
pub(super) fn class_filter(name: &str) -> String {
    match name {
        "*" => "(objectClass=*)".to_owned(),
        name => equals_filter("objectClass", name),
    }
}

/// The DN `base`, or `rdn` below it.
pub(super) fn join_dn(rdn: Option<&str>, base: &str) -> String {
    match rdn.map(str::trim).filter(|rdn| !rdn.is_empty()) {
        Some(rdn) => format!("{rdn},{base}"),
        None => base.to_owned(),
    }
}

/// Returns `true` if `dn` is `base` or below it, as far as this is decidable without the schema:
/// case and spaces after commas are ignored.
pub(super) fn is_below(dn: &str, base: &str) -> bool {
    let plain = |dn: &str| {
        let parts: Vec<String> = dn
            .split(',')
            .map(|part| part.trim().to_lowercase())
            .collect();
        parts
    };
    plain(dn).ends_with(&plain(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escalation_a5_a_value_cannot_change_a_filter() {
        let escaped = |value| equals_filter("uid", value);
        assert_eq!(escaped("fred"), "(uid=fred)");
        assert_eq!(escaped("*"), "(uid=\\2a)");
        assert_eq!(escaped("a)(|(uid=*"), "(uid=a\\29\\28|\\28uid=\\2a)");
        assert_eq!(escaped("a\\2a"), "(uid=a\\5c2a)");
        assert_eq!(escaped("a\0b"), "(uid=a\\00b)");
    }

    #[test]
    fn a_dn_is_below_its_base() {
        assert!(is_below(
            "cn=A,ou=Groups, dc=Example",
            "ou=groups,dc=example"
        ));
        assert!(!is_below(
            "cn=a,ou=mygroups,dc=example",
            "ou=groups,dc=example"
        ));
        assert!(!is_below("dc=example", "ou=groups,dc=example"));
        assert_eq!(join_dn(Some("ou=x"), "dc=y"), "ou=x,dc=y");
        assert_eq!(join_dn(Some(" "), "dc=y"), "dc=y");
    }
}
