//! The classes and transports of an environment, with an `ETag` that stays the same as long as they do.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use catalogs::{CatalogError, EnvironmentListing};
use environments::EnvironmentName;
use error_causes::chain;

use super::{ListingServer, environment_of, no_environment};
use crate::failure::PuppetApiFailure;
use crate::files::code_failure;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

const JSON: &str = "application/json";

pub(super) async fn classes(
    State(server): State<ListingServer>,
    caller: PuppetApiCaller,
    params: QueryParams,
    headers: HeaderMap,
) -> Result<Response, PuppetApiFailure> {
    caller.require_certname()?;
    let environment = environment_of(&params)?;
    let _turn = server.take_turn(&caller).await?;
    let listed = server.catalogs.classes(&environment).await;
    let listed = listed.map_err(|error| listing_failure(&environment, error))?;
    Ok(respond(&listed, &headers))
}

pub(super) async fn transports(
    State(server): State<ListingServer>,
    caller: PuppetApiCaller,
    params: QueryParams,
    headers: HeaderMap,
) -> Result<Response, PuppetApiFailure> {
    caller.require_certname()?;
    let environment = environment_of(&params)?;
    let _turn = server.take_turn(&caller).await?;
    let listed = server.catalogs.transports(&environment).await;
    let listed = listed.map_err(|error| listing_failure(&environment, error))?;
    Ok(respond(&listed, &headers))
}

/// The tag has no quotes, as that of a puppetserver, whose clients send it back as it is.
fn respond(listing: &EnvironmentListing, headers: &HeaderMap) -> Response {
    let etag = [(header::ETAG, listing.etag.clone())];
    if is_known(headers, &listing.etag) {
        return (StatusCode::NOT_MODIFIED, etag).into_response();
    }
    let media_type = [(header::CONTENT_TYPE, JSON)];
    (etag, media_type, listing.body.to_string()).into_response()
}

/// True if `If-None-Match` names the tag, with or without quotes, or with the `--gzip` that Jetty appends.
fn is_known(headers: &HeaderMap, etag: &str) -> bool {
    let values = headers.get_all(header::IF_NONE_MATCH).iter();
    let tags = values.filter_map(|value| value.to_str().ok());
    let mut tags = tags.flat_map(|value| value.split(','));
    tags.any(|tag| {
        let tag = tag.trim().trim_start_matches("W/").trim_matches('"');
        tag.strip_suffix("--gzip").unwrap_or(tag) == etag
    })
}

fn listing_failure(environment: &EnvironmentName, error: CatalogError) -> PuppetApiFailure {
    match error {
        CatalogError::Code(error) if error.is_not_found() => no_environment(environment),
        CatalogError::Code(error) => code_failure(error),
        error => PuppetApiFailure::server_error(chain(&error)),
    }
}
