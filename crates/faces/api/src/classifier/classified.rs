//! The classification of a node and its explanation: `POST classified/nodes/:node`.

use api_types::Object;
use api_types::classifier::{
    ClassificationExplanation, Classified, ClassifiedByName, ClassifyNode,
};
use axum::Json;
use axum::extract::State;
use classifier::{ClassifyExplanation, GroupId, LeafContribution, NodeFacts, NodeGroupRight};
use serde_json::{Map, Value, json};

use super::body::{AnyJson, certname};
use super::caller::demand_on_group;
use super::{refusal, responses};
use crate::SharedApiContext;
use crate::caller::ApiCaller;
use crate::failure::ApiFailure;
use crate::request_parameters::PathVariables;

pub(crate) async fn classify(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(name): PathVariables<String>,
    body: AnyJson,
) -> Result<Json<Classified>, ApiFailure> {
    let given = classify_node(&api, &caller, &name, body).await?;
    Ok(Json(responses::classified(&name, &given)))
}

pub(crate) async fn classify_v2(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(name): PathVariables<String>,
    body: AnyJson,
) -> Result<Json<ClassifiedByName>, ApiFailure> {
    let given = classify_node(&api, &caller, &name, body).await?;
    Ok(Json(responses::by_name(&given)))
}

pub(crate) async fn explain(
    State(api): State<SharedApiContext>,
    caller: ApiCaller,
    PathVariables(name): PathVariables<String>,
    body: AnyJson,
) -> Result<Json<ClassificationExplanation>, ApiFailure> {
    let body = body.parse_as::<ClassifyNode>()?.unwrap_or_default();
    let node = node(&api, &caller, &name, &body).await?;
    let explanation = api.classifier.explain(&node);
    Ok(Json(ClassificationExplanation(explanation_json(
        &node,
        explanation,
    ))))
}

async fn classify_node(
    api: &SharedApiContext,
    caller: &ApiCaller,
    name: &str,
    body: AnyJson,
) -> Result<classifier::NodeClassification, ApiFailure> {
    let body = body.parse_as::<ClassifyNode>()?.unwrap_or_default();
    let node = node(api, caller, name, &body).await?;
    if let Some(transaction) = body.transaction_uuid {
        check_in(api, &node, Some(transaction)).await;
    }
    let classified = api.classifier.classify(&node);
    classified.map_err(|error| refusal::conflict(&error))
}

/// Stores a check-in. If that fails, the node still gets its classes.
pub(super) async fn check_in(
    api: &SharedApiContext,
    node: &NodeFacts,
    transaction: Option<String>,
) {
    let transaction = transaction.map(|text| text.chars().take(64).collect());
    if let Err(error) = api.classifier.check_in(node, transaction).await {
        tracing::warn!(%error, certname = %node.certname, "the check-in is not kept");
    }
}

/// The node of a request. Its groups are shown only to users who may view all groups.
pub(super) async fn node(
    api: &SharedApiContext,
    caller: &ApiCaller,
    name: &str,
    body: &ClassifyNode,
) -> Result<NodeFacts, ApiFailure> {
    demand_on_group(api, caller, NodeGroupRight::View, GroupId::ROOT)?;
    let certname = certname(name)?;
    let mut node = match (&body.fact, &body.trusted) {
        (None, None) => {
            let known = api.classifier.node_facts(&certname).await;
            known.map_err(|error| refusal::no_facts_error(&error))?
        }
        (fact, trusted) => NodeFacts {
            fact: Value::Object(fact.clone().unwrap_or_default()),
            trusted: Value::Object(trusted.clone().unwrap_or_default()),
            ..NodeFacts::without_facts(certname)
        },
    };
    if body.requested_environment.is_some() {
        node.requested_environment
            .clone_from(&body.requested_environment);
    }
    Ok(node)
}

fn explanation_json(node: &NodeFacts, explanation: ClassifyExplanation) -> Object {
    let name = node.certname.as_str();
    let leaves = explanation.leaves.iter();
    let leaves: Map<String, Value> = leaves
        .map(|group| (group.id.to_string(), json!(responses::group(group))))
        .collect();
    let inherited = explanation.inherited.iter();
    let inherited: Map<String, Value> = inherited
        .map(|(id, gift)| (id.to_string(), contribution_json(gift)))
        .collect();
    let mut all = Object::new();
    let received = json!({"name": name, "fact": node.fact, "trusted": node.trusted});
    all.insert("node_as_received".to_owned(), received);
    all.insert("match_explanations".to_owned(), json!(explanation.matches));
    all.insert("leaf_groups".to_owned(), Value::Object(leaves));
    all.insert(
        "inherited_classifications".to_owned(),
        Value::Object(inherited),
    );
    match explanation.outcome {
        Ok(given) => {
            let given = responses::classified(name, &given);
            let last = json!({
                "environment": given.environment, "classes": given.classes,
                "config_data": given.config_data, "variables": given.parameters,
            });
            all.insert("final_classification".to_owned(), last);
            all.insert("classification_sources".to_owned(), explanation.sources);
        }
        Err(conflict) => {
            all.insert("conflicts".to_owned(), json!(conflict));
        }
    }
    all
}

fn contribution_json(gift: &LeafContribution) -> Value {
    json!({
        "environment": gift.environment, "classes": gift.classes,
        "config_data": gift.config_data, "variables": gift.variables,
    })
}
