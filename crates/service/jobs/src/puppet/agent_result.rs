//! An agent's result of a Puppet run, parsed: [`PuppetRunResult`].
//!
//! Invariant: the result comes from an agent, so any field may be missing or of another type than
//! expected.

use pcp::Certname;
use pxp::action::{ActionResult, CodeId};
use serde_json::{Map, Value};
use store::JobNumber;

use crate::outcome::OutcomeContext;
use crate::resolve::PuppetRun;

/// The stock module's text for an unknown value.
const UNKNOWN: &str = "unknown";

/// An agent's result, parsed.
#[derive(Debug)]
pub(crate) struct PuppetRunResult {
    pub(super) fields: Map<String, Value>,
    pub(super) context: OutcomeContext,
}

/// Reads the results of a run: the module's own object, or (in a status answer) that object as the
/// standard output of the process.
pub(crate) fn parse_result(
    results: &str,
    known: OutcomeContext,
) -> Result<PuppetRunResult, String> {
    let mut said: Map<String, Value> =
        decode_errors::json::from_str(results).map_err(|error| error.to_string())?;
    if is_puppet_result(&said) {
        return Ok(PuppetRunResult {
            fields: said,
            context: known,
        });
    }
    let outer = decode_errors::json::from_value::<ActionResult>(Value::Object(said.clone()));
    let outer = outer.map_err(|error| error.to_string())?;
    let inner = outer.stdout.as_deref().unwrap_or_default();
    if let Ok(inner) = serde_json::from_str::<Map<String, Value>>(inner) {
        let exit_code = said.remove("exitcode");
        let cancelled = said.remove("cancelled");
        said = inner;
        for (key, value) in [("exitcode", exit_code), ("cancelled", cancelled)] {
            if let (false, Some(value)) = (said.contains_key(key), value) {
                said.insert(key.to_owned(), value);
            }
        }
    }
    Ok(PuppetRunResult {
        fields: said,
        context: known,
    })
}

/// True if the object has the form of the Puppet module's result.
fn is_puppet_result(said: &Map<String, Value>) -> bool {
    said.contains_key("transaction_uuid") || said.contains_key("error_type")
}

// === impl PuppetRunResult ===

impl PuppetRunResult {
    /// True if the result is the Puppet module's and not that of another program.
    pub(crate) fn is_from_puppet(&self) -> bool {
        is_puppet_result(&self.fields)
    }

    /// Puppet's id of the run; empty if it is unknown.
    pub(crate) fn transaction_uuid(&self) -> &str {
        self.text_field("transaction_uuid").unwrap_or_default()
    }

    /// The run, if Puppet left a report of it.
    pub(crate) fn to_puppet_run(
        &self,
        certname: &Certname,
        job: JobNumber,
        noop: bool,
    ) -> Option<PuppetRun> {
        let status = self.status()?;
        let noop = self
            .fields
            .get("noop")
            .and_then(Value::as_bool)
            .unwrap_or(noop);
        Some(PuppetRun {
            certname: certname.clone(),
            job,
            transaction_uuid: self.text_field("transaction_uuid")?.to_owned(),
            status: status.to_owned(),
            environment: self.text_field("environment").map(str::to_owned),
            configuration_version: self.configuration_version(),
            code_id: self.code_id(),
            metrics: self.metrics(),
            time: self.text_field("time").map(str::to_owned),
            noop,
        })
    }

    /// The status as in the report; `None`: there is no report.
    pub(super) fn status(&self) -> Option<&str> {
        let status = self.text_field("status")?;
        ["changed", "unchanged", "failed"]
            .contains(&status)
            .then_some(status)
    }

    pub(super) fn configuration_version(&self) -> Option<String> {
        match self.fields.get("configuration_version")? {
            Value::String(text) if text != UNKNOWN => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// The code id; `None` also if the result has an invalid one.
    pub(super) fn code_id(&self) -> Option<CodeId> {
        self.text_field("code_id")?.parse().ok()
    }

    pub(super) fn metrics(&self) -> Map<String, Value> {
        let metrics = self.fields.get("metrics").and_then(Value::as_object);
        metrics.cloned().unwrap_or_default()
    }

    pub(super) fn exit_code(&self) -> i64 {
        self.fields
            .get("exitcode")
            .and_then(Value::as_i64)
            .unwrap_or(0)
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.fields.get(key) == Some(&Value::Bool(true))
    }

    /// The text under a key, unless it is unknown.
    pub(super) fn text_field(&self, key: &str) -> Option<&str> {
        let text = self.fields.get(key)?.as_str()?;
        (text != UNKNOWN && !text.is_empty()).then_some(text)
    }

    pub(super) fn metric_value(&self, name: &str) -> u64 {
        let metrics = self.fields.get("metrics");
        metrics
            .and_then(|metrics| metrics.get(name)?.as_u64())
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_code_id_is_taken_for_one() {
        const GOOD: &str = "urn:puppet:code-id:1:b4ed19a7ba0f72713aa68cf4481cc2292b73d424;test";
        let known = OutcomeContext {
            stock_agent: false,
            cancelling: None,
            timeout_seconds: 60,
            has_replaced_bytes: false,
        };
        let told = |said: Value| {
            let said = json!({"transaction_uuid": "x", "code_id": said}).to_string();
            parse_result(&said, known)
                .unwrap()
                .code_id()
                .map(|id| id.to_string())
        };
        assert_eq!(told(GOOD.into()).as_deref(), Some(GOOD));
        for bad in [
            json!(null),
            json!(""),
            json!(7),
            json!([GOOD]),
            json!("a b"),
            json!("\u{1b}[2J"),
            json!("a\0"),
            json!("../../x"),
            json!("größe"),
            json!(GOOD.repeat(1_000)),
        ] {
            assert_eq!(told(bad.clone()), None, "{bad}");
        }
    }
}
