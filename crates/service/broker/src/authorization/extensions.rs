//! Extensions of a client's certificate, as rules name them.

use super::CertificateExtensions;

/// Reads the extensions named `keys`; absent ones are left out.
pub(super) fn read_extensions<'a>(
    leaf: &[u8],
    keys: impl Iterator<Item = &'a str>,
) -> CertificateExtensions {
    keys.filter_map(|key| {
        let value = pki::identity::extension_text(leaf, &pki::extension_id(key)?).ok()??;
        Some((key.to_owned(), value))
    })
    .collect()
}
