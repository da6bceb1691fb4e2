//! The client and the request that a policy decides on: [`AuthorizationClient`],
//! [`AuthorizationRequest`].

use pcp::PcpUri;
use std::collections::BTreeMap;

/// Extensions of a client certificate by their short names (`pp_role`) or dotted ids.
pub type CertificateExtensions = BTreeMap<String, String>;

/// The client that sends a message.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationClient<'a> {
    /// The certname from the verified certificate.
    pub certname: &'a str,
    /// The extensions of the certificate; `None` when no rule needs them.
    pub extensions: Option<&'a CertificateExtensions>,
}

/// The properties of a message that authorization decides on.
#[derive(Clone, Copy, Debug)]
pub struct AuthorizationRequest<'a> {
    /// The authenticated sender of the message.
    pub sender: &'a PcpUri,
    /// The target of the message, never a wildcard.
    pub target: &'a PcpUri,
    /// The message type as the client sent it.
    pub message_type: &'a str,
}
