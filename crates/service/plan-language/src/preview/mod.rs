//! A plan that is looked at before it is run. Main type: [`PreviewBranch`].
//!
//! What reads is done; what has an effect is told in an event and not done, and gives [`UnknownResult`]s, which
//! say from which effect they would come. Invariant: an effect that is not said to depend on
//! a result is the same whatever that result is, as long as the effects before it succeed.

mod call;
mod effect;
mod finish;
mod task;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use evaluator::{EvalResult, SourceLocation, UnknownValues};
use pcore::Value;
use plans::{PlanEventMessage, StepWork};
use serde_json::{Map, Value as Json, json};

pub(crate) use self::call::call;
pub(crate) use self::effect::{PreviewedAction, PreviewedEffect};
pub(crate) use self::finish::finish_preview;
pub(crate) use self::task::parse_task_name as task_name;
use crate::host::PlanHost;
use crate::objects::{PreviewStepNumbers, UnknownResult, step_names, steps_in_all};

/// The state of one branch of a preview.
pub(crate) struct PreviewBranch {
    pub(crate) kind: plans::PlanPreviewMode,
    /// The results that decided what is evaluated now.
    decided: RefCell<PreviewStepNumbers>,
    /// The arguments of the plan function that is called now.
    unknown_arguments: RefCell<UnknownArguments>,
}

/// The unknown arguments of a plan function.
#[derive(Default)]
struct UnknownArguments {
    steps: PreviewStepNumbers,
    /// The parameters among it.
    names: BTreeSet<String>,
    /// It is not even known which parameters there are.
    all: bool,
}

/// The state that all branches of a preview share.
#[derive(Default)]
pub(crate) struct PreviewTally {
    effects: Cell<u32>,
    sent: Cell<u32>,
    depending: Cell<u32>,
    maybe: Cell<u32>,
    decisions: Cell<u32>,
    /// The results that decided something anywhere.
    decided: RefCell<PreviewStepNumbers>,
}

impl PreviewBranch {
    /// A branch that begins where so much was decided.
    pub(crate) fn new(kind: plans::PlanPreviewMode, decided: PreviewStepNumbers) -> Self {
        Self {
            kind,
            decided: RefCell::new(decided),
            unknown_arguments: RefCell::default(),
        }
    }

    pub(crate) fn decided(&self) -> PreviewStepNumbers {
        self.decided.borrow().clone()
    }

    /// The following effects depend on these results.
    pub(crate) fn add_deciding(&self, steps: &PreviewStepNumbers) {
        self.decided.borrow_mut().extend(steps);
    }

    /// The plan function that is called now was given this, too.
    pub(crate) fn add_given(&self, value: &Value) {
        self.unknown_arguments.borrow_mut().add(value);
    }
}

impl UnknownArguments {
    fn of(arguments: &[Value]) -> Self {
        let mut given = Self::default();
        arguments.iter().for_each(|it| given.add(it));
        given
    }

    fn add(&mut self, value: &Value) {
        self.steps.extend(steps_in_all([value]));
        self.all |= value.is_unknown();
        let entries = value.as_hash().into_iter().flat_map(|hash| hash.iter());
        let unknown = entries.filter(|(_, value)| value.has_unknown());
        self.names.extend(unknown.map(|(key, _)| key.to_string()));
    }
}

impl PlanHost<'_> {
    /// The rest of this branch depends on these; so does anything that a branch learns of the plan's state.
    pub(crate) fn decide(&self, steps: &PreviewStepNumbers) {
        if let Some(preview) = &self.preview {
            preview.add_deciding(steps);
            self.run.tally.decided.borrow_mut().extend(steps);
        }
    }

    /// This branch reads what others may have written.
    pub(crate) fn reads_shared(&self) {
        if let Some(preview) = &self.preview {
            preview.add_deciding(&self.run.tally.decided.borrow());
        }
    }

    /// The same as an `UnknownResult`.
    pub(crate) fn unknown(&self, values: &[Value], text: Option<String>) -> Value {
        Value::object(UnknownResult::new(steps_in_all(values), text))
    }

    /// Says in an event what a preview found.
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

    /// The source position; for a step of a YAML plan, which has no positions of its own, that step.
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

/// `module/plans/init.pp:12`.
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
