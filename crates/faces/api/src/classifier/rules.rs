//! Pinned nodes, and conversions of rules.

use api_types::classifier::{NodeGroupRules, RuleCondition, TranslatedRules};
use api_types::{ApiError, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use classifier::{NodeGroupRight, NodeGroupRule, QueryFormat, SchemaError, UntranslatableRule};
use serde_json::{Value, json};

use super::body::{AnyJson, group_id, nodes, parse_with};
use super::caller::{CallerRights, demand_on_group};
use super::refusal;
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::{PathVariables, QueryParameters};

pub(crate) async fn pin(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(given): QueryParameters,
    body: AnyJson,
) -> Result<StatusCode, ApiFailure> {
    let (id, nodes) = (group_id(&id)?, nodes(given, body)?);
    let rights = CallerRights::new(&api, &caller);
    let done = api.classifier.pin(id, nodes, rights).await;
    done.map_err(refusal::edit_error)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn unpin(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
    QueryParameters(given): QueryParameters,
    body: AnyJson,
) -> Result<StatusCode, ApiFailure> {
    let (id, nodes) = (group_id(&id)?, nodes(given, body)?);
    let rights = CallerRights::new(&api, &caller);
    let done = api.classifier.unpin(id, nodes, rights).await;
    done.map_err(refusal::edit_error)?;
    Ok(StatusCode::NO_CONTENT)
}

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(id): PathVariables<String>,
) -> Result<Json<NodeGroupRules>, ApiFailure> {
    let id = group_id(&id)?;
    let rule = api
        .classifier
        .inherited_rule(id)
        .map_err(refusal::unknown_error)?;
    demand_on_group(&api, &caller, NodeGroupRight::View, id)?;
    let json = |rule: Option<NodeGroupRule>| rule.map(|rule| rule.to_json());
    let query = |query: Option<Result<Value, UntranslatableRule>>| query.and_then(Result::ok);
    Ok(Json(NodeGroupRules {
        rule: json(rule.own),
        rule_with_inherited: json(rule.with_inherited),
        translated: TranslatedRules {
            nodes_query_format: query(rule.nodes_query),
            inventory_query_format: query(rule.inventory_query),
        },
    }))
}

pub(crate) async fn translate(
    QueryParameters(mut given): QueryParameters,
    body: AnyJson,
) -> Result<Json<RuleCondition>, ApiFailure> {
    let format = match given.text("format").as_deref() {
        None | Some("nodes") => QueryFormat::Nodes,
        Some("inventory") => QueryFormat::Inventory,
        Some(_) => return Err(ApiError::invalid("format", "`nodes` or `inventory`").into()),
    };
    given.finish()?;
    let body = body.require_json()?;
    let rule = parse_with(&body, |json| {
        NodeGroupRule::parse(json).map_err(|error| SchemaError {
            place: error.place,
            what: error.what,
        })
    })?;
    let query = rule.to_puppetdb(format).map_err(|error| {
        let refused = ApiError::new(kinds::UNTRANSLATABLE_RULE, error.to_string());
        refused
            .with("condition", error.condition)
            .with("rule", json!(rule))
    });
    Ok(Json(RuleCondition(query?)))
}
