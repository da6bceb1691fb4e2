//! The end of a preview. Main function: [`finish_preview`].
//!
//! Invariant: a plan that fails independently of unknown results fails in its preview; if the
//! failure depends on unknown results, the preview ends there successfully and states it.

use evaluator::{EvalResult, EvalUnwind};
use serde_json::{Value as Json, json};

use super::branch::{PreviewBranch, PreviewTally};
use super::site;
use crate::host::PlanHost;
use crate::{failure, functions};

/// Returns the result of the plan job of a preview.
pub(crate) fn finish_preview(
    host: &PlanHost<'_>,
    preview: &PreviewBranch,
    given: EvalResult<Json>,
) -> EvalResult<Json> {
    if matches!(&given, Err(unwind) if matches!(**unwind, EvalUnwind::Error(_))) {
        // Effects of parallel blocks that still run are shown too.
        functions::await_all(host)?;
    }
    let decided = preview.decided();
    match given {
        Ok(value) => Ok(json!({"preview": host.run.tally.shown(preview), "result": value})),
        Err(unwind) if decided.is_empty() => Err(unwind),
        Err(unwind) => match *unwind {
            EvalUnwind::Error(error) => {
                let place = error.location.clone().unwrap_or_default();
                let told = failure::to_error_json(&error);
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

impl PreviewTally {
    fn shown(&self, preview: &PreviewBranch) -> Json {
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
