//! `GET certificate_revocation_list/ca`, answered with 304 if the client's copy is current.

use std::time::SystemTime;

use axum::extract::Path;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};

use super::failure::CaFailure;
use super::service::CallerCaService;

pub(super) async fn fetch(
    CallerCaService(service): CallerCaService,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, CaFailure> {
    if name != "ca" {
        let message = format!("Could not find certificate_revocation_list {name}");
        return Err(CaFailure::not_found(message));
    }
    let (pem, modified) = service.read(|ca| ca.crl()).await?;
    let modified_s = to_seconds(modified);
    if modified_since(&headers).is_some_and(|since_s| modified_s <= since_s) {
        return Ok(StatusCode::NOT_MODIFIED.into_response());
    }
    let mut response = pem.into_response();
    let date = Timestamp::from_second(modified_s)
        .ok()
        .and_then(|time| {
            DateTimePrinter::new()
                .timestamp_to_rfc9110_string(&time)
                .ok()
        })
        .and_then(|text| text.parse().ok());
    if let Some(date) = date {
        response.headers_mut().insert(header::LAST_MODIFIED, date);
    }
    Ok(response)
}

/// The time of `If-Modified-Since`; a value that cannot be parsed is ignored.
fn modified_since(headers: &HeaderMap) -> Option<i64> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let text = headers.get(header::IF_MODIFIED_SINCE)?.to_str().ok()?;
    Some(PARSER.parse_timestamp(text).ok()?.as_second())
}

/// Truncates a time to whole seconds, as in HTTP dates.
fn to_seconds(time: SystemTime) -> i64 {
    Timestamp::try_from(time).map_or(i64::MAX, |time| time.as_second())
}
