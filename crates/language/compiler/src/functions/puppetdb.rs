//! `puppetdb_query`.
//!
//! Invariant: without a source of answers the function is unknown, as in Puppet without the terminus
//! of PuppetDB.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, NativeFunction, one};
use evaluator::{EvalError, EvalResult, EvalUnwind, Evaluator, raise};
use pcore::Value;
use serde_json::Value as Json;

use crate::catalog_reads::VolatileCause;
use crate::compilation::Compilation;
use crate::data_queries::{DataQuery, rows_digest};

/// The function, with its arguments.
pub(crate) static PUPPETDB_QUERY: NativeFunction = NativeFunction::new(FunctionSpec::new(
    "puppetdb_query",
    &[FunctionDispatch::host(&[one(
        "Variant[String[1], Array[Data, 1]]",
        "query",
    )])],
));

/// Returns the rows of an answer.
pub(crate) fn puppetdb_query(
    compilation: &Compilation<'_>,
    evaluator: &Evaluator<'_>,
    call: &CallArguments<'_>,
) -> EvalResult {
    let Some(source) = &compilation.request.puppetdb_queries else {
        return Err(unknown_function(call));
    };
    let query = match call.get(0).to_json() {
        Ok(query) => query,
        Err(error) => return raise(error.to_string()),
    };
    let rows = match source.rows(&query, compilation.request.interrupt.as_ref()) {
        Ok(rows) => rows,
        Err(error) => {
            // the reason of an interruption is better than what it did to the query
            compilation.check_interrupt()?;
            return raise(error.to_string());
        }
    };
    let digest = rows_digest(&rows);
    let query = DataQuery::Puppetdb(query);
    compilation
        .state()
        .record_query(Some(query), Some(digest), VolatileCause::PuppetdbQuery);
    let rows = Json::Array(rows);
    charge(evaluator, &rows)?;
    Ok(Value::from_json(&rows))
}

/// Puppet's error for a call of the function without its terminus, with the next step.
pub(crate) fn unknown_function(call: &CallArguments<'_>) -> Box<EvalUnwind> {
    let name = PUPPETDB_QUERY.name();
    let text = format!("Unknown function: '{name}'.");
    let error = EvalError::with_location("UNKNOWN_FUNCTION", text, call.location());
    error
        .with_hint(
            "it needs a PuppetDB: name one with --puppetdb, or in the configuration of the server",
        )
        .into()
}

/// Charges the elements and texts of an answer to the limits of the compilation.
fn charge(evaluator: &Evaluator<'_>, value: &Json) -> EvalResult<()> {
    match value {
        Json::String(text) => evaluator.charge_bytes(text.len()),
        Json::Array(values) => {
            evaluator.charge(values.len())?;
            values.iter().try_for_each(|it| charge(evaluator, it))
        }
        Json::Object(entries) => {
            evaluator.charge(entries.len())?;
            entries.iter().try_for_each(|(key, value)| {
                evaluator.charge_bytes(key.len())?;
                charge(evaluator, value)
            })
        }
        Json::Null | Json::Bool(_) | Json::Number(_) => Ok(()),
    }
}
