//! Query parameters and path variables, read strictly.

use api_types::ApiError;
use api_types::parameters::Parameters;
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use store::{JobNumber, ListPage};

use crate::failure::ApiFailure;

/// The query parameters of a request, for types of `api-types`.
pub(crate) struct QueryParameters(pub(crate) Parameters);

impl<S: Send + Sync> FromRequestParts<S> for QueryParameters {
    type Rejection = ApiFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiFailure> {
        let pairs = Query::<Vec<(String, String)>>::from_request_parts(parts, state).await;
        let Query(pairs) =
            pairs.map_err(|_| ApiError::invalid("query", "this is not name=value&name=value"))?;
        Ok(Self(Parameters::new(pairs)?))
    }
}

/// The variables of a path; text that is not UTF-8 is a validation error.
pub(crate) struct PathVariables<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for PathVariables<T> {
    type Rejection = ApiFailure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiFailure> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        let unusable = "a part of the path is not UTF-8 or not of the form that this route takes";
        let Path(values) = path.map_err(|_| ApiError::invalid("path", unusable))?;
        Ok(Self(values))
    }
}

/// Parses the number of a job in a path or a body.
pub(crate) fn job_number(place: &str, text: &str) -> Result<JobNumber, ApiError> {
    let shown: String = text.chars().take(40).collect();
    text.parse()
        .map_err(|error| ApiError::invalid(place, format!("{shown:?} is {error}")))
}

/// The page of a list, in the store's type.
pub(crate) fn store_page(page: api_types::Page) -> ListPage {
    ListPage {
        limit: page.limit,
        offset: page.offset,
    }
}
