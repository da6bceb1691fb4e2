//! Names and ids of Puppet's certificate extensions.

use super::CertificateExtensions;

/// Arc of Puppet's registered extensions; the last number is the position in [`REGISTERED_NAMES`],
/// from 1.
const REGISTERED: &str = "1.3.6.1.4.1.34380.1.1";
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

/// Returns the dotted id of a short name; a dotted id is returned as it is.
pub(super) fn resolve_oid(key: &str) -> Option<String> {
    if let Some(place) = REGISTERED_NAMES.iter().position(|name| *name == key) {
        return Some(format!("{REGISTERED}.{}", place + 1));
    }
    if let Some((_, oid)) = AUTHORIZATION_NAMES.iter().find(|(name, _)| *name == key) {
        return Some((*oid).to_owned());
    }
    let dotted = key.contains('.') && key.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    dotted.then(|| key.to_owned())
}

/// Reads the extensions named `keys`; absent ones are left out.
pub(super) fn read_extensions<'a>(
    leaf: &[u8],
    keys: impl Iterator<Item = &'a str>,
) -> CertificateExtensions {
    keys.filter_map(|key| {
        let value = pki::identity::extension_text(leaf, &resolve_oid(key)?).ok()??;
        Some((key.to_owned(), value))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_stand_for_their_ids() {
        assert_eq!(
            resolve_oid("pp_role").as_deref(),
            Some("1.3.6.1.4.1.34380.1.1.13")
        );
        assert_eq!(
            resolve_oid("pp_hostname").as_deref(),
            Some("1.3.6.1.4.1.34380.1.1.25")
        );
        assert_eq!(
            resolve_oid("pp_cli_auth").as_deref(),
            Some("1.3.6.1.4.1.34380.1.3.39")
        );
        assert_eq!(resolve_oid("1.2.3").as_deref(), Some("1.2.3"));
        assert_eq!(resolve_oid("role"), None);
    }
}
