//! Routes under `/puppet-ca/v1`: the certificate authority, for users with a token. Port 8140
//! serves puppetserver's routes for agents and for holders of certificates.

use crate::defaults::CERTIFICATE_BODY_BYTES;
use crate::route::Method::{Delete, Get, Put};
use crate::route::{Policy, Route};
use crate::routes::permissions::may;
use crate::{CertificateChange, CertificateChanged, CertificateStatus, CertificateStatuses};

/// The permission of all these routes, by Puppet Enterprise's name.
const MANAGE: Policy = may("cert_requests", "accept_reject");

super::group! {
    CERTIFICATE_STATUSES = Route::new(Get, "/puppet-ca/v1/certificate_statuses/{any}",
        "certificate_statuses", MANAGE, "Requests and certificates")
        .reply::<CertificateStatuses>(200).query(&["state"]);
    CERTIFICATE_STATUS = Route::new(Get, "/puppet-ca/v1/certificate_status/{certname}",
        "certificate_status", MANAGE, "A request or certificate").reply::<CertificateStatus>(200);
    CERTIFICATE_CHANGE = Route::new(Put, "/puppet-ca/v1/certificate_status/{certname}",
        "change_certificate_status", MANAGE, "Sign a request, or revoke a certificate")
        .request::<CertificateChange>().reply::<CertificateChanged>(200)
        .max_body_bytes(CERTIFICATE_BODY_BYTES);
    CERTIFICATE_CLEAN = Route::new(Delete, "/puppet-ca/v1/certificate_status/{certname}",
        "clean_certificate", MANAGE, "Revoke a certificate and forget the name")
        .reply::<CertificateChanged>(200);
}
