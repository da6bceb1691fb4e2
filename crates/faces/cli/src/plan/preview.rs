//! Formats the preview of a plan for a terminal. Main functions: [`format_preview_event`] of an event, [`summary`]
//! of the end.
//!
//! Invariant: an effect that depends on an unknown result is marked where it is shown, not only
//! counted.

use api_types::{Object, PlanEvent, PlanJob};
use serde_json::Value;

use crate::defaults::{PREVIEW_PARAMETERS, PREVIEW_TARGETS, PREVIEW_VALUE_CHARS};
use crate::terminal::{
    escape_control, escaped_name, style_dim, style_heading, style_noop, style_warning,
};
use crate::values::{first_line, plain, result_lines};

/// True if the plan job is a preview.
pub(super) fn is_preview(job: &PlanJob) -> bool {
    job.options.contains_key("noop")
}

/// The lines for an event of a preview; `None` for any other event.
pub(super) fn format_preview_event(event: &PlanEvent) -> Option<Vec<String>> {
    match event.kind.as_str() {
        "preview" => Some(format_effect(&event.details)),
        "preview_decision" => {
            let message = escape_control(&event.message);
            Some(vec![style_warning(format!("  ?  {message}"))])
        }
        _ => None,
    }
}

fn format_effect(details: &Object) -> Vec<String> {
    let text = |key: &str| details.get(key).and_then(Value::as_str).unwrap_or_default();
    let flag = |key: &str| details.get(key) == Some(&Value::Bool(true));
    let number = details.get("number").and_then(Value::as_u64).unwrap_or(0);
    let mut object = text("object").lines();
    let first = escape_control(object.next().unwrap_or_default());
    let number = style_heading(format!("{number:>3}."));
    let function = escaped_name(text("function"));
    let site = style_dim(escape_control(text("site")));
    let mut lines = vec![format!("{number} {function} {first}  {site}")];
    let mut add = |line: String| lines.push(format!("     {line}"));
    object.map(escape_control).for_each(&mut add);
    if !text("description").is_empty() {
        add(style_dim(escape_control(text("description"))));
    }
    targets(details).into_iter().for_each(&mut add);
    parameters(details).into_iter().for_each(&mut add);
    match (flag("sent"), flag("noop")) {
        (true, _) => add(style_noop("is run in noop mode")),
        (false, true) => add(style_noop("in noop mode")),
        _ => {}
    }
    for (key, words) in [
        ("depends_on", "depends on the result of"),
        ("may_depend_on", "may depend on the result of"),
    ] {
        if let Some(steps) = steps(details.get(key)) {
            add(style_warning(format!("{words} {steps}")));
        }
    }
    lines
}

fn targets(details: &Object) -> Option<String> {
    let names = details.get("targets").and_then(Value::as_array)?;
    let count = details.get("target_count").and_then(Value::as_u64);
    let count = count.and_then(|count| usize::try_from(count).ok());
    let shown = names.iter().take(PREVIEW_TARGETS);
    let shown = shown.map(|name| escape_control(name.as_str().unwrap_or_default()));
    let shown: Vec<_> = shown.collect();
    if shown.is_empty() {
        return None;
    }
    let more = count.unwrap_or(names.len()).saturating_sub(shown.len());
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("on {}{more}", shown.join(", ")))
}

fn parameters(details: &Object) -> Vec<String> {
    let entries = details.get("parameters").and_then(Value::as_object);
    let given = entries.into_iter().flatten();
    let given = given.filter(|(_, value)| !value.is_null());
    let mut lines: Vec<String> = given
        .map(|(key, value)| {
            let text = escape_control(first_line(&plain(value)));
            let mut shown: String = text.chars().take(PREVIEW_VALUE_CHARS).collect();
            if shown.len() < text.len() {
                shown.push('…');
            }
            format!("{}: {shown}", style_dim(escape_control(key)))
        })
        .collect();
    let more = lines.len().saturating_sub(PREVIEW_PARAMETERS);
    if more > 0 {
        lines.truncate(PREVIEW_PARAMETERS);
        lines.push(style_dim(format!("and {more} more parameters")));
    }
    lines
}

/// `step 3`, `steps 3, 4`.
fn steps(value: Option<&Value>) -> Option<String> {
    let numbers = value.and_then(Value::as_array)?;
    let names: Vec<String> = numbers.iter().map(Value::to_string).collect();
    match names.as_slice() {
        [] => None,
        [only] => Some(format!("step {only}")),
        several => Some(format!("steps {}", several.join(", "))),
    }
}

/// The summary of a preview.
pub(super) fn summary(result: &Value) -> Vec<String> {
    let preview = &result["preview"];
    let count = |key: &str| preview[key].as_u64().unwrap_or(0);
    let (effects, sent) = (count("effects"), count("sent"));
    let done = match sent {
        0 => "nothing was done".to_owned(),
        sent => format!("{sent} of them ran in noop mode, nothing else was done"),
    };
    let plural = if effects == 1 { "step" } else { "steps" };
    let mut lines = vec![format!("the plan would take {effects} {plural}; {done}")];
    let marked = |key: &str, one: &str, several: &str| match count(key) {
        0 => None,
        1 => Some(style_warning(format!("1 step {one}"))),
        count => Some(style_warning(format!("{count} steps {several}"))),
    };
    let unknown = "on results that are not known yet";
    let (one, several) = (format!("depends {unknown}"), format!("depend {unknown}"));
    lines.extend(marked("depending", &one, &several));
    let maybe = "may depend on results by which the plan decides before";
    lines.extend(marked("maybe_depending", maybe, maybe));
    let early = &preview["ended_early"];
    if early.is_object() {
        let text = |key: &str| escape_control(early[key].as_str().unwrap_or_default());
        let needs = steps(early.get("depends_on")).unwrap_or_default();
        let at = text("at");
        lines.push(style_warning(format!(
            "it was seen as far as {at}: how it goes on depends on the result of {needs}"
        )));
        lines.push(style_dim(text("because")));
    }
    let given = &result["result"];
    if !given.is_null() {
        lines.push("it would give:".to_owned());
        let given = result_lines(given);
        lines.extend(given.into_iter().map(|line| format!("    {line}")));
    }
    lines
}
