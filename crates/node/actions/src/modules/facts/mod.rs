//! `facts collect`: facts of this node, for a server that has no PuppetDB. Main function:
//! [`collect`].
//!
//! Puppet's own facts are preferred (they include the site's custom facts), then Facter's, then a
//! [`native`] set that needs nothing installed. Invariant: the collection ends in time and with the
//! agent, and always has a result. (Custom facts are programs of the site and outside the agent's
//! control.)

mod fact_program;
mod native;
mod settings;

use std::ffi::OsString;
use std::path::Path;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::environment::AgentEnvironment;
use super::request_plan::{RequestPlan, RequestRefusal, parse};

/// Programs that print facts, preferred ones first. Both print one JSON object.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("puppet", &["facts", "show", "--render-as", "json"]),
    ("facter", &["--json"]),
];

/// Search path and environment of the programs that print facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactPrograms<'a> {
    /// The executable that [attends](crate::process::ATTENDANT) a program, and its first arguments.
    pub(crate) attendant: &'a [OsString],
    /// Directory that is searched before `PATH`.
    pub(crate) directory: &'a Path,
}

pub(super) fn plan(params: &RawValue) -> Result<RequestPlan, RequestRefusal> {
    let _: Map<String, Value> = parse(params)?;
    Ok(RequestPlan::Facts)
}

/// Collects the facts: `{"facts": {…}, "environment": "production", "source": "puppet"}`.
pub(crate) async fn collect(programs: FactPrograms<'_>, environment: &AgentEnvironment) -> Value {
    let variables = environment.merge_variables(Vec::new());
    let puppet_environment = settings::environment();
    for (program, args) in PROGRAMS {
        let Some(path) = fact_program::find_program(program, programs.directory, &variables) else {
            continue;
        };
        match fact_program::run_fact_program(programs.attendant, &path, args, &variables).await {
            Ok(facts) => return answer(facts, puppet_environment, program),
            Err(why) => tracing::info!(program, why, "no facts from an installed program"),
        }
    }
    let facts = tokio::task::spawn_blocking(native::facts).await;
    answer(facts.unwrap_or_default(), puppet_environment, "native")
}

fn answer(facts: Map<String, Value>, environment: String, source: &str) -> Value {
    json!({ "facts": facts, "environment": environment, "source": source })
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan_of;
    use super::*;

    #[test]
    fn only_collect_with_an_object_is_a_plan() {
        assert!(matches!(
            plan_of("facts", "collect", &json!({})),
            Ok(RequestPlan::Facts)
        ));
        assert!(plan_of("facts", "collect", &json!([])).is_err());
        assert!(plan_of("facts", "delete", &json!({})).is_err());
    }

    #[tokio::test]
    async fn a_node_always_has_an_answer() {
        // No program can be started through it.
        let programs = FactPrograms {
            attendant: &["/nonexistent".into()],
            directory: Path::new("/nonexistent"),
        };
        let answer = collect(programs, &AgentEnvironment::from_agent(&[])).await;
        let kernel = &answer["facts"]["kernel"];
        assert_eq!(kernel, "Linux", "{}", answer["source"]);
        assert!(answer["facts"]["os"]["family"].is_string());
        assert!(answer["environment"].is_string());
    }
}
