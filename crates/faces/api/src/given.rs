//! Query parameters and path variables, read strictly.

use api_types::ApiError;
use api_types::parameters::Parameters;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use store::{JobNumber, Page};

use crate::failure::Failure;

/// The query parameters of a request, for a type of `api-types` to read.
pub(crate) struct Given(pub(crate) Parameters);

impl<S: Send + Sync> FromRequestParts<S> for Given {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(pairs) =
            pairs.map_err(|_| ApiError::invalid("query", "this is not name=value&name=value"))?;
        Ok(Self(Parameters::new(pairs)?))
    }
}

/// The variable parts of a path; not UTF-8 is a validation error.
pub(crate) struct Variables<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Variables<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        let unusable = "a part of the path is not UTF-8 or not of the form that this route takes";
        let Path(values) = path.map_err(|_| ApiError::invalid("path", unusable))?;
        Ok(Self(values))
    }
}

/// The number of a job in a path or a body.
pub(crate) fn job_number(place: &str, text: &str) -> Result<JobNumber, ApiError> {
    let shown: String = text.chars().take(40).collect();
    text.parse()
        .map_err(|error| ApiError::invalid(place, format!("{shown:?} is {error}")))
}

/// The part of a list that is asked for, as the store is asked for it.
pub(crate) fn store_page(page: api_types::Page) -> Page {
    Page {
        limit: page.limit,
        offset: page.offset,
    }
}
