//! A request as the puppetserver gets it: [`OutgoingHead`] and [`OutgoingBody`].
//!
//! Invariant: the path is that of the client, byte by byte, and leads nowhere else when it is resolved.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, Method, Uri, header};
use http_client::is_client_header;
use reqwest::Url;

use crate::bounded_body::bounded_body;
use crate::failure::PuppetApiFailure;

/// Method, address and headers of a client's request.
#[derive(Debug, Clone)]
pub(crate) struct OutgoingHead {
    pub(crate) method: Method,
    uri: Uri,
    headers: HeaderMap,
}

/// The body of a client's request.
#[derive(Debug)]
pub(crate) enum OutgoingBody {
    /// A body that was read already, as the client sent it.
    Whole(Bytes),
    /// A body that is read while it is sent, up to a limit in bytes.
    Streamed { body: Body, limit: usize },
}

/// Headers of one connection, which say nothing to the next.
const OF_CONNECTION: [HeaderName; 9] = [
    header::CONNECTION,
    header::HOST,
    header::TRANSFER_ENCODING,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
];

impl OutgoingHead {
    pub(crate) fn of(request: &Request) -> Self {
        Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: request.headers().clone(),
        }
    }

    pub(crate) fn path(&self) -> &str {
        self.uri.path()
    }

    /// The address at the puppetserver.
    pub(super) fn url(&self, base: &Url) -> Result<Url, PuppetApiFailure> {
        let mut url = base.clone();
        url.set_path(self.uri.path());
        url.set_query(self.uri.query());
        // `..`, also if it is escaped, and characters that are not allowed there
        match url.path() == self.uri.path() && url.query() == self.uri.query() {
            true => Ok(url),
            false => Err(PuppetApiFailure::bad_request(
                "the path of the request is not in its normal form",
            )),
        }
    }

    /// The headers of the client that concern the puppetserver; `body` tells whether there is a length.
    pub(super) fn headers(&self, body: &OutgoingBody) -> HeaderMap {
        let named_by_connection = self.headers.get_all(header::CONNECTION).iter();
        let named_by_connection: Vec<String> = named_by_connection
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .collect();
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let is_length = *name == header::CONTENT_LENGTH;
            let is_dropped = is_of_connection(name)
                || is_client_header(name)
                || named_by_connection.iter().any(|it| it == name.as_str())
                || (is_length && matches!(body, OutgoingBody::Whole(_)));
            if !is_dropped {
                headers.append(name.clone(), value.clone());
            }
        }
        headers
    }
}

impl OutgoingBody {
    /// The body as the HTTP client sends it. It breaks off if the client sends too much, or nothing for
    /// `stall`.
    pub(super) fn into_body(self, stall: Duration) -> reqwest::Body {
        match self {
            Self::Whole(bytes) => bytes.into(),
            Self::Streamed { body, limit } => {
                reqwest::Body::wrap_stream(bounded_body(body.into_data_stream(), limit, stall))
            }
        }
    }
}

/// True for a header that concerns a single connection.
pub(super) fn is_of_connection(name: &HeaderName) -> bool {
    OF_CONNECTION.contains(name) || name.as_str() == "keep-alive"
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;

    use super::*;

    fn head(uri: &str, headers: &[(&str, &str)]) -> OutgoingHead {
        let mut request = Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        OutgoingHead::of(&request.body(Body::empty()).unwrap())
    }

    #[test]
    fn paths_that_lead_elsewhere_are_refused() {
        let base: Url = "https://localhost:8141".parse().unwrap();
        for path in [
            "/puppet/v3/../../puppet-admin-api/v1/environment-cache",
            "/puppet/v3/%2e%2e/%2E%2E/puppet-admin-api/v1/environment-cache",
            "/puppet/v3/./x",
            "/puppet/v3/.%2e/x",
        ] {
            assert!(head(path, &[]).url(&base).is_err(), "{path}");
        }
        for path in [
            "/puppet/v3/file_bucket_file/md5/0/etc/x?environment=a&b=%2e%2e",
            "/puppet/v3/a%2Fb%00c",
            "/puppet/v3//etc/passwd",
            "/puppet/v3/x?",
        ] {
            let url = head(path, &[]).url(&base).unwrap();
            assert_eq!(url.as_str(), format!("https://localhost:8141{path}"));
        }
    }

    #[test]
    fn headers_of_the_connection_and_of_proxies_are_dropped() {
        let head = head(
            "/x",
            &[
                ("host", "h"),
                ("connection", "close, X-One"),
                ("x-one", "1"),
                ("transfer-encoding", "chunked"),
                ("content-length", "3"),
                ("X-Client-DN", "CN=other"),
                ("X-Client-Cert", "y"),
                ("X_Client_Verify", "SUCCESS"),
                ("accept", "text/pson"),
                ("x-puppet-version", "7.23.0"),
            ],
        );
        let names = |body| {
            let headers = head.headers(&body);
            let mut names: Vec<_> = headers.keys().map(ToString::to_string).collect();
            names.sort_unstable();
            names
        };
        assert_eq!(
            names(OutgoingBody::Whole(Bytes::new())),
            ["accept", "x-puppet-version"]
        );
        let streamed = OutgoingBody::Streamed {
            body: Body::empty(),
            limit: 1,
        };
        assert_eq!(
            names(streamed),
            ["accept", "content-length", "x-puppet-version"]
        );
    }
}
