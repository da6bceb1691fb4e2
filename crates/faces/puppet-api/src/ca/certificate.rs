//! `GET certificate/{name}`: a node's certificate, or the CA's as `ca`.

use axum::extract::Path;

use super::failure::CaFailure;
use super::service::{CallerCaService, certname};

pub(super) async fn fetch(
    CallerCaService(service): CallerCaService,
    Path(name): Path<String>,
) -> Result<String, CaFailure> {
    if name == "ca" {
        return service.read(|ca| ca.ca_bundle()).await;
    }
    let certname = certname(&name)?;
    let found = service
        .read(move |ca| ca.certificate(certname.as_str()))
        .await?;
    found.ok_or_else(|| CaFailure::not_found(format!("Could not find certificate {name}")))
}
