//! The parameters of a request's query, some of which occur several times: [`QueryParams`].

use std::borrow::Cow;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;
use environments::EnvironmentName;

use crate::failure::PuppetApiFailure;
use crate::requested_file::parse_environment;

/// Names and values, in the order of the request.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueryParams(Vec<(String, String)>);

impl QueryParams {
    pub(crate) fn new(params: Vec<(String, String)>) -> Self {
        Self(params)
    }

    /// The value of a parameter that occurs once; `None` if it is absent.
    pub(crate) fn get(&self, name: &str) -> Result<Option<&str>, PuppetApiFailure> {
        let mut values = self.all(name);
        let value = values.next();
        match values.next() {
            None => Ok(value),
            Some(other) if Some(other) == value => Ok(value),
            Some(_) => Err(PuppetApiFailure::bad_request(format!(
                "the parameter {name} occurs several times"
            ))),
        }
    }

    /// All values of a parameter.
    pub(crate) fn all<'p, 'n>(
        &'p self,
        name: &'n str,
    ) -> impl Iterator<Item = &'p str> + use<'p, 'n> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_str())
    }

    /// True or false as Ruby writes it; false if it is absent.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, PuppetApiFailure> {
        match self.get(name)? {
            None | Some("" | "false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(PuppetApiFailure::bad_request(format!(
                "the parameter {name} must be true or false"
            ))),
        }
    }

    /// The environment that the request names.
    pub(crate) fn environment(&self) -> Result<EnvironmentName, PuppetApiFailure> {
        parse_environment(self.get("environment")?)
    }

    /// Adds parameters of the same request.
    pub(crate) fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Removes a parameter and returns its value.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(key, _)| key == name)?;
        Some(self.0.swap_remove(place).1)
    }

    /// Parameters of a form in a request's body.
    pub(crate) fn of_form(body: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(body);
        Self(
            pairs
                .map(|(name, value)| (Cow::into_owned(name), Cow::into_owned(value)))
                .collect(),
        )
    }
}

impl<S: Send + Sync> FromRequestParts<S> for QueryParams {
    type Rejection = PuppetApiFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, PuppetApiFailure> {
        let params = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(params) = params.map_err(|_: QueryRejection| {
            PuppetApiFailure::bad_request("the query string cannot be read")
        })?;
        Ok(Self::new(params))
    }
}
