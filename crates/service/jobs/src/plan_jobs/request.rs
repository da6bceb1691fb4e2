//! Start and end of a plan: [`PlanStart`] and [`PlanEnd`].
//!
//! Invariant: values of parameters that are named as sensitive do not get past
//! [`PlanStart::options`].

use std::fmt;

use serde_json::{Map, Value, json};
use store::NewPlanJob;

/// The start of a plan.
#[derive(Clone, Default)]
pub struct PlanStart {
    /// Name of the plan, `module::plan`.
    pub plan: String,
    /// Environment that the plan is from; empty if unknown.
    pub environment: String,
    /// Code id of the version that the plan uses to its end.
    pub code_id: Option<String>,
    /// The way in which that version was chosen.
    pub code: Option<String>,
    /// Parameters by name; may hold secrets.
    pub params: Map<String, Value>,
    /// Names of parameters whose values are not stored.
    pub sensitive: Vec<String>,
    /// Free text shown in lists and logs.
    pub description: String,
    /// Free keys and values, echoed with the plan job.
    pub userdata: Map<String, Value>,
    /// The noop option as requested; the plan then changes nothing.
    pub noop: Option<Value>,
    /// Questions of the plan are answered by their defaults.
    pub is_unattended: bool,
    /// Number of the schedule that started the plan; `None` if no schedule did.
    pub schedule: Option<i64>,
    /// Login of the user who requested the plan.
    pub owner: String,
    /// Id of that user: only this user can continue the plan.
    pub owner_id: String,
}

/// The end of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanEnd {
    /// True if the plan succeeded.
    pub success: bool,
    /// The value that the plan returned, or its error.
    pub result: Value,
}

impl PlanStart {
    /// The plan job as it is stored, without secrets.
    pub fn into_row(self, now_ms: i64) -> NewPlanJob {
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

    /// The options as stored and shown: as received, without secrets.
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

/// Leaves out the values of parameters.
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
