//! Results of Puppet runs, in the shape that clients of the orchestrator know.
//!
//! [`PuppetRunResult::shape`] turns an agent's result into the stored and shown form. Invariant: a run that has
//! a report gets its state from the report's status; a run that has none could not be run, and the
//! agent's reason is its result.

use pxp::action::CodeId;
use serde_json::{Map, Value, json};

use super::agent_result::PuppetRunResult;
use super::stock_errors::{NO_ERRORS_TOLD, StockError};
use crate::in_flight::CancelReason;
use crate::outcome::RunOutcome;
use crate::resolve::PuppetReportSummary;
use crate::state::RunState;
use crate::verdict::{KIND_EXECUTION, KIND_STOPPED, KIND_TIMEOUT, clip};

/// What the engine knows of a run before it sees the result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunExpectation<'e> {
    /// URL of the console that shows reports; `None`: there is none.
    pub(crate) console: Option<&'e str>,
    /// Code id of the version that the job names; `None`: it names none.
    pub(crate) code_id: Option<&'e CodeId>,
    /// The environment that the job enforces; `None`: others are allowed.
    pub(crate) environment: Option<&'e str>,
    /// Capabilities that other nodes of the job consume, and that the node has not produced.
    pub(crate) missing_capabilities: &'e [String],
}

// === impl RunExpectation ===

impl RunExpectation<'_> {
    fn describe_missing_capabilities(self) -> Option<String> {
        let missing = self.missing_capabilities;
        (!missing.is_empty()).then(|| {
            format!(
                "the run succeeded, but its catalog did not produce {}, which other nodes consume; did this server \
                 compile the catalog, and in the environment of the job?",
                missing.join(", ")
            )
        })
    }
}

// === impl PuppetRunResult ===

impl PuppetRunResult {
    /// Shapes the run's end.
    pub(crate) fn shape(
        &self,
        report: Option<&PuppetReportSummary>,
        expected: RunExpectation<'_>,
    ) -> RunOutcome {
        let cancelled = self.is_true("cancelled");
        let ended = cancelled || self.is_true("timed_out");
        match self.status() {
            Some(status) if !ended => self.shape_reported(status, report, expected),
            _ => self.shape_not_run(cancelled),
        }
    }

    fn shape_reported(
        &self,
        status: &str,
        report: Option<&PuppetReportSummary>,
        expected: RunExpectation<'_>,
    ) -> RunOutcome {
        let other_code = self.describe_other_code(report, expected.code_id);
        let unmet = other_code
            .or_else(|| self.describe_other_environment(report, expected.environment))
            .or_else(|| expected.describe_missing_capabilities());
        let nothing = PuppetReportSummary::default();
        let report = report.unwrap_or(&nothing);
        let own = |key| self.text_field(key).map(str::to_owned);
        let mut result = Map::new();
        let hash = report.hash.clone().or_else(|| own("hash"));
        let noop = match report.noop {
            Some((noop, no_noop)) => json!({"noop": noop, "no_noop": no_noop}),
            None => self.noop_counts(),
        };
        let environment = report.environment.clone().or_else(|| own("environment"));
        let version = report.configuration_version.clone();
        let told = [
            ("hash", json!(hash)),
            ("status", json!(status)),
            ("noop", noop),
            ("environment", json!(environment)),
            (
                "configuration_version",
                json!(version.or(self.configuration_version())),
            ),
            ("metrics", Value::Object(self.metrics())),
            (
                "transaction_uuid",
                json!(self.text_field("transaction_uuid")),
            ),
        ];
        result.extend(told.map(|(key, value)| (key.to_owned(), value)));
        if self.context.has_replaced_bytes {
            let info = json!({"replaced_bytes": true});
            result.insert("_output_info".to_owned(), info);
        }
        // Puppet Enterprise's results do not have the key, so it is left out if the code id is
        // unknown.
        if let Some(code_id) = report.code_id.clone().or_else(|| self.code_id()) {
            result.insert("code_id".to_owned(), json!(code_id));
        }
        let url = hash.and_then(|hash| {
            let console = expected.console?.trim_end_matches('/');
            Some(format!("{console}/#/cm/report/{hash}"))
        });
        let mut event = result.clone();
        let mut details = Map::new();
        if let Some(held_back) = describe_held_back(&result) {
            details.insert("message".to_owned(), held_back.into());
        }
        for (key, value) in [
            ("transaction_uuid", self.text_field("transaction_uuid")),
            ("report-url", url.as_deref()),
        ] {
            if let Some(value) = value {
                details.insert(key.to_owned(), value.into());
            }
        }
        event.insert("report-url".to_owned(), json!(url));
        for (key, value) in &self.fields {
            if !TOLD_ELSEWHERE.contains(&key.as_str()) && !result.contains_key(key) {
                result.insert(key.clone(), value.clone());
            }
        }
        let own_failure =
            status == "failed" || self.exit_code() != 0 || self.count_failed_resources() > 0;
        let failed = own_failure || unmet.is_some();
        let message = match own_failure {
            true => self.failure_reason(),
            false => unmet.unwrap_or_default(),
        };
        if failed {
            details.insert("message".to_owned(), message.as_str().into());
            event.insert("message".to_owned(), message.as_str().into());
        }
        RunOutcome {
            state: if failed {
                RunState::Failed
            } else {
                RunState::Finished
            },
            result: Value::Object(result).to_string(),
            details: Value::Object(details).to_string(),
            message,
            event_detail: Some(Value::Object(event)),
            sealed: None,
        }
    }

