//! The error of a plan that takes other steps than its journal when it is evaluated again. Main
//! type: [`PlanDivergence`].
//!
//! Invariant: the error shows the expected and the requested step, and no secret, since arguments
//! contain none.

use std::fmt;

use serde_json::{Value, json};

use crate::step::StepId;

/// The kind of the plan error.
pub const KIND_DIVERGED: &str = "tutti/plan-diverged";

/// The step in the journal and the step that the plan requested instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanDivergence {
    pub(crate) step: StepId,
    pub(crate) expected: StepSummary,
    /// The requested step; `None` if the plan did not request the step at all.
    pub(crate) met: Option<StepSummary>,
}

/// The parts of a step that are shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepSummary {
    pub(crate) kind: String,
    pub(crate) site: String,
    pub(crate) arguments: String,
}

// === impl PlanDivergence ===

impl PlanDivergence {
    /// The error with which the plan ends.
    pub(crate) fn error(&self) -> Value {
        json!({
            "kind": KIND_DIVERGED,
            "msg": self.to_string(),
            "details": {
                "step": self.step.to_string(),
                "expected": self.expected.json(),
                "met": self.met.as_ref().map(StepSummary::json),
            },
        })
    }
}

impl fmt::Display for PlanDivergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            step,
            expected,
            met,
        } = self;
        writeln!(
            f,
            "the plan was evaluated again and took another way at its step {step}; nothing more of it \
             is run, since its earlier results would not belong to it. Start it anew."
        )?;
        let lines = |shown: &StepSummary| {
            [
                format!("kind      {}", shown.kind),
                format!("at        {}", shown.site),
                format!("arguments {}", shown.arguments),
            ]
        };
        let expected = lines(expected);
        match met {
            None => {
                for line in &expected {
                    writeln!(f, "- {line}")?;
                }
                f.write_str("+ (the plan did not come to this step)")
            }
            Some(met) => {
                for (expected, met) in expected.iter().zip(lines(met)) {
                    if *expected == met {
                        writeln!(f, "  {expected}")?;
                    } else {
                        writeln!(f, "- {expected}")?;
                        writeln!(f, "+ {met}")?;
                    }
                }
                Ok(())
            }
        }
    }
}

impl StepSummary {
    fn json(&self) -> Value {
        json!({"kind": self.kind, "site": self.site, "arguments": self.arguments})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_shown_as_a_diff() {
        let shown = |arguments: &str| StepSummary {
            kind: "task".to_owned(),
            site: "app (app.pp:3)".to_owned(),
            arguments: arguments.to_owned(),
        };
        let divergence = PlanDivergence {
            step: "2.1".parse().unwrap(),
            expected: shown("{\"n\":1}"),
            met: Some(shown("{\"n\":2}")),
        };
        let text = divergence.to_string();
        assert!(text.contains("step 2.1"), "{text}");
        assert!(text.contains("  kind      task"), "{text}");
        assert!(
            text.contains("- arguments {\"n\":1}\n+ arguments {\"n\":2}"),
            "{text}"
        );
        assert_eq!(divergence.error()["kind"], KIND_DIVERGED);
    }
}
