//! Values of `ApplyResult`s from the output of nodes. Main function: [`with_report`].
//!
//! Invariant: a node without a complete report has an error, whatever the node printed.

use serde_json::{Map, Value as Json, json};

use crate::objects::PlanTarget;

const ERROR: &str = "_error";
const OUTPUT: &str = "_output";

/// Message for a node without Puppet, Bolt's with the next step.
const NO_PUPPET: &str = "Puppet is not installed on the target, please install it to enable 'apply': install the \
     package puppet-agent or openvox-agent, for example with the task `package` or `puppet_agent::install`";

/// Exit codes of a shell for a program that it cannot run.
const NOT_FOUND: [i64; 2] = [126, 127];

/// The value of a result: `report`, and an error if resources or the whole run failed.
pub(super) fn with_report(target: &PlanTarget, told: Json) -> Json {
    let Json::Object(mut report) = told else {
        return json!({ERROR: invalid_report("The node returned no report", &told)});
    };
    if let Some(error) = report.remove(ERROR) {
        return json!({ERROR: own_error(error)});
    }
    if let Some(output) = report.get(OUTPUT) {
        let msg = "Report result contains an '_output' key. Catalog application might have printed extraneous \
                   output to stdout";
        return json!({ERROR: invalid_report(msg, output)});
    }
    let missing = ["status", "resource_statuses", "metrics"];
    let missing: Vec<&str> = missing
        .into_iter()
        .filter(|key| !report.contains_key(*key))
        .collect();
    if !missing.is_empty() {
        let msg = format!(
            "Report result is missing required keys: {}",
            missing.join(", ")
        );
        return json!({ERROR: invalid_report(&msg, &Json::Null)});
    }
    let error = (report["status"] == "failed").then(|| failed_resources(target, &report));
    let mut value = json!({"report": report});
    if let Some(error) = error {
        value[ERROR] = error;
    }
    value
}

/// The error of a node that applied nothing. A shell that found no program had no Puppet.
pub(super) fn own_error(error: Json) -> Json {
    let exit_code = error.pointer("/details/exit_code").and_then(Json::as_i64);
    match exit_code.is_some_and(|code| NOT_FOUND.contains(&code)) {
        true => json!({"kind": "bolt/apply-error", "msg": NO_PUPPET, "details": {}}),
        false => error,
    }
}

/// The value of a result, with the error of a node without Puppet in plain words.
pub(super) fn with_own_error(mut value: Json) -> Json {
    if let Some(error) = value.get_mut(ERROR) {
        *error = own_error(error.take());
    }
    value
}

fn invalid_report(msg: &str, output: &Json) -> Json {
    let msg = match output.as_str() {
        Some(output) => format!("{msg}: {}", clip(output)),
        None => msg.to_owned(),
    };
    json!({"kind": "bolt/invalid-report", "msg": msg, "details": {}})
}

/// The first part of a text from a node.
fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(crate::defaults::NODE_OUTPUT_SHOWN_BYTES)]
}

fn failed_resources(target: &PlanTarget, report: &Map<String, Json>) -> Json {
    let statuses = report["resource_statuses"].as_object();
    let failed = statuses
        .into_iter()
        .flatten()
        .filter(|(_, status)| status["failed"] == true);
    let mut msg = format!("Resources failed to apply for {}", target.safe_name());
    for (name, status) in failed {
        let events = status["events"].as_array().into_iter().flatten();
        for event in events.filter(|event| event["status"] == "failure") {
            let message = event["message"].as_str().unwrap_or("it failed");
            msg.extend(["\n  ", name, ": ", clip(message)]);
        }
    }
    json!({"kind": "bolt/resource-failure", "msg": msg, "details": {}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(told: Json) -> Json {
        with_report(&PlanTarget::new("web1"), told)
    }

    #[test]
    fn a_report_of_failed_resources_is_an_error_that_names_them() {
        let good = json!({"status": "changed", "resource_statuses": {}, "metrics": {}});
        assert_eq!(value(good.clone()), json!({"report": good}));
        let failed = json!({
            "status": "failed", "metrics": {},
            "resource_statuses": {
                "File[/a]": {"failed": true, "events": [
                    {"status": "failure", "message": "no such directory"},
                    {"status": "success", "message": "created"},
                ]},
                "File[/b]": {"failed": false, "events": []},
            },
        });
        let told = value(failed.clone());
        assert_eq!(told["report"], failed);
        assert_eq!(told[ERROR]["kind"], "bolt/resource-failure");
        assert_eq!(
            told[ERROR]["msg"],
            "Resources failed to apply for web1\n  File[/a]: no such directory"
        );
    }

    #[test]
    fn whatever_else_a_node_prints_is_an_error() {
        for (told, kind, words) in [
            (json!(null), "bolt/invalid-report", "no report"),
            (json!([1]), "bolt/invalid-report", "no report"),
            (json!({"_output": "hello"}), "bolt/invalid-report", "hello"),
            (
                json!({"status": "x"}),
                "bolt/invalid-report",
                "resource_statuses, metrics",
            ),
            (
                json!({"_error": {"kind": "a/b", "msg": "no", "details": {}}}),
                "a/b",
                "no",
            ),
            (
                json!({"_error": {"kind": "a/b", "msg": "x", "details": {"exit_code": 127}}}),
                "bolt/apply-error",
                "puppet-agent or openvox-agent",
            ),
        ] {
            let value = value(told.clone());
            assert_eq!(value[ERROR]["kind"], kind, "{told}");
            let msg = value[ERROR]["msg"].as_str().unwrap();
            assert!(msg.contains(words), "{told}: {msg}");
            assert!(value.get("report").is_none());
        }
    }

    #[test]
    fn odd_reports_do_no_harm() {
        let odd = json!({
            "status": "failed", "metrics": 1,
            "resource_statuses": {"A[b]": 3, "C[d]": {"failed": true, "events": {}}},
        });
        assert_eq!(
            value(odd)[ERROR]["msg"],
            "Resources failed to apply for web1"
        );
        let long = json!({"_output": "é".repeat(1 << 20)});
        assert!(value(long)[ERROR]["msg"].as_str().unwrap().len() < 10_000);
    }
}
