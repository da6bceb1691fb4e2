//! Puppet's certificate extensions: their names, ids and values. Main function:
//! [`puppet_extensions`].
//!
//! Invariant: only extensions below Puppet's own arc are read, as in `$trusted['extensions']`.

use std::collections::BTreeMap;

use x509_parser::prelude::X509Certificate;

use crate::identity::value_text;

/// Arc of all of Puppet's extensions.
const PUPPET: &str = "1.3.6.1.4.1.34380.1.";

/// Arc of Puppet's registered extensions; the last number is the position in [`REGISTERED_NAMES`],
/// from 1.
const REGISTERED: &str = "1.3.6.1.4.1.34380.1.1.";
const REGISTERED_NAMES: &[&str] = &[
    "pp_uuid",
    "pp_instance_id",
    "pp_image_name",
    "pp_preshared_key",
    "pp_cost_center",
    "pp_product",
    "pp_project",
    "pp_application",
    "pp_service",
    "pp_employee",
    "pp_created_by",
    "pp_environment",
    "pp_role",
    "pp_software_version",
    "pp_department",
    "pp_cluster",
    "pp_provisioner",
    "pp_region",
    "pp_datacenter",
    "pp_zone",
    "pp_network",
    "pp_securitypolicy",
    "pp_cloudplatform",
    "pp_apptier",
    "pp_hostname",
];

const AUTHORIZATION_NAMES: &[(&str, &str)] = &[
    ("pp_authorization", "1.3.6.1.4.1.34380.1.3.1"),
    ("pp_auth_role", "1.3.6.1.4.1.34380.1.3.13"),
    ("pp_cli_auth", "1.3.6.1.4.1.34380.1.3.39"),
];

/// True for the dotted id of one of Puppet's extensions.
pub(crate) fn is_puppet_extension(id: &str) -> bool {
    id.starts_with(PUPPET)
}

/// The dotted id of an extension's short name; a dotted id is returned as it is. `None` for any
/// other text.
#[must_use]
pub fn extension_id(key: &str) -> Option<String> {
    if let Some(place) = REGISTERED_NAMES.iter().position(|name| *name == key) {
        return Some(format!("{REGISTERED}{}", place + 1));
    }
    if let Some((_, id)) = AUTHORIZATION_NAMES.iter().find(|(name, _)| *name == key) {
        return Some((*id).to_owned());
    }
    let dotted = key.contains('.') && key.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    dotted.then(|| key.to_owned())
}

/// The short name of an extension, or its id if it has none.
fn extension_name(id: &str) -> &str {
    let registered = id.strip_prefix(REGISTERED);
    let place = registered.and_then(|place| place.parse::<usize>().ok());
    let registered = place.and_then(|place| REGISTERED_NAMES.get(place.checked_sub(1)?));
    let of_authorization = || AUTHORIZATION_NAMES.iter().find(|(_, known)| *known == id);
    match registered {
        Some(name) => name,
        None => of_authorization().map_or(id, |(name, _)| name),
    }
}

/// Puppet's extensions of a certificate, by short name, or by id where there is none.
pub(crate) fn puppet_extensions(certificate: &X509Certificate<'_>) -> BTreeMap<String, String> {
    let extensions = certificate.iter_extensions().filter_map(|extension| {
        let id = extension.oid.to_id_string();
        let is_of_puppet = id.starts_with(PUPPET);
        is_of_puppet.then(|| {
            let name = extension_name(&id).to_owned();
            (name, value_text(extension.value))
        })
    });
    extensions.collect()
}

#[cfg(test)]
mod tests {
    use super::{extension_id, extension_name};

    #[test]
    fn names_and_ids_stand_for_each_other() {
        for (name, id) in [
            ("pp_uuid", "1.3.6.1.4.1.34380.1.1.1"),
            ("pp_role", "1.3.6.1.4.1.34380.1.1.13"),
            ("pp_hostname", "1.3.6.1.4.1.34380.1.1.25"),
            ("pp_cli_auth", "1.3.6.1.4.1.34380.1.3.39"),
        ] {
            assert_eq!(extension_id(name).as_deref(), Some(id));
            assert_eq!(extension_name(id), name);
        }
        for id in [
            "1.3.6.1.4.1.34380.1.1.0",
            "1.3.6.1.4.1.34380.1.1.26",
            "1.3.6.1.4.1.34380.1.2.1",
        ] {
            assert_eq!(extension_name(id), id);
            assert_eq!(extension_id(id).as_deref(), Some(id));
        }
        assert_eq!(extension_id("role"), None);
    }
}
