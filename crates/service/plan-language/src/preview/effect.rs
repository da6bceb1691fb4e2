//! An effect that is told instead of being made. Main type: [`Effect`].
//!
//! Invariant: a secret is in no event, and an event is bounded, whatever the plan gives.

use evaluator::{Eval, SourceLocation};
use serde_json::{Value as Json, json};

use super::task::{self, Checked};
use super::{Preview, Tally, site};
use crate::defaults::{PREVIEW_PARAMETERS_BYTES, PREVIEW_TARGETS};
use crate::functions::Action;
use crate::host::PlanHost;
use crate::objects::{ResultSet, Steps, Target, TaskResult, Unknown};

/// An effect that a plan would have.
#[derive(Default)]
pub(crate) struct Effect<'a> {
    pub(crate) function: &'a str,
    /// The task, the command, the question.
    pub(crate) object: &'a str,
    pub(crate) targets: &'a [Target],
    /// Without secrets.
    pub(crate) parameters: Json,
    pub(crate) noop: bool,
    pub(crate) description: &'a str,
}

/// The treatment of an action in a preview.
pub(crate) enum Way {
    /// It was told, and this stands for what would come of it.
    Told(ResultSet),
    /// It is to be done, in noop mode.
    Noop,
}

impl Preview {
    /// Shows an action on targets, or says that it can be done in noop mode.
    pub(crate) fn action(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        action: &Action<'_>,
        targets: &[Target],
        options: &crate::functions::Options,
    ) -> Eval<Way> {
        let mut parameters = action.shown.clone();
        let mut sent = false;
        if action.name == "task" {
            let checked = self.check(host, place, action, options.noop)?;
            parameters = checked.shown(parameters);
            let is_known = self.given.borrow().steps.is_empty();
            sent = self.kind == plans::Preview::RunNoop && checked.supports_noop && is_known;
        }
        let effect = Effect {
            function: action.function,
            object: action.object,
            targets,
            parameters,
            noop: options.noop || sent,
            description: &options.description,
        };
        let number = self.show(host, place, &effect, sent)?;
        if sent {
            return Ok(Way::Noop);
        }
        let unknown = Unknown::of(number);
        let result = |target: &Target| {
            TaskResult::unknown_of(target.clone(), action.name, Some(action.object), &unknown)
        };
        Ok(Way::Told(ResultSet::new(targets.iter().map(result))))
    }

    fn check(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        action: &Action<'_>,
        noop: bool,
    ) -> Eval<Checked> {
        let given = self.given.borrow();
        let names = (!given.all).then(|| given.names.clone());
        drop(given);
        task::check(host, place, action, noop, names)
    }

    /// Tells an effect, and gives its number.
    pub(crate) fn show(
        &self,
        host: &PlanHost<'_>,
        place: &SourceLocation,
        effect: &Effect<'_>,
        sent: bool,
    ) -> Eval<u32> {
        let unwrapped = &host.run.unwrapped;
        let (object, description) = (
            unwrapped.redacted(effect.object),
            unwrapped.redacted(effect.description),
        );
        let mut parameters = effect.parameters.clone();
        unwrapped.redact(&mut parameters);
        // Before anything is cut, so that no half of a secret is left.
        let effect = &Effect {
            function: effect.function,
            object: &object,
            targets: effect.targets,
            parameters,
            noop: effect.noop,
            description: &description,
        };
        let depends_on = self.given.borrow().steps.clone();
        let maybe: Steps = self.decided().difference(&depends_on).copied().collect();
        let tally = &host.run.tally;
        let number = tally.count(sent, !depends_on.is_empty(), !maybe.is_empty());
        let place = host.placed(place);
        let names = effect.targets.iter().take(PREVIEW_TARGETS);
        let names: Vec<String> = names.map(Target::safe_name).collect();
        let message = format!("{number}. {}", effect.sentence());
        let details = json!({
            "number": number,
            "function": effect.function,
            "object": cut(effect.object),
            "targets": names,
            "target_count": effect.targets.len(),
            "parameters": bounded(&effect.parameters),
            "noop": effect.noop,
            "sent": sent,
            "description": cut(effect.description),
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

impl Effect<'_> {
    fn sentence(&self) -> String {
        let first = cut(self.object.lines().next().unwrap_or_default());
        let what = format!("{} {first}", self.function);
        match self.targets {
            [] => what,
            [only] => format!("{what} on {}", only.safe_name()),
            several => format!("{what} on {} targets", several.len()),
        }
    }
}

impl Tally {
    fn count(&self, sent: bool, depending: bool, maybe: bool) -> u32 {
        let add = |cell: &std::cell::Cell<u32>, flag: bool| cell.set(cell.get() + u32::from(flag));
        add(&self.effects, true);
        add(&self.sent, sent);
        add(&self.depending, depending);
        add(&self.maybe, maybe);
        self.effects.get()
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(PREVIEW_PARAMETERS_BYTES)]
}

/// Larger values are shown as the beginning of their text.
fn bounded(parameters: &Json) -> Json {
    let text = parameters.to_string();
    match text.len() <= PREVIEW_PARAMETERS_BYTES {
        true => parameters.clone(),
        false => json!(format!("{} …", cut(&text))),
    }
}
