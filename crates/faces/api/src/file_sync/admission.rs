//! Admission of servers that follow this one: [`admit_follower`].

use api_types::{ApiError, kinds};
use https::PeerCertificate;
use pki::CertnamePrivilege;
use serde_json::json;

use crate::SharedApiContext;

/// Admits a server that may follow this one.
pub(crate) fn admit_follower(
    api: &SharedApiContext,
    peer: Option<&PeerCertificate>,
) -> Result<(), ApiError> {
    let Some(certname) = peer.and_then(PeerCertificate::certname) else {
        let msg =
            "this is for servers that follow this one, which show a client certificate of its CA";
        return Err(ApiError::new(kinds::UNAUTHENTICATED, msg));
    };
    let names = &api.info.privileged_names;
    let rights = [CertnamePrivilege::Program, CertnamePrivilege::Follower];
    if rights
        .iter()
        .any(|right| names.has_privilege(*right, certname))
    {
        return Ok(());
    }
    tracing::warn!(
        certname,
        "refused as a follower; if it is one, name it in code.followers"
    );
    let msg = format!("{certname} is not on this server's list of followers");
    Err(ApiError::new(kinds::NOT_PERMITTED, msg).with("certname", json!(certname)))
}
