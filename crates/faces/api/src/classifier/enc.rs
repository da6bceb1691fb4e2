//! The document for Puppet's node terminus `exec`: `GET enc/:node`.
//!
//! A document with `classes`, `parameters` and, unless the agent chooses, `environment`.

use api_types::classifier::ClassifyNode;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use classifier::NodeClassification;
use serde_json::{Map, Value, json};

use super::classified::{check_in, node};
use super::{refusal, yaml};
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(name): PathVariables<String>,
) -> Result<Response, ApiFailure> {
    let node = node(&api, &caller, &name, &ClassifyNode::default()).await?;
    check_in(&api, &node, None).await;
    let given = api.classifier.classify(&node);
    let given = given.map_err(|error| refusal::conflict(&error))?;
    let text = yaml::document(&document(&given));
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text).into_response())
}

fn document(given: &NodeClassification) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("classes".to_owned(), json!(given.classes));
    all.insert("parameters".to_owned(), json!(given.parameters));
    // An agent must use the environment of an ENC, so none is returned if the agent may choose.
    if let Some(name) = given
        .environment
        .as_ref()
        .filter(|_| !given.agent_specified)
    {
        all.insert("environment".to_owned(), json!(name));
    }
    all
}
