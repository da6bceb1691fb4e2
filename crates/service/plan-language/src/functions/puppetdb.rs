//! `puppetdb_query`, `puppetdb_fact`.
//!
//! Invariant: a query is a step, so a plan that is evaluated again gets the same rows.

use std::sync::Arc;

use async_trait::async_trait;
use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator};
use pcore::{Hash, Value};
use plans::{LocalEffect, StepOutcome, StepWork};
use serde_json::{Value as Json, json};

use super::plan_function::PlanFunctionBody;
use crate::error_object::error_from_json;
use crate::host::PlanHost;
use crate::world::{NodeQueries, PlanOwner};
use crate::{failure, json as data};

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "puppetdb_query",
            &[
                FunctionDispatch::host(&[one("Variant[String, Array[Data]]", "query")])
                    .returning("Array[Data]"),
                FunctionDispatch::host(&[
                    one("Variant[String, Array[Data]]", "query"),
                    one("String", "instance"),
                ])
                .returning("Array[Data]"),
            ],
        ),
        puppetdb_query,
    ),
    (
        FunctionSpec::new(
            "puppetdb_fact",
            &[
                FunctionDispatch::host(&[one("Array[String]", "certnames")])
                    .returning("Hash[String, Data]"),
                FunctionDispatch::host(&[
                    one("Array[String]", "certnames"),
                    one("String", "instance"),
                ])
                .returning("Hash[String, Data]"),
            ],
        ),
        puppetdb_fact,
    ),
];

const KIND: &str = "bolt/puppetdb-error";

fn puppetdb_query(
    host: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let query = data::to_json(call.get(0));
    let (query, _) =
        query.map_err(|_| failure::invalid_value_error("a query is a text or a list of Data"))?;
    ask(host, &call, query)
}

fn puppetdb_fact(
    host: &PlanHost<'_>,
    _: &mut Evaluator<'_>,
    call: CallArguments<'_>,
) -> EvalResult {
    let names: Vec<Json> = call
        .list(0)
        .iter()
        .map(|name| json!(name.to_string()))
        .collect();
    let mut facts: Hash = names
        .iter()
        .filter_map(|name| Some((name.as_str()?, Value::hash(Hash::new()))))
        .collect();
    if names.is_empty() {
        return Ok(Value::hash(facts));
    }
    let one_of: Vec<Json> = names
        .into_iter()
        .map(|name| json!(["=", "certname", name]))
        .collect();
    let mut condition = vec![json!("or")];
    condition.extend(one_of);
    let query = json!([
        "from",
        "inventory",
        ["extract", ["certname", "facts"], condition]
    ]);
    let rows = ask(host, &call, query)?;
    for row in rows
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_hash)
    {
        if let (Some(name), Some(known)) = (row.get_str("certname"), row.get_str("facts")) {
            facts.insert(name.clone(), known.clone());
        }
    }
    Ok(Value::hash(facts))
}

fn ask(host: &PlanHost<'_>, call: &CallArguments<'_>, query: Json) -> EvalResult {
    let nodes = Arc::clone(&host.run.world.nodes);
    let arguments = query.clone();
    let work = StepWork::RunLocalEffect(Arc::new(PuppetdbQueryEffect {
        owner: host.run.owner(),
        nodes,
        query,
    }));
    let outcome = host.step("query", &call.location(), arguments, work)?;
    match outcome.ok {
        true => Ok(Value::from_json(&outcome.value)),
        false => Err(failure::raise(error_from_json(&outcome.value))),
    }
}

struct PuppetdbQueryEffect {
    owner: PlanOwner,
    nodes: Arc<dyn NodeQueries>,
    query: Json,
}

#[async_trait]
impl LocalEffect for PuppetdbQueryEffect {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn perform(&self) -> StepOutcome {
        match self.nodes.query(&self.owner, &self.query).await {
            Ok(rows) => StepOutcome::ok(Json::Array(rows)),
            Err(error) => StepOutcome::error(KIND, &error.to_string()),
        }
    }
}
