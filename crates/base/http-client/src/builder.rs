//! Clients with the settings that every outgoing request needs: [`builder`].

use std::sync::Arc;

use pki::ClientTls;
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
use rustls::ClientConfig;

/// Sent as `User-Agent`.
const USER_AGENT: &str = concat!("tutti/", env!("CARGO_PKG_VERSION"));

/// A builder of clients that verify servers with `tls` and connect to them directly. The caller
/// sets the timeouts.
pub fn builder(tls: Arc<ClientConfig>) -> ClientBuilder {
    builder_with_system_proxy(tls).no_proxy()
}

/// A builder of clients for servers on the Internet: they use the proxy of `HTTPS_PROXY` and
/// similar environment variables.
pub fn builder_with_system_proxy(tls: Arc<ClientConfig>) -> ClientBuilder {
    Client::builder()
        .tls_backend_preconfigured(Arc::unwrap_or_clone(tls))
        .redirect(Policy::none())
        .user_agent(USER_AGENT)
}

/// A builder of clients for `http://` addresses of this machine, which the caller has checked.
pub fn without_tls() -> ClientBuilder {
    // The library needs TLS settings although they are never used.
    builder(ClientTls::first_contact())
}
