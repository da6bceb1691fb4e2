//! The preview of a plan: an evaluation that shows effects instead of performing them. Main type:
//! [`PreviewBranch`].
//!
//! Reads are performed. An effect is shown in an event and returns [`UnknownResult`]s, which name
//! the effect that they would come from. Invariant: an effect that is not marked as depending on a
//! result is the same whatever that result is, provided that the effects before it succeed.

mod branch;
mod call;
mod effect;
mod finish;
mod task;

use evaluator::{EvalResult, SourceLocation, UnknownValues};
use pcore::Value;
use plans::{PlanEventMessage, StepWork};
use serde_json::{Map, Value as Json, json};

pub(crate) use self::branch::{PreviewBranch, PreviewTally};
pub(crate) use self::call::call;
pub(crate) use self::effect::{PreviewedAction, PreviewedEffect};
pub(crate) use self::finish::finish_preview;
use crate::host::PlanHost;
use crate::objects::{PreviewStepNumbers, UnknownResult, step_names, steps_in_all};

impl PlanHost<'_> {
    /// Marks the rest of this branch as depending on these results, and so any branch that reads
    /// shared state of the plan later.
    pub(crate) fn decide(&self, steps: &PreviewStepNumbers) {
        if let Some(preview) = &self.preview {
            preview.add_deciding(steps);
            self.run.tally.decided.borrow_mut().extend(steps);
        }
    }

    /// Notes that this branch reads state that other branches may have written.
    pub(crate) fn reads_shared(&self) {
        if let Some(preview) = &self.preview {
            preview.add_deciding(&self.run.tally.decided.borrow());
        }
    }

    /// Creates an unknown value that comes from the unknown parts of `values`.
    pub(crate) fn unknown(&self, values: &[Value], text: Option<String>) -> Value {
        Value::object(UnknownResult::new(steps_in_all(values), text))
    }

    /// Records an event of the preview.
    fn tell_preview(
        &self,
        kind: &'static str,
        place: &SourceLocation,
        details: Map<String, Json>,
    ) -> EvalResult<()> {
        let message = details.get("message").and_then(Json::as_str);
        let told = PlanEventMessage {
            kind: kind.to_owned(),
            message: message.unwrap_or_default().to_owned(),
            details,
        };
        let arguments = Json::Object(told.details.clone());
        self.step(kind, place, arguments, StepWork::RecordEvent(told))?;
        Ok(())
    }

    /// Returns the source location; inside a YAML plan, whose code has none, that of the current
    /// step.
    fn site_location(&self, place: &SourceLocation) -> SourceLocation {
        let step = self.step_place.borrow();
        match &*step {
            Some(step) if place.file.is_none() => step.clone(),
            _ => place.clone(),
        }
    }
}

impl UnknownValues for PlanHost<'_> {
    fn unknown_made_of(&self, values: &[Value], text: Option<String>) -> Value {
        self.unknown(values, text)
    }

    fn depends_on(&self, values: &[Value]) {
        self.decide(&steps_in_all(values));
    }

    fn check_unknown_branch(
        &self,
        values: &[Value],
        place: &SourceLocation,
        how: &str,
    ) -> EvalResult<()> {
        let steps = steps_in_all(values);
        self.decide(&steps);
        let decisions = &self.run.tally.decisions;
        decisions.set(decisions.get() + 1);
        let place = self.site_location(place);
        let site = site(&place);
        let message = format!(
            "{site}: the result of {} decides here; the preview goes on {how}",
            step_names(&steps)
        );
        let details = json!({
            "site": site, "depends_on": steps, "goes_on": how, "message": message,
        });
        let details = details.as_object().cloned().unwrap_or_default();
        self.tell_preview("preview_decision", &place, details)
    }
}

/// Formats a location as `module/plans/init.pp:12`.
pub(crate) fn site(place: &SourceLocation) -> String {
    let file = place.file.as_deref().unwrap_or_default();
    let below = file
        .rsplit_once("/modules/")
        .map_or(file, |(_, below)| below);
    match place.line {
        0 => below.to_owned(),
        line => format!("{below}:{line}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_named_from_its_module_on() {
        let place = |file: &str, line| SourceLocation {
            file: Some(file.into()),
            line,
            column: 3,
        };
        let file = "/srv/environments/modules/modules/m/plans/init.pp";
        assert_eq!(site(&place(file, 12)), "m/plans/init.pp:12");
        assert_eq!(site(&place("a.pp", 0)), "a.pp");
    }
}
