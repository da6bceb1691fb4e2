//! Plans in YAML, checked as they are before a server runs them. Main function: [`mistakes`].

use deploy::{PlanProblem, YamlPlan};
use syntax::{Diagnostic, Span};

const CODE: &str = "INVALID_PLAN";

/// All mistakes of a plan, and keys that are written twice.
pub(super) fn mistakes(text: &str) -> Vec<Diagnostic> {
    match YamlPlan::read(text) {
        Ok(plan) => plan
            .warnings
            .into_iter()
            .map(|twice| {
                let message = format!(
                    "the key `{}` stands in line {} too; the last one counts",
                    twice.key, twice.first_line
                );
                Diagnostic::warning(CODE, span(text, twice.line, twice.column), message)
            })
            .collect(),
        Err(problems) => problems
            .into_iter()
            .map(
                |PlanProblem {
                     message,
                     line,
                     column,
                 }| { Diagnostic::error(CODE, span(text, line, column), message) },
            )
            .collect(),
    }
}

/// The rest of the line from a place on; the begin of the file for no place.
fn span(text: &str, line: u32, column: u32) -> Span {
    let skipped = (line as usize).saturating_sub(1);
    let before: usize = text.split_inclusive('\n').take(skipped).map(str::len).sum();
    let rest = text[before..].split('\n').next().unwrap_or_default();
    let letters = rest.char_indices().map(|(at, _)| at);
    let within = letters
        .chain([rest.len()])
        .nth((column as usize).saturating_sub(1));
    let start = before + within.unwrap_or(rest.len());
    let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span::new(offset(start), offset(before + rest.len()))
}
