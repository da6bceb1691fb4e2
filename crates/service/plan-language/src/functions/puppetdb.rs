//! `puppetdb_query`, `puppetdb_fact`.
//!
//! Invariant: rows that a plan has seen, it sees again.

use std::sync::Arc;

use async_trait::async_trait;
use evaluator::function::{CallArguments, Dispatch, FunctionSpec, one};
use evaluator::{Eval, Evaluator};
use pcore::{Hash, Value};
use plans::{Deed, Outcome, Work};
use serde_json::{Value as Json, json};

use super::Run;
use crate::host::PlanHost;
use crate::world::{Nodes, PlanOwner};
use crate::{failure, json as data};

pub(super) const FUNCTIONS: &[(FunctionSpec, Run)] = &[
    (
        FunctionSpec::new(
            "puppetdb_query",
            &[
                Dispatch::host(&[one("Variant[String, Array[Data]]", "query")])
                    .returning("Array[Data]"),
                Dispatch::host(&[
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
                Dispatch::host(&[one("Array[String]", "certnames")])
                    .returning("Hash[String, Data]"),
                Dispatch::host(&[one("Array[String]", "certnames"), one("String", "instance")])
                    .returning("Hash[String, Data]"),
            ],
        ),
        puppetdb_fact,
    ),
];

const KIND: &str = "bolt/puppetdb-error";

fn puppetdb_query(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
    let query = data::data(call.get(0));
    let (query, _) = query.map_err(|_| failure::invalid("a query is a text or a list of Data"))?;
    ask(host, &call, query)
}

fn puppetdb_fact(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> Eval {
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

fn ask(host: &PlanHost<'_>, call: &CallArguments<'_>, query: Json) -> Eval {
    let nodes = Arc::clone(&host.run.world.nodes);
    let arguments = query.clone();
    let work = Work::Do(Arc::new(Asking {
        owner: host.run.owner(),
        nodes,
        query,
    }));
    let outcome = host.step("query", &call.place(), arguments, work)?;
    match outcome.ok {
        true => Ok(Value::from_json(&outcome.value)),
        false => Err(failure::raised(failure::of_json(&outcome.value))),
    }
}

struct Asking {
    owner: PlanOwner,
    nodes: Arc<dyn Nodes>,
    query: Json,
}

#[async_trait]
impl Deed for Asking {
    fn is_repeatable(&self) -> bool {
        true
    }

    async fn act(&self) -> Outcome {
        match self.nodes.query(&self.owner, &self.query).await {
            Ok(rows) => Outcome::ok(Json::Array(rows)),
            Err(error) => Outcome::error(KIND, &error.to_string()),
        }
    }
}
