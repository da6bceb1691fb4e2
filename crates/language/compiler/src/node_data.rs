//! Data of a node that it does not report itself: [`trusted_data`], [`with_agent_facts`].

use pcore::{Hash, Value};
use serde_json::{Map, Value as Json};

/// Trusted data of a node. `authenticated` is `remote` for data of a certificate, and `local`
/// otherwise; `known` are the data that were read of the certificate, such as its extensions.
#[must_use]
pub fn trusted_data(
    certname: &str,
    authenticated: &str,
    known: Option<&Map<String, Json>>,
) -> Hash {
    let (host, domain) = match certname.split_once('.') {
        Some((host, domain)) => (host, Value::from(domain)),
        None => (certname, Value::Undef),
    };
    let known = |name: &str| known.and_then(|known| known.get(name));
    let object = |name: &str| match known(name) {
        Some(value @ Json::Object(_)) => Value::from_json(value),
        _ => Value::hash(Hash::new()),
    };
    [
        ("authenticated", Value::from(authenticated)),
        ("certname", Value::from(certname)),
        ("extensions", object("extensions")),
        ("hostname", Value::from(host)),
        ("domain", domain),
        ("external", object("external")),
    ]
    .into_iter()
    .collect()
}

/// Facts with those that an agent adds to its request, if they are not among them.
#[must_use]
pub fn with_agent_facts(mut facts: Hash, certname: &str) -> Hash {
    let version = facts.get_str("puppetversion").cloned();
    let of_agent = [
        ("clientcert", Some(Value::from(certname))),
        ("clientversion", version),
        ("clientnoop", Some(Value::Bool(false))),
    ];
    for (name, value) in of_agent {
        if let Some(value) = value
            && facts.get_str(name).is_none()
        {
            facts.insert(name, value);
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::trusted_data;

    #[test]
    fn the_certname_is_never_taken_from_the_known_data() {
        let known =
            json!({"certname": "other", "hostname": "other", "extensions": {"pp_role": "web"}});
        let trusted = trusted_data("a.example.com", "remote", known.as_object());
        let text = |name: &str| trusted.get_str(name).map(ToString::to_string);
        assert_eq!(text("certname").as_deref(), Some("a.example.com"));
        assert_eq!(text("hostname").as_deref(), Some("a"));
        assert_eq!(text("domain").as_deref(), Some("example.com"));
        assert_eq!(text("extensions").as_deref(), Some("{pp_role => web}"));
        let without = trusted_data("a", "local", None);
        assert!(
            without
                .get_str("domain")
                .is_some_and(pcore::Value::is_undef)
        );
    }
}
