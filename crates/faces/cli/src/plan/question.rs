//! Questions of a plan to a person. Main type: [`PlanPrompt`].
//!
//! Invariant: a question is only answered after it was asked; without a terminal, instructions for
//! the answer are printed.

use std::io::IsTerminal as _;

use api_types::{PlanEvent, PlanStep};
use dialoguer::{Confirm, Input, Password};
use serde_json::Value;

use crate::failure::usage;
use crate::terminal::{self, escape_control, escaped_name};
use crate::values::plain;
use crate::{CommandFailure, Result, access};

/// A question, and the answers that it accepts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlanPrompt {
    pub(super) step: String,
    pub(super) text: String,
    /// True if the answer must not be echoed.
    pub(super) sensitive: bool,
    /// True for a yes-or-no question.
    pub(super) approval: bool,
    /// The answer if the input is empty.
    default: Option<String>,
    /// Keys with their labels; empty if any text is accepted.
    menu: Vec<(String, String)>,
}

// === impl PlanPrompt ===

impl PlanPrompt {
    /// Reads the question of an event.
    pub(super) fn from_event(event: &PlanEvent) -> Option<Self> {
        // Other kinds name a step too: that one was answered, or resumed.
        if matches!(event.kind.as_str(), "answered" | "plan_resumed") {
            return None;
        }
        let step = event.details.get("step")?.as_str()?;
        let details = Value::Object(event.details.clone());
        Some(Self::new(step, &event.message, &details))
    }

    /// Reads the question of a waiting step.
    pub(super) fn from_step(step: &PlanStep) -> Self {
        let text = step.arguments["prompt"].as_str();
        let mut question = Self::new(&step.step, text.unwrap_or(&step.kind), &step.arguments);
        question.sensitive |= step.sensitive == Some(true);
        question
    }

    fn new(step: &str, text: &str, details: &Value) -> Self {
        let menu = details["menu"].as_object().into_iter().flatten();
        let default = details.get("default");
        Self {
            step: step.to_owned(),
            text: text.to_owned(),
            sensitive: details["sensitive"] == Value::Bool(true),
            approval: details["approval"] == Value::Bool(true),
            default: default.filter(|value| !value.is_null()).map(plain),
            menu: menu.map(|(key, text)| (key.clone(), plain(text))).collect(),
        }
    }

    /// True if standard input and output are a terminal.
    pub(super) fn can_be_asked() -> bool {
        terminal::is_interactive() && std::io::stdin().is_terminal()
    }

    /// The command that answers the question.
    pub(super) fn hint(&self, number: &str) -> String {
        let answer = if self.approval {
            "[--deny]"
        } else {
            "--answer TEXT"
        };
        format!(
            "the plan waits for an answer: tutti plan approve {} {} {answer}",
            escape_control(number),
            escape_control(&self.step)
        )
    }

    /// Prints the choices, one per line.
    pub(super) fn print_choices(&self) {
        for (key, text) in &self.menu {
            say!("  {}  {}", escaped_name(key), escape_control(text));
        }
    }

    /// Asks at the terminal until the answer is valid. Blocks.
    pub(super) fn ask(&self) -> Result<Value> {
        let failed =
            |error: dialoguer::Error| CommandFailure::Usage(format!("not answered: {error}"));
        let default = self.default.as_deref().map(escape_control);
        let default = default.map_or_else(String::new, |default| format!(" [{default}]"));
        let prompt = format!("{}{default}", escape_control(&self.text));
        if self.approval {
            let confirm = Confirm::new().with_prompt(prompt);
            return Ok(Value::Bool(confirm.interact().map_err(failed)?));
        }
        loop {
            let text = if self.sensitive {
                let password = Password::new().with_prompt(&prompt);
                password.allow_empty_password(true).interact()
            } else {
                let input = Input::<String>::new().with_prompt(&prompt);
                input.allow_empty(true).interact_text()
            };
            let text = text.map_err(failed)?;
            if self.takes(&text) {
                return Ok(Value::String(text));
            }
        }
    }

    /// Checks an answer from the command line; `-` reads a line of standard input, and is required
    /// for a secret, since all users of the machine can see arguments.
    pub(super) fn parse_answer(&self, text: &str) -> Result<Value> {
        let text = match text {
            "-" => access::login::read_line()?,
            _ if self.sensitive => {
                return usage(
                    "it asks for a secret, which must not be an argument; give it on standard input, with \
                            --answer -",
                );
            }
            text => text.to_owned(),
        };
        if !self.takes(&text) {
            let keys = self.menu.iter().map(|(key, _)| escape_control(key));
            let keys: Vec<_> = keys.collect();
            return usage(format!(
                "`{}` is none of {}",
                escape_control(&text),
                keys.join(", ")
            ));
        }
        Ok(Value::String(text))
    }

    fn takes(&self, text: &str) -> bool {
        let known = || self.menu.iter().any(|(key, _)| key == text);
        self.menu.is_empty() || known() || (text.is_empty() && self.default.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(kind: &str, details: Value) -> PlanEvent {
        let event = json!({"id": "1", "type": kind, "timestamp": "2026-11-22T10:00:00Z",
            "details": details, "message": "Which one?"});
        serde_json::from_value(event).unwrap()
    }

    #[test]
    fn a_question_is_told_from_what_else_names_a_step() {
        for kind in ["answered", "plan_resumed"] {
            assert_eq!(
                PlanPrompt::from_event(&event(kind, json!({"step": "2"}))),
                None
            );
        }
        assert_eq!(
            PlanPrompt::from_event(&event("out_message", json!({}))),
            None
        );
        let asked = event(
            "prompt",
            json!({"step": "2.1", "sensitive": true, "default": 3}),
        );
        let question = PlanPrompt::from_event(&asked).unwrap();
        assert_eq!((question.step.as_str(), question.sensitive), ("2.1", true));
        assert_eq!(question.text, "Which one?");
        assert_eq!(question.default.as_deref(), Some("3"));
    }

    #[test]
    fn a_menu_takes_its_keys_and_nothing_where_there_is_a_default() {
        let menu = json!({"step": "1", "menu": {"1": "blue", "2": "red"}});
        let question = PlanPrompt::from_event(&event("prompt", menu)).unwrap();
        assert_eq!(question.parse_answer("2").unwrap(), json!("2"));
        let refused = question.parse_answer("red").unwrap_err().to_string();
        assert!(refused.contains("none of 1, 2"), "{refused}");
        assert!(question.parse_answer("").is_err());
        let menu = json!({"step": "1", "menu": {"1": "blue"}, "default": "blue"});
        let question = PlanPrompt::from_event(&event("prompt", menu)).unwrap();
        assert_eq!(question.parse_answer("").unwrap(), json!(""));
        assert_eq!(question.menu.len(), 1);
    }
}
