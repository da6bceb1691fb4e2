//! The certificate authority over HTTP, compatible with puppetserver, so that stock agents (`puppet
//! ssl bootstrap`) and `puppetserver ca` work unchanged.
//!
//! Permissions:
//!
//! | route | permitted callers |
//! |---|---|
//! | `GET certificate/{ca or name}`, `GET certificate_revocation_list/ca` | all |
//! | `GET`, `PUT certificate_request/{name}` | all (a new node has no certificate) |
//! | `POST certificate_renewal` | holders of a certificate, for that certificate |
//! | `DELETE certificate_request/{name}`, `certificate_status/{name}` | administrators |
//! | `certificate_statuses/{any}`, `sign`, `clean` | administrators |
//!
//! Administrators are client certificates with the extension `pp_cli_auth`, and the certnames that
//! the configuration lists. Requests that ask for alternative names or for rights are never signed
//! through this API: they require an administrator on the server (`tutti ca sign`).
//!
//! Actions of administrators, refused requests, and automatically signed certificates are recorded
//! in the audit log.

mod audit_trail;
mod autosign;
mod body;
mod bulk;
mod certificate;
mod failure;
mod renewal;
mod request;
mod revocation_list;
mod service;
mod status;
mod work_queue;

use axum::Router;
use axum::routing::{get, post, put};

pub use autosign::{AutosignError, AutosignPolicy};
pub use service::{CaService, CaWorkError};
pub use status::certificate_status;

pub(crate) fn router(service: CaService) -> Router {
    let v1 = Router::new()
        .route("/certificate/{name}", get(certificate::fetch))
        .route(
            "/certificate_request/{name}",
            get(request::fetch)
                .put(request::submit)
                .delete(request::delete),
        )
        .route(
            "/certificate_status/{name}",
            get(status::fetch).put(status::change).delete(status::clean),
        )
        .route("/certificate_statuses/{any}", get(status::list))
        .route(
            "/certificate_revocation_list/{name}",
            get(revocation_list::fetch),
        )
        .route("/certificate_renewal", post(renewal::renew))
        .route("/sign", post(bulk::sign_all))
        .route("/clean", put(bulk::clean_all))
        .with_state(service);
    Router::new().nest("/puppet-ca/v1", v1)
}
