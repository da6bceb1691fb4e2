//! `prompt` and `prompt::menu`, which a user answers.
//!
//! Invariant: the prompt is an event, and the answer comes through the API; the plan waits without
//! a limit.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one, optional};
use evaluator::{EvalResult, Evaluator};
use pcore::Value;
use plans::{PlanEventMessage, StepWork};
use serde_json::{Map, Value as Json, json};

use super::plan_function::PlanFunctionBody;
use crate::error_object::error_from_json;
use crate::failure;
use crate::host::PlanHost;
use crate::objects::UnknownResult;
use crate::preview::PreviewedEffect;

const OPTIONS: &str = "Hash[String[1], Any]";

pub(super) const FUNCTIONS: &[(FunctionSpec, PlanFunctionBody)] = &[
    (
        FunctionSpec::new(
            "prompt",
            &[
                FunctionDispatch::host(&[one("String", "prompt"), optional(OPTIONS, "options")])
                    .returning("Variant[String, Sensitive]"),
            ],
        ),
        prompt,
    ),
    (
        FunctionSpec::new(
            "prompt::menu",
            &[
                FunctionDispatch::host(&[
                    one("String", "prompt"),
                    one("Array[Any]", "menu"),
                    optional(OPTIONS, "options"),
                ]),
                FunctionDispatch::host(&[
                    one("String", "prompt"),
                    one("Hash[String[1], Any]", "menu"),
                    optional(OPTIONS, "options"),
                ]),
            ],
        ),
        menu,
    ),
];

fn ask(
    host: &PlanHost<'_>,
    call: &CallArguments<'_>,
    mut details: Map<String, Json>,
) -> EvalResult<String> {
    let text = call.text(0);
    details.insert("prompt".to_owned(), json!(&*text));
    let arguments = Json::Object(details.clone());
    let told = PlanEventMessage {
        kind: "prompt".to_owned(),
        details,
        message: text.to_string(),
    };
    let outcome = host.step("prompt", &call.location(), arguments, StepWork::Ask(told))?;
    if !outcome.ok {
        return Err(failure::raise(error_from_json(&outcome.value)));
    }
    Ok(match &*outcome.value {
        Json::String(answer) => answer.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    })
}

fn prompt(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let options = call.hash(1);
    let sensitive = options.get_str("sensitive").is_some_and(Value::is_truthy);
    let default = options.get_str("default").filter(|value| !value.is_undef());
    if options
        .get_str("default")
        .is_some_and(|it| it.as_str().is_none() && !it.is_unknown())
    {
        return Err(failure::invalid_value_error(
            "Option 'default' must be a string",
        ));
    }
    let mut details = Map::new();
    details.insert("sensitive".to_owned(), json!(sensitive));
    if let Some(default) = default.filter(|_| !sensitive) {
        details.insert("default".to_owned(), json!(default.to_string()));
    }
    let answer = match preview(host, &call, &details, default)? {
        Some(assumed) => assumed,
        None => match answer_unattended(host, &call, default)? {
            Some(default) => default,
            None => answer_or_default(&ask(host, &call, details)?, default),
        },
    };
    Ok(match sensitive {
        true => Value::sensitive(answer),
        false => answer,
    })
}

/// In a preview: returns the default, or an unknown value. `None` if this is not a preview.
fn preview(
    host: &PlanHost<'_>,
    call: &CallArguments<'_>,
    details: &Map<String, Json>,
    default: Option<&Value>,
) -> EvalResult<Option<Value>> {
    let Some(preview) = &host.preview else {
        return Ok(None);
    };
    let effect = PreviewedEffect {
        function: call.name,
        object: &call.text(0),
        parameters: Json::Object(details.clone()),
        ..PreviewedEffect::default()
    };
    let number = preview.show_effect(host, &call.location(), &effect, false)?;
    let unknown = || Value::object(UnknownResult::of(number));
    Ok(Some(default.cloned().unwrap_or_else(unknown)))
}

/// In an unattended plan: returns the default and records it as an event. Without a default the
/// prompt fails, as in Bolt without a terminal. `None` if a user is to answer.
fn answer_unattended(
    host: &PlanHost<'_>,
    call: &CallArguments<'_>,
    default: Option<&Value>,
) -> EvalResult<Option<Value>> {
    if !host.run.launch.is_unattended {
        return Ok(None);
    }
    let text = call.text(0);
    let Some(default) = default else {
        let msg = format!(
            "the plan asks '{text}', which has no default, and is unattended, so there is no answer: give \
             the question a default, or start the plan so that it can be answered"
        );
        return Err(failure::plain_error("bolt/no-tty-error", msg));
    };
    let message = format!("{text}: the plan is unattended, so the default is taken");
    host.record_event("prompt_default", &call.location(), &message, Map::new())?;
    Ok(Some(default.clone()))
}

fn answer_or_default(answer: &str, default: Option<&Value>) -> Value {
    match (answer, default) {
        ("", Some(default)) => default.clone(),
        (text, _) => Value::from(text),
    }
}

/// Repeats the prompt until the answer is one of the choices.
fn menu(host: &PlanHost<'_>, _: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let choices: Vec<(String, Value)> = match call.get(1) {
        Value::Hash(hash) => hash
            .iter()
            .map(|(key, item)| (key.to_string(), item.clone()))
            .collect(),
        _ => {
            let items = call.list(1);
            (1..)
                .zip(items.iter())
                .map(|(number, item): (u32, _)| (number.to_string(), item.clone()))
                .collect()
        }
    };
    let options = call.hash(2);
    let default = options.get_str("default").filter(|value| !value.is_undef());
    if choices.is_empty() {
        return Err(failure::invalid_value_error("Menu cannot be empty"));
    }
    if let Some(default) = default.filter(|it| !choices.iter().any(|(_, item)| item == *it)) {
        let msg = format!("Default value '{default}' is not one of the provided menu options");
        return Err(failure::invalid_value_error(msg));
    }
    let shown = choices
        .iter()
        .map(|(key, item)| (key.clone(), json!(item.to_string())));
    let mut details = Map::new();
    details.insert("menu".to_owned(), Json::Object(shown.collect()));
    if let Some(default) = default {
        details.insert("default".to_owned(), json!(default.to_string()));
    }
    if let Some(assumed) = preview(host, &call, &details, default)? {
        return Ok(assumed);
    }
    if let Some(default) = answer_unattended(host, &call, default)? {
        return Ok(default);
    }
    loop {
        let answer = ask(host, &call, details.clone())?;
        if let ("", Some(default)) = (answer.as_str(), default) {
            return Ok(default.clone());
        }
        let chosen = choices.iter().find(|(key, _)| *key == answer.trim());
        if let Some((_, item)) = chosen {
            return Ok(item.clone());
        }
    }
}
