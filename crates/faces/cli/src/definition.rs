//! The definition of a task or plan: its description and its parameters. Main type:
//! [`RunnableDefinition`].

use api_types::Object;
use serde_json::Value;

use crate::terminal::{escape_control, escaped_heading, escaped_name, style_dim};

/// A task or plan with its metadata.
pub(crate) struct RunnableDefinition<'a> {
    pub(crate) name: &'a str,
    pub(crate) metadata: &'a Object,
    /// The default of a parameter as text, if it has one.
    pub(crate) default: fn(&Value) -> Option<String>,
    /// True if a parameter must be given.
    pub(crate) is_required: fn(&Value) -> bool,
}

// === impl RunnableDefinition ===

impl RunnableDefinition<'_> {
    pub(crate) fn print_heading(&self) {
        let description = self.metadata.get("description").and_then(Value::as_str);
        let description = escape_control(description.unwrap_or_default());
        say!("{}  {description}\n", escaped_heading(self.name));
    }

    /// The required parameters, as they are typed on the command line.
    pub(crate) fn required_arguments(&self) -> String {
        let needed = self
            .parameters()
            .filter(|(_, about)| (self.is_required)(about));
        needed
            .map(|(key, _)| format!(" {}=…", escape_control(key)))
            .collect()
    }

    pub(crate) fn print_parameters(&self) {
        for (key, about) in self.parameters() {
            let kind = about["type"].as_str().unwrap_or("Any");
            let mut notes = vec![escape_control(kind)];
            let default = (self.default)(about);
            notes.extend(default.map(|text| format!("default {}", escape_control(&text))));
            let flags = [
                ("required", (self.is_required)(about)),
                ("sensitive", about["sensitive"] == Value::Bool(true)),
            ];
            let set = flags.into_iter().filter(|(_, is_set)| *is_set);
            notes.extend(set.map(|(flag, _)| flag.to_owned()));
            say!("  {}  {}", escaped_name(key), style_dim(notes.join(", ")));
            if let Some(description) = about["description"].as_str() {
                say!("      {}", escape_control(description));
            }
        }
    }

    fn parameters(&self) -> impl Iterator<Item = (&String, &Value)> {
        let parameters = self.metadata.get("parameters").and_then(Value::as_object);
        parameters.into_iter().flatten()
    }
}
