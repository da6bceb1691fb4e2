//! TLS settings towards directories and identity providers: [`client`].

use std::sync::Arc;

use pki::{ClientTls, RootsError};
use rustls::ClientConfig;

/// Trusts the CAs in `pem`, or those of the machine.
pub(crate) fn client(pem: Option<&str>) -> Result<Arc<ClientConfig>, RootsError> {
    match pem {
        Some(pem) => ClientTls::pem_roots(pem),
        None => ClientTls::machine_roots(),
    }
}
