//! What Puppet's node terminus `exec` reads: `GET enc/:node`.
//!
//! A document with `classes`, `parameters` and, unless the agent chooses, `environment`.

use api_types::classifier::ClassifyNode;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use classifier::Classification;
use serde_json::{Map, Value, json};

use super::classified::{check_in, node};
use super::{refusal, yaml};
use crate::Shared;
use crate::failure::Failure;
use crate::given::Variables;
use crate::guard::Caller;

pub(crate) async fn show(
    State(api): State<Shared>,
    caller: Caller,
    Variables(name): Variables<String>,
) -> Result<Response, Failure> {
    let node = node(&api, &caller, &name, &ClassifyNode::default()).await?;
    check_in(&api, &node, None).await;
    let given = api.classifier.classify(&node);
    let given = given.map_err(|error| refusal::conflict(&error))?;
    let text = yaml::document(&document(&given));
    Ok(([(header::CONTENT_TYPE, "application/yaml")], text).into_response())
}

fn document(given: &Classification) -> Map<String, Value> {
    let mut all = Map::new();
    all.insert("classes".to_owned(), json!(given.classes));
    all.insert("parameters".to_owned(), json!(given.parameters));
    // What an ENC says, the agent has to take: where it may choose nothing is said.
    if let Some(name) = given
        .environment
        .as_ref()
        .filter(|_| !given.agent_specified)
    {
        all.insert("environment".to_owned(), json!(name));
    }
    all
}
