//! Clients that announce a body and never send it.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::Request;
use environments::{EnvironmentDir, JobCatalogs};
use futures_util::stream;
use puppet_api::{AutosignPolicy, CaService, FileMounts, PuppetApiState};
use tower::ServiceExt as _;

use crate::site::Site;

#[tokio::test(start_paused = true)]
async fn a_body_that_never_arrives_is_given_up_on_every_route() {
    let site = Site::start().await;
    let router = puppet_api::router(PuppetApiState {
        code: Arc::new(EnvironmentDir::new(site.dir.path().join("code"))),
        job_catalogs: JobCatalogs::default(),
        codedir: site.dir.path().join("code"),
        catalogs: site.catalogs.clone(),
        blobs: site.blobs.clone(),
        mounts: FileMounts::default(),
        run_reports: site.run_reports.clone(),
        ca: Some(CaService::new(site.ca.clone(), AutosignPolicy::Off, site.audit.clone()).unwrap()),
        agents: None,
        front: None,
        bucket: site.bucket.clone(),
        rules: None,
    });
    for (method, path) in [
        ("PUT", "certificate_request/web1"),
        ("PUT", "certificate_status/web1"),
        ("POST", "sign"),
        ("PUT", "clean"),
    ] {
        let request = Request::builder()
            .method(method)
            .uri(format!("/puppet-ca/v1/{path}"))
            .header("content-length", "100")
            .body(Body::from_stream(
                stream::pending::<std::io::Result<Bytes>>(),
            ))
            .unwrap();
        let response = router.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), 408, "{method} {path}");
    }
}
