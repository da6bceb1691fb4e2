//! The header with the version of Puppet, by which agents choose what they request:
//! [`add_puppet_version`].

use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;

const PUPPET_VERSION: HeaderName = HeaderName::from_static("x-puppet-version");

/// Version of Puppet whose API and catalogs are served.
const SERVED_VERSION: HeaderValue = HeaderValue::from_static("8.10.0");

/// Adds the header to a response, unless it comes from another server that has told its version.
pub(crate) async fn add_puppet_version(mut response: Response) -> Response {
    response
        .headers_mut()
        .entry(PUPPET_VERSION)
        .or_insert(SERVED_VERSION);
    response
}
