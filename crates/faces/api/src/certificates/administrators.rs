//! Clients that may administer the CA with a certificate: [`authenticate_administrator`].

use api_types::{Policy, Route};
use pki::CertnamePrivilege;

use crate::SharedApiContext;
use crate::caller::ApiCaller;

/// Authenticates a client certificate that may administer the CA, on the CA's routes only; `None`
/// for any other certificate or route. The same certificates are accepted on port 8140.
pub(crate) fn authenticate_administrator(
    api: &SharedApiContext,
    route: &Route,
    certname: &str,
    leaf: &[u8],
) -> Option<ApiCaller> {
    if !is_ca_route(route) {
        return None;
    }
    let names = &api.info.privileged_names;
    let may = names.has_privilege(CertnamePrivilege::CaAdministrator, certname)
        || pki::identity::may_administer_ca(leaf);
    may.then(|| ApiCaller(api.access.ca_administrator(certname)))
}

/// True for a route of the CA.
pub(crate) fn is_ca_route(route: &Route) -> bool {
    matches!(
        route.policy,
        Policy::Permission {
            object_type: "cert_requests",
            ..
        }
    )
}
