//! What is told about a plan: [`PlanStart`] and [`PlanEnd`].
//!
//! The rule: values of parameters that are named as sensitive do not get past
//! [`PlanStart::options`].

use std::fmt;

use serde_json::{Map, Value, json};
use store::NewPlanJob;

/// A plan that starts.
#[derive(Clone, Default)]
pub struct PlanStart {
    /// `module::plan`.
    pub plan: String,
    /// Empty: not known.
    pub environment: String,
    /// The version of its code that the plan stays with.
    pub code_id: Option<String>,
    /// How it was said which that is.
    pub code: Option<String>,
    /// Parameters by name; may hold secrets.
    pub params: Map<String, Value>,
    /// Names of parameters whose values are not kept.
    pub sensitive: Vec<String>,
    /// For people.
    pub description: String,
    /// Free keys and values, echoed with the plan job.
    pub userdata: Map<String, Value>,
    /// That it is only looked at, as it was asked for.
    pub noop: Option<Value>,
    /// Questions are answered by their defaults.
    pub is_unattended: bool,
    /// The number of the schedule that started the plan.
    pub schedule: Option<i64>,
    /// The login of who asks.
    pub owner: String,
    /// His id: only he goes on with the plan.
    pub owner_id: String,
}

/// How a plan ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanEnd {
    /// Whether it went well.
    pub success: bool,
    /// What it returned.
    pub result: Value,
}

impl PlanStart {
    /// The plan job as it is stored, without secrets.
    pub fn row(self, now_ms: i64) -> NewPlanJob {
        NewPlanJob {
            request_id: uuid::Uuid::new_v4().to_string(),
            options: self.options().to_string(),
            userdata: Value::Object(self.userdata).to_string(),
            plan: self.plan,
            environment: self.environment,
            owner: self.owner,
            owner_id: self.owner_id,
            created_ms: now_ms,
        }
    }

    /// What is stored and shown: as told, without secrets.
    pub(super) fn options(&self) -> Value {
        let open = |(name, _): &(&String, &Value)| !self.sensitive.contains(name);
        let parameters: Map<String, Value> = self
            .params
            .iter()
            .filter(open)
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let mut options = json!({
            "description": self.description,
            "plan_name": self.plan,
            "parameters": parameters,
            "sensitive": self.sensitive,
            "scheduled_job_id": self.schedule,
        });
        if let Some(noop) = &self.noop {
            options["noop"] = noop.clone();
        }
        if self.is_unattended {
            options["unattended"] = Value::Bool(true);
        }
        if let Some(code_id) = &self.code_id {
            options["code_id"] = Value::from(code_id.as_str());
        }
        if let Some(code) = &self.code {
            options["code"] = Value::from(code.as_str());
        }
        if !self.environment.is_empty() {
            options["environment"] = Value::from(self.environment.as_str());
        }
        options
    }
}

/// Never the values of parameters.
impl fmt::Debug for PlanStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanStart")
            .field("plan", &self.plan)
            .field("params", &self.params.keys().collect::<Vec<_>>())
            .field("owner", &self.owner)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sensitive_parameters_are_named_and_not_kept() {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let start = PlanStart {
            plan: "app::deploy".to_owned(),
            params: object(json!({"version": "1", "password": "CANARY"})),
            sensitive: vec!["password".to_owned()],
            ..PlanStart::default()
        };
        let options = start.options();
        assert_eq!(options["parameters"], json!({"version": "1"}));
        assert_eq!(options["sensitive"], json!(["password"]));
        let shown = format!("{options} {start:?}");
        assert!(!shown.contains("CANARY"), "{shown}");
    }
}
