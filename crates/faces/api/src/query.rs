//! Queries of data about nodes: `/pdb/query/v4`, for PuppetDB's own clients.

use api_types::{ApiError, PuppetDbQuery, kinds};
use axum::extract::State;
use axum::response::Response;
use inventory::{NodeQuery, QueryError, QueryErrorOrigin, QueryPaging};
use serde_json::json;

use crate::SharedApiContext;
use crate::body::StrictBody;
use crate::failure::ApiFailure;
use crate::large_reply::large_reply;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn get(
    State(api): State<SharedApiContext>,
    QueryParameters(given): QueryParameters,
) -> Result<Response, ApiFailure> {
    answer(&api, PuppetDbQuery::from_parameters(given)?, None).await
}

pub(crate) async fn post(
    State(api): State<SharedApiContext>,
    StrictBody(asked): StrictBody<PuppetDbQuery>,
) -> Result<Response, ApiFailure> {
    answer(&api, asked, None).await
}

pub(crate) async fn get_entity(
    State(api): State<SharedApiContext>,
    PathVariables(entity): PathVariables<String>,
    QueryParameters(given): QueryParameters,
) -> Result<Response, ApiFailure> {
    answer(&api, PuppetDbQuery::from_parameters(given)?, Some(entity)).await
}

pub(crate) async fn post_entity(
    State(api): State<SharedApiContext>,
    PathVariables(entity): PathVariables<String>,
    StrictBody(asked): StrictBody<PuppetDbQuery>,
) -> Result<Response, ApiFailure> {
    answer(&api, asked, Some(entity)).await
}

async fn answer(
    api: &SharedApiContext,
    asked: PuppetDbQuery,
    entity: Option<String>,
) -> Result<Response, ApiFailure> {
    let query = match (asked.query, entity) {
        (None, None) => {
            let what = "give a query, for example nodes[certname] { certname ~ \"^web\" }";
            return Err(ApiError::invalid("query", what).into());
        }
        (None, Some(entity)) => NodeQuery::all_rows(plain(entity)?),
        (Some(query), entity) => {
            let query =
                NodeQuery::from_json(query).map_err(|error| ApiError::invalid("query", error))?;
            match entity {
                Some(entity) => query.with_entity(plain(entity)?),
                None => query,
            }
        }
    };
    let paging = QueryPaging {
        limit: asked.limit,
        offset: asked.offset,
        order_by: asked.order_by,
    };
    let rows = api.inventory.query(&query.with_paging(paging)).await;
    large_reply(rows.map_err(failure)?).await
}

/// Checks the name of an entity, which becomes part of a query.
fn plain(entity: String) -> Result<String, ApiError> {
    let fits = |c: char| c.is_ascii_lowercase() || matches!(c, '-' | '_');
    match entity.len() <= 64 && entity.chars().all(fits) {
        true => Ok(entity),
        false => Err(ApiError::invalid("entity", "not the name of an entity")),
    }
}

/// Converts an error of the inventory to one of the client or the server.
pub(crate) fn failure(error: QueryError) -> ApiFailure {
    let kind = match error.origin() {
        QueryErrorOrigin::Query => kinds::QUERY,
        QueryErrorOrigin::PuppetDb => kinds::PUPPETDB,
        QueryErrorOrigin::Busy => kinds::UNAVAILABLE,
        QueryErrorOrigin::Server => return ApiFailure::internal("ask the inventory", &error),
    };
    let told = ApiError::new(kind, error.to_string());
    match &error {
        QueryError::Unsupported(invalid) => told.with("place", json!(invalid.place)).into(),
        _ => told.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inventory_that_is_busy_is_asked_again_later() {
        let ApiFailure(refused) = failure(QueryError::Busy(inventory::defaults::PLACE_WAIT));
        assert_eq!(refused.status, 503);
        assert!(refused.body.msg.contains("try again"), "{refused:?}");
    }
}
