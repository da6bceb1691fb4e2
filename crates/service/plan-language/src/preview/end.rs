//! The end of a preview. Main function: [`ended`].
//!
//! Invariant: a plan that fails whatever its results are fails in its preview; one that may
//! fail or go on, by what a result is, ends its preview there, and that is said.

use evaluator::{Eval, Unwind};
use serde_json::{Value as Json, json};

use super::{Preview, Tally, site};
use crate::host::PlanHost;
use crate::{failure, functions};

/// The result of the plan job of a preview.
pub(crate) fn ended(host: &PlanHost<'_>, preview: &Preview, given: Eval<Json>) -> Eval<Json> {
    if matches!(&given, Err(unwind) if matches!(**unwind, Unwind::Error(_))) {
        // Parallel blocks are shown to their end.
        functions::await_all(host)?;
    }
    let decided = preview.decided();
    match given {
        Ok(value) => Ok(json!({"preview": host.run.tally.shown(preview), "result": value})),
        Err(unwind) if decided.is_empty() => Err(unwind),
        Err(unwind) => match *unwind {
            Unwind::Error(error) => {
                let place = error.place.clone().unwrap_or_default();
                let told = failure::told(&error);
                let mut shown = host.run.tally.shown(preview);
                shown["ended_early"] = json!({
                    "at": site(&place), "because": told["msg"], "kind": told["kind"],
                    "depends_on": decided,
                });
                Ok(json!({"preview": shown}))
            }
            other => Err(Box::new(other)),
        },
    }
}

impl Tally {
    fn shown(&self, preview: &Preview) -> Json {
        json!({
            "noop": preview.kind.as_json(),
            "effects": self.effects.get(),
            "sent": self.sent.get(),
            "depending": self.depending.get(),
            "maybe_depending": self.maybe.get(),
            "decisions": self.decisions.get(),
        })
    }
}
