//! Formats times, durations and results. Main functions: [`duration`], [`result_lines`].

use std::fmt::Display;

use serde_json::{Map, Value};

use crate::terminal::escape_control;

/// `0.42 s`, `12 s`, `3 min 05 s`, `2 h 07 min`.
pub(crate) fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match whole {
        0..=9 => format!("{seconds:.2} s"),
        10..=59 => format!("{whole} s"),
        60..=3599 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// A value, or nothing.
pub(crate) fn or_empty(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// Text unchanged, other values as JSON in one line.
pub(crate) fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The first line of a text.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A time, or `never`.
pub(crate) fn or_never(time: Option<impl Display>) -> String {
    time.map_or_else(|| "never".to_owned(), |time| time.to_string())
}

/// `1 row`, `2 rows`.
pub(crate) fn format_count(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// A result as lines of `key : value`; plain output unchanged; nested values as JSON.
pub(crate) fn result_lines(result: &Value) -> Vec<String> {
    let Value::Object(fields) = result else {
        return text_lines(result);
    };
    if let Some(lines) = program_lines(fields) {
        return lines;
    }
    let mut lines = Vec::new();
    let width = fields
        .keys()
        .filter(|key| !key.starts_with('_'))
        .map(|key| key.chars().count())
        .max();
    for (key, value) in fields {
        match key.as_str() {
            "_output" => lines.extend(text_lines(value)),
            "_output_info" => lines.extend(info_lines(value)),
            "_error" => lines.extend(error_lines(value)),
            key => {
                let mut value = text_lines(value).into_iter();
                let pad = " ".repeat(width.unwrap_or(0).saturating_sub(key.chars().count()));
                lines.push(format!(
                    "{}{pad} : {}",
                    escape_control(key),
                    value.next().unwrap_or_default()
                ));
                lines.extend(
                    value.map(|line| format!("{}   {line}", " ".repeat(width.unwrap_or(0)))),
                );
            }
        }
    }
    lines
}

/// True for the result of a command or script: its output in three forms, and its exit code.
pub(crate) fn is_program_result(fields: &Map<String, Value>) -> bool {
    let is_known = |key: &String| PROGRAM_KEYS.contains(&key.as_str()) || key.starts_with('_');
    fields.contains_key("merged_output") && fields.keys().all(is_known)
}

/// Keys of the result of a command or script, beside keys that start with `_`.
pub(crate) const PROGRAM_KEYS: [&str; 4] = ["stdout", "stderr", "merged_output", "exit_code"];

/// The unchanged output of a command or script, and its error, which names the exit code.
fn program_lines(fields: &Map<String, Value>) -> Option<Vec<String>> {
    if !is_program_result(fields) {
        return None;
    }
    let mut lines = text_lines(&fields["merged_output"]);
    lines.extend(fields.get("_output_info").into_iter().flat_map(info_lines));
    lines.extend(fields.get("_error").into_iter().flat_map(error_lines));
    Some(lines)
}

/// Notes that the output was truncated, or is not text.
fn info_lines(info: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if info["truncated"] == true {
        let bytes = &info["bytes"];
        lines.push(format!("(the output is truncated; it had {bytes} bytes)"));
    }
    if info["encoding"] == "binary" {
        lines.push("(the output is not UTF-8; --format json has its exact bytes)".to_owned());
    }
    lines
}

fn error_lines(error: &Value) -> Vec<String> {
    let kind = error["kind"].as_str().unwrap_or_default();
    let message = error["msg"].as_str().unwrap_or("failed without a message");
    let mut lines: Vec<_> = message.lines().map(escape_control).collect();
    if !kind.is_empty() {
        lines.push(format!("({})", escape_control(kind)));
    }
    lines
}

fn text_lines(value: &Value) -> Vec<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => {
            serde_json::to_string_pretty(value).unwrap_or_else(|_| value.to_string())
        }
        other => other.to_string(),
    };
    text.trim_end().lines().map(escape_control).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_read_well() {
        let read: Vec<_> = [0.4218, 12.9, 185.0, 7620.0].map(duration).into();
        assert_eq!(read, ["0.42 s", "12 s", "3 min 05 s", "2 h 07 min"]);
    }

    #[test]
    fn structured_results_line_up() {
        let lines = result_lines(&json!({"status": "installed", "v": 3}));
        assert_eq!(lines, ["status : installed", "v      : 3"]);
    }

    #[test]
    fn plain_output_is_shown_as_it_is_but_harmless() {
        assert_eq!(
            result_lines(&json!({"_output": "a\n\u{1b}b\n"})),
            ["a", "␛b"]
        );
    }

    #[test]
    fn cut_and_binary_output_is_told() {
        let result = json!({"_output": "x", "_output_info": {
            "truncated": true, "bytes": 9, "encoding": "binary", "base64": "eA=="}});
        let lines = result_lines(&result);
        assert_eq!(lines[0], "x");
        assert!(lines[1].contains("9 bytes") && lines[2].contains("UTF-8"));
    }

    #[test]
    fn the_output_of_a_command_is_shown_once() {
        let ended = json!({"stdout": "a\n", "stderr": "b\n", "merged_output": "a\nb\n", "exit_code": 3,
            "_error": {"msg": "The command failed with exit code 3", "kind": "puppetlabs.tasks/command-error"}});
        let error = "The command failed with exit code 3";
        assert_eq!(
            result_lines(&ended),
            ["a", "b", error, "(puppetlabs.tasks/command-error)"]
        );
        let task = json!({"merged_output": "x", "other": 1});
        assert_eq!(
            result_lines(&task),
            ["merged_output : x", "other         : 1"]
        );
    }

    #[test]
    fn an_error_says_its_kind() {
        let error = json!({"_error": {"msg": "no", "kind": "puppetlabs.tasks/task-error"}});
        assert_eq!(
            result_lines(&error),
            ["no", "(puppetlabs.tasks/task-error)"]
        );
    }
}
