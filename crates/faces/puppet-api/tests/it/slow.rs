//! Clients that announce a body and never send it.

use std::fs;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Request;
use futures_util::stream;
use https::{PeerCertificate, VerifiedPeer};
use rustls::pki_types::CertificateDer;
use tower::ServiceExt as _;

use crate::site::{Site, files};

#[tokio::test(start_paused = true)]
async fn a_body_that_never_arrives_is_given_up_on_every_route() {
    let site = Site::with_agents().await;
    let peer = peer(&site, "web1");
    for (method, path) in [
        ("PUT", "/puppet-ca/v1/certificate_request/web1"),
        ("PUT", "/puppet-ca/v1/certificate_status/web1"),
        ("POST", "/puppet-ca/v1/sign"),
        ("PUT", "/puppet-ca/v1/clean"),
        ("POST", "/puppet/v3/catalog/web1?environment=production"),
        ("PUT", "/puppet/v3/facts/web1?environment=production"),
        ("PUT", "/puppet/v3/report/web1?environment=production"),
        ("POST", "/tutti/v1/catalogs/web1/check"),
    ] {
        let peer = match path.starts_with("/puppet-ca/") {
            true => PeerCertificate(None),
            false => peer.clone(),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .header("content-length", "100")
            .extension(peer)
            .body(Body::from_stream(
                stream::pending::<std::io::Result<Bytes>>(),
            ))
            .unwrap();
        let response = site.router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 408, "{method} {path}");
    }
}

/// The certificate of a node, as its connection has it.
fn peer(site: &Site, certname: &str) -> PeerCertificate {
    let files = files(site.dir.path(), &site.ca, certname, false);
    let der = pem::parse(fs::read(files.cert).unwrap()).unwrap();
    let der = CertificateDer::from(der.into_contents());
    let peer = VerifiedPeer::from_certificate(der).unwrap();
    PeerCertificate(Some(Arc::new(peer)))
}
