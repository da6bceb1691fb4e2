//! Rules of an `auth.conf`, in the form of puppetserver: [`AuthorizationRules`].
//!
//! A request is decided by the first rule that matches it, in the order of `sort-order` and name. Without a
//! matching rule it is refused. The rules come before the routes, whose own checks remain: a rule
//! cannot let a node have the catalog or the data of another.
//!
//! Invariants:
//! - A file with an unknown key, or with a rule that has no meaning here, does not load.
//! - A client is its certificate's common name, and no alternative name.
//! - A path that is escaped, or has superfluous slashes, has no more rights than the same path in its plain form.

mod parse;
mod rule;

use std::path::Path;
use std::sync::Arc;

use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;

use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;
use rule::{AuthorizationRule, RuleRequest};

pub use parse::AuthorizationRulesError;

/// The rules of a file, in the order in which they are tried.
#[derive(Debug, Clone)]
pub struct AuthorizationRules {
    rules: Arc<[AuthorizationRule]>,
}

/// The rule that decided a request; `None` if no rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision<'r> {
    Allowed,
    Refused(Option<&'r str>),
}

impl AuthorizationRules {
    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, or a rule is not understood; the error names its place.
    pub fn read(path: &Path) -> Result<Self, AuthorizationRulesError> {
        Self::of_document(&hocon::read_file(path)?)
    }

    fn of_document(document: &serde_json::Value) -> Result<Self, AuthorizationRulesError> {
        let rules = parse::parse_rules(document)?;
        Ok(Self {
            rules: rules.into(),
        })
    }

    fn decide(&self, request: &RuleRequest<'_>) -> Decision<'_> {
        let plain = plain_path(request.path);
        let of_path = |path: &str| {
            let request = RuleRequest { path, ..*request };
            self.decide_path(&request)
        };
        match of_path(request.path) {
            Decision::Allowed if plain != request.path => of_path(&plain),
            decision => decision,
        }
    }

    fn decide_path(&self, request: &RuleRequest<'_>) -> Decision<'_> {
        for rule in &*self.rules {
            if let Some(captures) = rule.match_request(request) {
                return match rule.allows(request.certificate, &captures) {
                    true => Decision::Allowed,
                    false => Decision::Refused(Some(&rule.name)),
                };
            }
        }
        Decision::Refused(None)
    }
}

/// A path without escapes, and with one slash in place of several.
fn plain_path(path: &str) -> String {
    let unescaped = percent_decode_str(path).decode_utf8_lossy();
    let mut plain = String::with_capacity(unescaped.len());
    for character in unescaped.chars() {
        if character != '/' || !plain.ends_with('/') {
            plain.push(character);
        }
    }
    plain
}

/// Refuses requests that the rules do not allow.
pub(crate) async fn authorize(
    State(rules): State<AuthorizationRules>,
    request: Request,
    next: Next,
) -> Response {
    let (mut parts, body) = request.into_parts();
    let caller = match PuppetApiCaller::from_request_parts(&mut parts, &()).await {
        Ok(caller) => caller,
        Err(never) => match never {},
    };
    let params = QueryParams::from_request_parts(&mut parts, &()).await;
    // a query that cannot be read is an error of the route, and matches no parameter
    let params = params.unwrap_or_default();
    let decision = rules.decide(&RuleRequest {
        method: parts.method.as_str(),
        path: parts.uri.path(),
        params: &params,
        certificate: caller.certificate.0.as_deref(),
    });
    let Decision::Refused(rule) = decision else {
        return next.run(Request::from_parts(parts, body)).await;
    };
    let (method, path) = (parts.method.as_str().to_ascii_lowercase(), parts.uri.path());
    tracing::warn!(
        certname = caller.certname(),
        address = caller.address.map(tracing::field::display),
        method,
        path,
        rule,
        "a request is refused by the rules of auth.conf"
    );
    let message = format!(
        "Forbidden request: {path} (method :{method}). Please see the server logs for details."
    );
    (StatusCode::FORBIDDEN, message).into_response()
}
