//! Catalogs as text, in the form of manifests: [`resources`].

use serde_json::Value as Json;

use cli::terminal;

/// Lines that show the resources of a catalog, without classes and stages that only contain others.
pub(super) fn resources(document: &Json) -> Vec<String> {
    let mut lines = Vec::new();
    for resource in document["resources"].as_array().into_iter().flatten() {
        let part = |key: &str| resource[key].as_str().unwrap_or_default();
        let parameters = resource["parameters"].as_object();
        if matches!(part("title"), "main" | "Settings") && matches!(part("type"), "Class" | "Stage")
        {
            continue;
        }
        let head = format!(
            "{} {{ '{}':",
            part("type").to_lowercase(),
            terminal::escape_control(part("title"))
        );
        let sensitive: Vec<&str> = resource["sensitive_parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .collect();
        let Some(parameters) = parameters else {
            lines.push(format!("{head} }}"));
            continue;
        };
        lines.push(head);
        let width = parameters.keys().map(String::len).max().unwrap_or_default();
        for (name, value) in parameters {
            let shown = match sensitive.contains(&name.as_str()) {
                true => "Sensitive".to_owned(),
                false => shown(value),
            };
            lines.push(format!("  {name:width$} => {shown},"));
        }
        lines.push("}".to_owned());
    }
    lines
}

/// A value as manifests write it; texts have one line.
pub(super) fn shown(value: &Json) -> String {
    match value {
        Json::Null => "undef".to_owned(),
        Json::String(text) => quoted(text),
        Json::Array(values) => {
            let values: Vec<String> = values.iter().map(shown).collect();
            format!("[{}]", values.join(", "))
        }
        Json::Object(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(key, value)| format!("{} => {}", quoted(key), shown(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let escaped = text
        .replace('\\', "\\\\")
        .replace('\'', "\\'")
        .replace('\n', "\\n");
    format!("'{}'", terminal::escape_control(&escaped))
}
