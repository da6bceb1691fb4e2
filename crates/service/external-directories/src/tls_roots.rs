//! TLS settings towards directories and identity providers: [`client_config`].

use std::sync::Arc;

use pki::{ClientTls, RootsError};
use rustls::ClientConfig;

/// Trusts the CAs in `pem`, or those of the machine.
pub(crate) fn client_config(pem: Option<&str>) -> Result<Arc<ClientConfig>, RootsError> {
    match pem {
        Some(pem) => ClientTls::pem_roots(pem),
        None => ClientTls::machine_roots(),
    }
}