    /// The shape of a run in which Puppet did not run, or did not write a report.
    fn shape_not_run(&self, cancelled: bool) -> RunOutcome {
        let (state, kind, message) = match self.context.cancelling {
            Some(CancelReason::Timeout) if cancelled => {
                let seconds = self.context.timeout_seconds;
                let message = format!("the time limit of {seconds} s passed and Puppet was ended");
                (RunState::Errored, KIND_TIMEOUT, message)
            }
            _ if self.is_true("timed_out") => {
                let message = "the agent's time limit passed and Puppet was ended".to_owned();
                (RunState::Errored, KIND_TIMEOUT, message)
            }
            _ if cancelled => {
                let message = "the job was stopped and Puppet was ended".to_owned();
                (RunState::Failed, KIND_STOPPED, message)
            }
            _ => (RunState::Errored, KIND_EXECUTION, self.not_run_reason()),
        };
        let stock = self.stock_error();
        let mut about = Map::from_iter([("exit_code".to_owned(), self.exit_code().into())]);
        for key in ["error_type", "cause", "errors"] {
            if let Some(value) = self.fields.get(key) {
                about.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(stock) = stock {
            about.insert("cause".to_owned(), stock.cause.into());
        }
        let error = json!({"kind": kind, "msg": message, "details": about});
        let mut result = json!({ "_error": error });
        // Puppet may have requested them before it was ended.
        if let Some(reruns) = self.fields.get("reruns") {
            result["reruns"] = reruns.clone();
        }
        RunOutcome {
            state,
            result: result.to_string(),
            details: json!({ "message": message }).to_string(),
            event_detail: Some(json!({"message": message, "kind": kind})),
            message,
            sealed: None,
        }
    }

    /// The reason that a run is not one of the version that its job names; `None` if it is, or if the version
    /// of its catalog is not known: the results of stock agents do not tell it.
    fn describe_other_code(
        &self,
        report: Option<&PuppetReportSummary>,
        expected: Option<&CodeId>,
    ) -> Option<String> {
        let expected = expected?;
        let told = report.and_then(|report| report.code_id.clone());
        match told.or_else(|| self.code_id()) {
            Some(code_id) if code_id == *expected => None,
            Some(code_id) => Some(format!(
                "the catalog is of another version of the code, {code_id}; {CATALOG_SOURCE}"
            )),
            None if self.context.stock_agent && report.is_none() => None,
            None => Some(format!(
                "the catalog is of code without a version; {CATALOG_SOURCE}"
            )),
        }
    }

    /// The reason that a run is not of the environment that its job enforces; `None` if it is, or if its environment is
    /// not known.
    fn describe_other_environment(
        &self,
        report: Option<&PuppetReportSummary>,
        expected: Option<&str>,
    ) -> Option<String> {
        let expected = expected?;
        let reported = report.and_then(|report| report.environment.as_deref());
        let environment = reported.or_else(|| self.text_field("environment"))?;
        (environment != expected).then(|| {
            format!(
                "the catalog is of the environment {}, and the job enforces {expected}: check the settings of \
                 Puppet on the node and its classification",
                clip(environment)
            )
        })
    }

    fn count_failed_resources(&self) -> u64 {
        let failed = self.metric_value("failed");
        failed.saturating_add(self.metric_value("failed_to_restart"))
    }

    fn failure_reason(&self) -> String {
        let failed = self.count_failed_resources();
        let logged = self.fields.get("errors").and_then(|errors| errors.get(0));
        let words = self.text_field("error").or(logged.and_then(Value::as_str));
        match (failed, words) {
            (1, _) => "1 resource failed".to_owned(),
            (failed, _) if failed > 0 => format!("{failed} resources failed"),
            (_, Some(words)) if self.is_bare_exit_code() => {
                format!("{}; {NO_ERRORS_TOLD}", clip(words))
            }
            (_, Some(words)) => clip(words).to_owned(),
            _ => "the report says that the run failed".to_owned(),
        }
    }

    /// Numbers of resources that noop held back and that were changed. pxp-module-puppet does not say whether a run
    /// was noop; its metrics count what is out of sync all the same, as resources with `noop => true` are in any
    /// run. Null if the report has neither number.
    fn noop_counts(&self) -> Value {
        let is_told = self.fields.get("noop").is_some_and(Value::is_boolean);
        let metrics = self.fields.get("metrics");
        let is_counted = metrics.is_some_and(|metrics| metrics["out_of_sync"].is_u64());
        if !is_told && !is_counted {
            return Value::Null;
        }
        let changed = self.metric_value("changed");
        let touched = changed.saturating_add(self.metric_value("failed"));
        let held_back = self.metric_value("out_of_sync").saturating_sub(touched);
        json!({"noop": held_back, "no_noop": touched})
    }

    /// The error of a stock module, which gives no cause.
    fn stock_error(&self) -> Option<StockError> {
        if self.fields.contains_key("cause") {
            return None;
        }
        StockError::from_type(self.text_field("error_type")?)
    }

    /// True if a stock module reports no more of a failed run than that the exit code is not 0.
    fn is_bare_exit_code(&self) -> bool {
        self.text_field("error_type") == Some("agent_exit_non_zero")
            && !self.fields.contains_key("cause")
            && !self.fields.contains_key("errors")
    }

    /// The module's message, then that of the program that ran it.
    fn not_run_reason(&self) -> String {
        let spoken = [self.fields.get("error"), self.fields.get("_error")];
        let spoken = spoken.into_iter().flatten().find_map(|error| {
            let words = error.as_str().or_else(|| error.get("msg")?.as_str())?;
            (!words.is_empty()).then_some(words)
        });
        let stderr = self.text_field("stderr").map(str::trim);
        match (spoken, stderr) {
            (Some(words), _) if let Some(stock) = self.stock_error() => {
                format!("{}; {}", clip(words), stock.next_step)
            }
            (Some(words), _) => clip(words).to_owned(),
            (None, Some(words)) if !words.is_empty() => clip(words).to_owned(),
            _ => format!(
                "Puppet left no report and ended with exit code {}",
                self.exit_code()
            ),
        }
    }
}

/// The resources of a result that noop held back, as text.
pub(crate) fn describe_held_back(result: &Map<String, Value>) -> Option<String> {
    match result.get("noop")?.get("noop")?.as_u64()? {
        0 => None,
        1 => Some("1 resource would change".to_owned()),
        count => Some(format!("{count} resources would change")),
    }
}

/// The cause of a catalog of another version, and the next step.
const CATALOG_SOURCE: &str = "only this server's own compiler gives the version that a job names: check the \
     settings server and server_list of the node, and the compiler of its catalogs";

/// Keys of the agent's result that are shown elsewhere, or are of no use.
const TOLD_ELSEWHERE: [&str; 12] = [
    "time",
    "version",
    "exitcode",
    "error",
    "error_type",
    "stdout",
    "stderr",
    "cancelled",
    "timed_out",
    "hash",
    "kind",
    "code_id",
];

#[cfg(test)]
mod tests {
    use store::JobNumber;

    use super::*;
    use crate::outcome::OutcomeContext;
    use crate::puppet::agent_result::parse_result;

    const KNOWN: OutcomeContext = OutcomeContext {
        stock_agent: false,
        cancelling: None,
        timeout_seconds: 60,
        has_replaced_bytes: false,
    };
    const UUID: &str = "1b867bff-a1a0-4a02-8e5f-cbc6a4d6d8a8";

    /// The stock module's result of a run that changed something.
    fn changed() -> Value {
        json!({
            "time": "2026-11-21T20:00:00.000000000+00:00", "transaction_uuid": UUID,
            "environment": "production", "status": "changed", "exitcode": 0, "version": 1,
            "metrics": {"total": 9, "changed": 2, "failed": 0},
        })
    }

    fn shaped(
        said: &Value,
        report: Option<&PuppetReportSummary>,
    ) -> (RunState, Value, Value, String) {
        let ran = parse_result(&said.to_string(), KNOWN).unwrap();
        let expected = RunExpectation {
            console: Some("https://console.example.com/"),
            code_id: None,
            ..RunExpectation::default()
        };
        let shaped = ran.shape(report, expected);
        let json = |text: &str| serde_json::from_str(text).unwrap();
        (
            shaped.state,
            json(&shaped.result),
            json(&shaped.details),
            shaped.message,
        )
    }

    #[test]
    fn a_run_with_a_report_has_the_shape_that_clients_know() {
        let report = PuppetReportSummary {
            hash: Some("abc".to_owned()),
            configuration_version: Some("17".to_owned()),
            noop: Some((0, 2)),
            ..PuppetReportSummary::default()
        };
        let (state, result, details, message) = shaped(&changed(), Some(&report));
        assert_eq!((state, message.as_str()), (RunState::Finished, ""));
        let expected = json!({
            "hash": "abc", "status": "changed", "noop": {"noop": 0, "no_noop": 2},
            "environment": "production", "configuration_version": "17",
            "metrics": {"total": 9, "changed": 2, "failed": 0}, "transaction_uuid": UUID,
        });
        assert_eq!(result, expected);
        let url = "https://console.example.com/#/cm/report/abc";
        assert_eq!(
            details,
            json!({"report-url": url, "transaction_uuid": UUID})
        );
    }

    #[test]
    fn without_a_report_of_the_inventory_the_agents_own_words_stand() {
        let mut said = changed();
        said["configuration_version"] = json!(1_763_760_000);
        said["noop"] = true.into();
        said["metrics"] = json!({"total": 9, "changed": 1, "out_of_sync": 4});
        said["resources"] = json!([{"resource": "File[/x]", "status": "changed"}]);
        let (state, result, details, _) = shaped(&said, None);
        assert_eq!(state, RunState::Finished);
        assert_eq!(result["hash"], Value::Null);
        assert_eq!(result["noop"], json!({"noop": 3, "no_noop": 1}));
        assert_eq!(result["configuration_version"], "1763760000");
        assert_eq!(result["resources"], said["resources"], "more is told");
        let held_back = "3 resources would change";
        assert_eq!(
            details,
            json!({"transaction_uuid": UUID, "message": held_back})
        );
    }

    /// The result is that of pxp-module-puppet for `puppet agent --noop`.
    #[test]
    fn a_noop_run_of_a_stock_agent_says_how_many_resources_would_change() {
        let mut said = changed();
        said["status"] = "unchanged".into();
        said["metrics"] = json!({"total": 9, "changed": 0, "failed": 0, "out_of_sync": 2});
        let (state, result, details, _) = shaped(&said, None);
        assert_eq!(state, RunState::Finished);
        assert_eq!(result["noop"], json!({"noop": 2, "no_noop": 0}));
        assert_eq!(details["message"], "2 resources would change");
    }

    #[test]
    fn a_status_answer_of_the_stock_agent_holds_the_same_as_text() {
        let wrapped = json!({"exitcode": 0, "stdout": changed().to_string()});
        assert_eq!(shaped(&wrapped, None), shaped(&changed(), None));
    }

    #[test]
    fn the_code_of_a_run_is_told_by_its_report_or_by_the_agent() {
        let report = PuppetReportSummary {
            code_id: Some("v1;test".parse().unwrap()),
            ..PuppetReportSummary::default()
        };
        let told = |said: &Value, report: Option<&PuppetReportSummary>| {
            let shaped = parse_result(&said.to_string(), KNOWN)
                .unwrap()
                .shape(report, RunExpectation::default());
            let result: Value = serde_json::from_str(&shaped.result).unwrap();
            assert_eq!(
                result.get("code_id"),
                shaped.event_detail.unwrap().get("code_id")
            );
            result.get("code_id").cloned()
        };
        let mut said = changed();
        assert_eq!(told(&said, None), None);
        assert_eq!(told(&said, Some(&report)), Some("v1;test".into()));
        said["code_id"] = "v2;test".into();
        assert_eq!(
            told(&said, Some(&PuppetReportSummary::default())),
            Some("v2;test".into())
        );
        said["code_id"] = "../v3".into();
        assert_eq!(
            told(&said, None),
            None,
            "nor as one of the keys that more is told with"
        );
    }

    #[test]
    fn a_run_of_another_version_than_the_jobs_is_failed() {
        let wanted: CodeId = "v2;test".parse().unwrap();
        let end = |known: OutcomeContext, code_id: Option<&str>, report: Option<&str>| {
            let mut said = changed();
            if let Some(code_id) = code_id {
                said["code_id"] = code_id.into();
            }
            let report = report.map(|code_id| PuppetReportSummary {
                code_id: code_id.parse().ok(),
                ..PuppetReportSummary::default()
            });
            let expected = RunExpectation {
                console: None,
                code_id: Some(&wanted),
                ..RunExpectation::default()
            };
            let ran = parse_result(&said.to_string(), known).unwrap();
            let shaped = ran.shape(report.as_ref(), expected);
            (shaped.state, shaped.message)
        };
        let stock = OutcomeContext {
            stock_agent: true,
            ..KNOWN
        };
        let finished = (RunState::Finished, String::new());
        assert_eq!(end(KNOWN, Some("v2;test"), None), finished);
        assert_eq!(end(stock, None, Some("v2;test")), finished);
        assert_eq!(end(stock, None, None), finished, "it is not known");
        for (known, code_id, report, part) in [
            (
                KNOWN,
                Some("v1;test"),
                None,
                "another version of the code, v1;test;",
            ),
            (KNOWN, None, None, "code without a version"),
            (stock, None, Some("v1;test"), "another version"),
            (stock, None, Some(""), "code without a version"),
        ] {
            let (state, message) = end(known, code_id, report);
            assert_eq!(state, RunState::Failed, "{message}");
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_failed_run_is_failed_and_tells_how_many() {
        let mut said = changed();
        said["status"] = "failed".into();
        said["metrics"]["failed"] = 3.into();
        let (state, result, details, message) = shaped(&said, None);
        assert_eq!(state, RunState::Failed);
        assert_eq!(result["status"], "failed");
        assert_eq!(message, "3 resources failed");
        assert_eq!(details["message"], "3 resources failed");
    }

    #[test]
    fn a_catalog_that_does_not_compile_has_a_report_and_is_failed() {
        let mut said = changed();
        said["status"] = "failed".into();
        said["metrics"] = json!({});
        said["exitcode"] = 1.into();
        said["error_type"] = "agent_exit_non_zero".into();
        said["error"] = "Puppet agent exited with a non 0 exitcode".into();
        let (state, _, _, message) = shaped(&said, None);
        assert_eq!(state, RunState::Failed);
        assert!(message.contains("non 0"), "{message}");
        let told_no_more = "a pxp-agent tells no more";
        assert!(message.contains(told_no_more), "{message}");
        said["errors"] = json!(["no role for this node"]);
        let (_, _, _, message) = shaped(&said, None);
        assert!(!message.contains(told_no_more), "{message}");
    }

    #[test]
    fn what_could_not_be_run_is_errored_with_the_modules_reason() {
        let said = json!({
            "time": "unknown", "transaction_uuid": "unknown", "environment": "unknown",
            "status": "unknown", "metrics": {}, "exitcode": -1, "version": 1,
            "error_type": "agent_disabled", "error": "Puppet agent is disabled",
        });
        let (state, result, details, message) = shaped(&said, None);
        assert_eq!(state, RunState::Errored);
        assert_eq!(
            message,
            "Puppet agent is disabled; `puppet agent --enable` on the node allows runs again"
        );
        assert_eq!(details, json!({"message": message}));
        let error = &result["_error"];
        assert_eq!(error["kind"], KIND_EXECUTION);
        let about = json!({"error_type": "agent_disabled", "cause": "disabled", "exit_code": -1});
        assert_eq!(error["details"], about);
        let ran = parse_result(&said.to_string(), KNOWN).unwrap();
        assert_eq!(
            ran.to_puppet_run(&"a".parse().unwrap(), JobNumber::new(1).unwrap(), false),
            None
        );
    }

    #[test]
    fn an_error_with_a_cause_keeps_the_agents_words() {
        let words = "runs of Puppet are disabled on this node; `puppet agent --enable` allows them";
        let said = json!({
            "status": "unknown", "exitcode": -1, "error_type": "agent_disabled",
            "cause": "disabled", "error": words,
        });
        let (_, result, _, message) = shaped(&said, None);
        assert_eq!(message, words);
        assert_eq!(result["_error"]["details"]["cause"], "disabled");
    }

    #[test]
    fn an_agent_that_ran_nothing_is_errored_with_its_own_words() {
        let inner = json!({"_error": {"kind": "x", "msg": "no such module"}}).to_string();
        let (state, _, _, message) = shaped(&json!({"exitcode": 1, "stdout": inner}), None);
        assert_eq!(
            (state, message.as_str()),
            (RunState::Errored, "no such module")
        );
        let (state, _, _, message) =
            shaped(&json!({"exitcode": 127, "stderr": "not found\n"}), None);
        assert_eq!((state, message.as_str()), (RunState::Errored, "not found"));
        let (_, _, _, message) = shaped(&json!({"exitcode": 9}), None);
        assert!(message.contains("exit code 9"), "{message}");
    }

    #[test]
    fn what_is_no_result_is_an_error_and_odd_values_are_not() {
        for nonsense in ["", "[]", "null", "{}", "{\"a\":1}"] {
            assert!(parse_result(nonsense, KNOWN).is_err(), "{nonsense}");
        }
        let odd = json!({"transaction_uuid": 5, "status": ["changed"], "metrics": "x",
            "exitcode": "0", "error_type": {}});
        let (state, ..) = shaped(&odd, None);
        assert_eq!(state, RunState::Errored);
        let mut endless = changed();
        endless["metrics"] = json!({
            "changed": u64::MAX, "failed": u64::MAX, "failed_to_restart": u64::MAX, "out_of_sync": u64::MAX,
        });
        let (state, _, _, message) = shaped(&endless, None);
        assert_eq!(state, RunState::Failed);
        assert_eq!(message, format!("{} resources failed", u64::MAX));
    }

    #[test]
    fn a_success_in_another_environment_than_the_enforced_one_is_none() {
        let expected = RunExpectation {
            environment: Some("production"),
            ..RunExpectation::default()
        };
        let shaped = |environment: &str, report: Option<&PuppetReportSummary>| {
            let mut said = changed();
            said["environment"] = environment.into();
            let ran = parse_result(&said.to_string(), KNOWN).unwrap();
            let shaped = ran.shape(report, expected);
            (shaped.state, shaped.message)
        };
        for same in ["production", "unknown"] {
            assert_eq!(shaped(same, None), (RunState::Finished, String::new()));
        }
        let (state, message) = shaped("staging", None);
        assert_eq!(state, RunState::Failed);
        let words = "of the environment staging, and the job enforces production";
        assert!(message.contains(words), "{message}");
        // the report counts more than the agent's words
        let report = PuppetReportSummary {
            environment: Some("staging".to_owned()),
            ..PuppetReportSummary::default()
        };
        assert_eq!(shaped("production", Some(&report)).0, RunState::Failed);
    }

    #[test]
    fn a_run_that_was_ended_says_by_whom() {
        let said = json!({"transaction_uuid": UUID, "status": "failed", "exitcode": 143,
            "cancelled": true});
        for (reason, state, kind) in [
            (CancelReason::Timeout, RunState::Errored, KIND_TIMEOUT),
            (CancelReason::Stop, RunState::Failed, KIND_STOPPED),
        ] {
            let known = OutcomeContext {
                cancelling: Some(reason),
                ..KNOWN
            };
            let shaped = parse_result(&said.to_string(), known)
                .unwrap()
                .shape(None, RunExpectation::default());
            let result: Value = serde_json::from_str(&shaped.result).unwrap();
            assert_eq!(
                (shaped.state, &result["_error"]["kind"]),
                (state, &kind.into())
            );
            assert!(
                !crate::verdict::is_given_up_result(&shaped.result),
                "its end is known"
            );
        }
    }
}
