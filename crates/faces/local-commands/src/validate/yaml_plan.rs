//! Checks YAML plans as the server does. Main function: [`find_mistakes`].

use environments::{PlanProblem, YamlPlan};
use syntax::Diagnostic;

use super::position::rest_of_line;

const CODE: &str = "INVALID_PLAN";

/// All mistakes of a plan, and duplicate keys.
pub(super) fn find_mistakes(text: &str) -> Vec<Diagnostic> {
    match YamlPlan::read(text) {
        Ok(plan) => plan
            .warnings
            .into_iter()
            .map(|twice| {
                let message = format!(
                    "the key `{}` stands in line {} too; the last one counts",
                    twice.key, twice.first_line
                );
                let place = rest_of_line(text, twice.line as usize, twice.column as usize);
                Diagnostic::warning(CODE, place, message)
            })
            .collect(),
        Err(problems) => problems
            .into_iter()
            .map(
                |PlanProblem {
                     message,
                     line,
                     column,
                 }| {
                    let place = rest_of_line(text, line as usize, column as usize);
                    Diagnostic::error(CODE, place, message)
                },
            )
            .collect(),
    }
}
