//! An effect that a preview shows instead of performing it. Main type: [`PreviewedEffect`].
//!
//! Invariant: events contain no secret, and their size is bounded.

use evaluator::{EvalResult, SourceLocation};
use serde_json::{Value as Json, json};

use super::branch::{PreviewBranch, PreviewTally};
use super::site;
use super::task::{self, CheckedTask};
use crate::defaults::{PREVIEW_PARAMETERS_BYTES, PREVIEW_TARGETS};
use crate::functions::PlanAction;
use crate::host::PlanHost;
use crate::objects::{PlanTarget, PreviewStepNumbers, ResultSet, TaskResult, UnknownResult};

/// An effect that a plan would have.
#[derive(Default)]
pub(crate) struct PreviewedEffect<'a> {
    pub(crate) function: &'a str,
    /// The task, the command or the prompt.
    pub(crate) object: &'a str,
    pub(crate) targets: &'a [PlanTarget],
    /// Parameters without secrets.
    pub(crate) parameters: Json,
    pub(crate) noop: bool,
    pub(crate) description: &'a str,
}

/// The treatment of an action in a preview.
pub(crate) enum PreviewedAction {
    /// The action was only shown; these are its unknown results.
    Shown(ResultSet),
    /// The action is to be run in noop mode.
    Noop,
}

impl PreviewBranch {
    /// Shows an action on targets, and decides if it is run in noop mode.
    pub(crate) fn action(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        action: &PlanAction<'_>,
        targets: &[PlanTarget],
        options: &crate::functions::PlanActionOptions,
    ) -> EvalResult<PreviewedAction> {
        let mut parameters = action.shown.clone();
        let mut sent = false;
        if action.name == "task" {
            let checked = self.check(host, place, action, options.noop)?;
            parameters = checked.redact_parameters(parameters);
            let is_known = self.unknown_arguments.borrow().steps.is_empty();
            sent =
                self.kind == plans::PlanPreviewMode::RunNoop && checked.supports_noop && is_known;
        }
        let effect = PreviewedEffect {
            function: action.function,
            object: action.object,
            targets,
            parameters,
            noop: options.noop || sent,
            description: &options.description,
        };
        let number = self.show_effect(host, place, &effect, sent)?;
        if sent {
            return Ok(PreviewedAction::Noop);
        }
        let unknown = UnknownResult::of(number);
        let result = |target: &PlanTarget| {
            TaskResult::unknown_of(target.clone(), action.name, Some(action.object), &unknown)
        };
        Ok(PreviewedAction::Shown(ResultSet::new(
            targets.iter().map(result),
        )))
    }

    fn check(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        action: &PlanAction<'_>,
        noop: bool,
    ) -> EvalResult<CheckedTask> {
        let given = self.unknown_arguments.borrow();
        let names = (!given.all).then(|| given.names.clone());
        drop(given);
        task::check(host, place, action, noop, names)
    }

    /// Records an effect as an event, and returns its number.
    pub(crate) fn show_effect(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        effect: &PreviewedEffect<'_>,
        sent: bool,
    ) -> EvalResult<u32> {
        let unwrapped = &host.run.unwrapped;
        let (object, description) = (
            unwrapped.to_redacted_text(effect.object),
            unwrapped.to_redacted_text(effect.description),
        );
        let mut parameters = effect.parameters.clone();
        unwrapped.redact(&mut parameters);
        // Redaction comes before truncation, so that no part of a secret remains.
        let effect = &PreviewedEffect {
            function: effect.function,
            object: &object,
            targets: effect.targets,
            parameters,
            noop: effect.noop,
            description: &description,
        };
        let depends_on = self.unknown_arguments.borrow().steps.clone();
        let maybe: PreviewStepNumbers = self.decided().difference(&depends_on).copied().collect();
        let tally = &host.run.tally;
        let number = tally.count(sent, !depends_on.is_empty(), !maybe.is_empty());
        let place = host.site_location(place);
        let names = effect.targets.iter().take(PREVIEW_TARGETS);
        let names: Vec<String> = names.map(PlanTarget::safe_name).collect();
        let message = format!("{number}. {}", effect.sentence());
        let details = json!({
            "number": number,
            "function": effect.function,
            "object": truncate_text(effect.object),
            "targets": names,
            "target_count": effect.targets.len(),
            "parameters": bounded(&effect.parameters),
            "noop": effect.noop,
            "sent": sent,
            "description": truncate_text(effect.description),
            "site": site(&place),
            "depends_on": depends_on,
            "may_depend_on": maybe,
            "message": message,
        });
        let details = details.as_object().cloned().unwrap_or_default();
        host.tell_preview("preview", &place, details)?;
        Ok(number)
    }
}

impl PreviewedEffect<'_> {
    fn sentence(&self) -> String {
        let first = truncate_text(self.object.lines().next().unwrap_or_default());
        let what = format!("{} {first}", self.function);
        match self.targets {
            [] => what,
            [only] => format!("{what} on {}", only.safe_name()),
            several => format!("{what} on {} targets", several.len()),
        }
    }
}

impl PreviewTally {
    fn count(&self, sent: bool, depending: bool, maybe: bool) -> u32 {
        let add = |cell: &std::cell::Cell<u32>, flag: bool| cell.set(cell.get() + u32::from(flag));
        add(&self.effects, true);
        add(&self.sent, sent);
        add(&self.depending, depending);
        add(&self.maybe, maybe);
        self.effects.get()
    }
}

fn truncate_text(text: &str) -> &str {
    &text[..text.floor_char_boundary(PREVIEW_PARAMETERS_BYTES)]
}

/// Returns parameters unchanged if they are within the bound, otherwise the beginning of their
/// text.
fn bounded(parameters: &Json) -> Json {
    let text = parameters.to_string();
    match text.len() <= PREVIEW_PARAMETERS_BYTES {
        true => parameters.clone(),
        false => json!(format!("{} …", truncate_text(&text))),
    }
}
