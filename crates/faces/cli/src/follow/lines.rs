//! Live output as whole lines, node by node. Main type: [`LiveLines`].
//!
//! Invariant: a line is printed once, and what was printed live is not printed again as a result.
//! Output that starts with `{` is taken for a structured result, which is shown when it is
//! complete.

use std::collections::HashMap;

use api_types::LiveOutput;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::terminal::{error_output, escape_control, escaped_name, style_dim};
use crate::values::{PROGRAM_KEYS, is_program_result};

/// Prefix of Puppet's error messages.
const ERROR: &str = "Error: ";
/// Prefixes of Puppet's other messages.
const NO_ERROR: [&str; 4] = ["Warning: ", "Notice: ", "Info: ", "Debug: "];
/// Error messages of a node that are remembered; a report names four of them.
const ERRORS_MAX: usize = 16;
/// Bytes remembered of one error message; a report has 1 KiB of it.
const ERROR_BYTES_MAX: usize = 4 << 10;

/// Size of the pieces in which a line without an end is printed.
const LINE_BYTES_MAX: usize = 4 << 10;

#[derive(Debug, Default)]
pub(crate) struct LiveLines {
    nodes: HashMap<String, NodeOutput>,
}

#[derive(Debug, Default)]
struct NodeOutput {
    stdout: OutputStream,
    stderr: OutputStream,
    /// Error messages printed so far, without [`ERROR`].
    errors: Vec<String>,
}

#[derive(Debug, Default)]
struct OutputStream {
    partial: Vec<u8>,
    /// Bytes received from the start without a gap.
    seen_bytes: u64,
    gap: bool,
    structured: bool,
}

/// The remaining output of a node when it ends.
#[derive(Debug)]
pub(crate) struct RemainingOutput {
    /// The unfinished lines of its streams.
    pub lines: Vec<String>,
    /// Its error messages that are on the screen already.
    pub errors: Vec<String>,
    stdout_seen: Option<u64>,
    stderr_seen: Option<u64>,
}

// === impl LiveLines ===

impl LiveLines {
    /// The lines that this chunk completes, ready to print.
    pub(crate) fn push(&mut self, output: &LiveOutput) -> Vec<String> {
        let bytes = match (&output.data, &output.data_base64) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(base64)) => STANDARD.decode(base64).unwrap_or_default(),
            (None, None) => return Vec::new(),
        };
        let is_stderr = output.stream == "stderr";
        let node = self.nodes.entry(output.node.clone()).or_default();
        let stream = if is_stderr {
            &mut node.stderr
        } else {
            &mut node.stdout
        };
        let lines = stream.push(output.offset, &bytes);
        for line in &lines {
            remember(&mut node.errors, &String::from_utf8_lossy(line));
        }
        lines
            .iter()
            .map(|line| label_line(&output.node, line, is_stderr))
            .collect()
    }

    pub(crate) fn finish(&mut self, node: &str) -> RemainingOutput {
        let Some(state) = self.nodes.remove(node) else {
            return RemainingOutput {
                lines: Vec::new(),
                errors: Vec::new(),
                stdout_seen: None,
                stderr_seen: None,
            };
        };
        let (stdout_seen, stderr_seen) = (state.stdout.seen_bytes(), state.stderr.seen_bytes());
        let mut lines = Vec::new();
        for (stream, is_stderr) in [(state.stdout, false), (state.stderr, true)] {
            if !stream.partial.is_empty() {
                lines.push(label_line(node, &stream.partial, is_stderr));
            }
        }
        RemainingOutput {
            lines,
            errors: state.errors,
            stdout_seen,
            stderr_seen,
        }
    }
}

// === impl OutputStream ===

impl OutputStream {
    /// Number of bytes on the screen, if none before them are missing.
    fn seen_bytes(&self) -> Option<u64> {
        Some(self.seen_bytes).filter(|_| !self.gap && !self.structured)
    }

    fn push(&mut self, offset: u64, bytes: &[u8]) -> Vec<Vec<u8>> {
        // A resumed stream may repeat bytes that are already on the screen.
        let known = usize::try_from(self.seen_bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let Some(new) = bytes.get(known..).filter(|new| !new.is_empty()) else {
            return Vec::new();
        };
        self.gap |= offset > self.seen_bytes;
        self.structured |= self.seen_bytes == 0 && offset == 0 && new.starts_with(b"{");
        if self.structured {
            self.seen_bytes = 1;
            return Vec::new();
        }
        self.seen_bytes = offset.max(self.seen_bytes) + new.len() as u64;
        self.partial.extend_from_slice(new);
        let mut lines = Vec::new();
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let mut line: Vec<u8> = self.partial.drain(..=end).collect();
            line.pop();
            lines.push(line);
        }
        if self.partial.len() > LINE_BYTES_MAX {
            lines.push(std::mem::take(&mut self.partial));
        }
        lines
    }
}

// === impl RemainingOutput ===

impl RemainingOutput {
    /// The result without the output that was on the screen already.
    pub(crate) fn without_seen_output(&self, result: &Value) -> Value {
        let output = result["_output"].as_str();
        let all_seen = output.is_some_and(|output| {
            self.stdout_seen
                .is_some_and(|seen| seen >= output.len() as u64)
        });
        if let Some(fields) = result
            .as_object()
            .filter(|fields| is_program_result(fields))
        {
            return self.without_seen_streams(fields);
        }
        let mut result = result.clone();
        if let (true, Value::Object(fields)) = (all_seen, &mut result) {
            fields.remove("_output");
            if fields.is_empty() {
                return Value::Null;
            }
        }
        result
    }
}

impl RemainingOutput {
    /// The result of a command, without its output if both streams were on the screen already.
    fn without_seen_streams(&self, fields: &Map<String, Value>) -> Value {
        let is_seen = |key: &str, seen: Option<u64>| {
            let bytes = fields.get(key).and_then(Value::as_str).map_or(0, str::len);
            bytes == 0 || seen.is_some_and(|seen| seen >= bytes as u64)
        };
        let mut left = fields.clone();
        if is_seen("stdout", self.stdout_seen) && is_seen("stderr", self.stderr_seen) {
            left.retain(|key, _| !PROGRAM_KEYS.contains(&key.as_str()));
        }
        match left.is_empty() {
            true => Value::Null,
            false => Value::Object(left),
        }
    }
}

/// Remembers an error message. A line without one of Puppet's prefixes continues the line before.
fn remember(errors: &mut Vec<String>, line: &str) {
    if let Some(text) = line.strip_prefix(ERROR) {
        if errors.len() < ERRORS_MAX {
            errors.push(text.trim_end().to_owned());
        }
    } else if NO_ERROR.iter().any(|word| line.starts_with(word)) {
        // The following lines are not part of the error message.
        if errors.last().is_some_and(|last| !last.is_empty()) {
            errors.push(String::new());
        }
    } else if let Some(last) = errors.last_mut().filter(|last| !last.is_empty())
        && last.len() + line.len() < ERROR_BYTES_MAX
    {
        last.push('\n');
        last.push_str(line.trim_end());
    }
}

fn label_line(node: &str, line: &[u8], is_stderr: bool) -> String {
    let text = escape_control(String::from_utf8_lossy(line).trim_end_matches('\r'));
    let text = if is_stderr { error_output(text) } else { text };
    format!("{} {} {text}", escaped_name(node), style_dim("│"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn chunk(offset: u64, data: &str) -> LiveOutput {
        LiveOutput {
            node: "n1".to_owned(),
            stream: "stdout".to_owned(),
            offset,
            data: Some(data.to_owned()),
            data_base64: None,
        }
    }

    fn plain(lines: Vec<String>) -> Vec<String> {
        lines
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect()
    }

    #[test]
    fn chunks_become_lines() {
        let mut lines = LiveLines::default();
        assert_eq!(plain(lines.push(&chunk(0, "one\ntw"))), ["n1 │ one"]);
        assert_eq!(plain(lines.push(&chunk(6, "o\nthree"))), ["n1 │ two"]);
        assert_eq!(plain(lines.finish("n1").lines), ["n1 │ three"]);
    }

    #[test]
    fn what_was_seen_is_not_shown_again() {
        let mut lines = LiveLines::default();
        lines.push(&chunk(0, "a\n"));
        assert!(lines.push(&chunk(0, "a\n")).is_empty());
        let rest = lines.finish("n1");
        assert_eq!(
            rest.without_seen_output(&json!({"_output": "a\n"})),
            Value::Null
        );
        assert_eq!(
            rest.without_seen_output(&json!({"_output": "a\nb\n"})),
            json!({"_output": "a\nb\n"})
        );
    }

    #[test]
    fn what_a_node_complained_of_is_remembered_within_bounds() {
        let complained = |text: &str| {
            let mut lines = LiveLines::default();
            lines.push(&chunk(0, text));
            lines.finish("n1").errors
        };
        let text = "Notice: x\nError: no light\nWrapped:\nno bulb\nNotice: y\nz\nError: dark\n";
        let errors = complained(text);
        let told: Vec<_> = errors.iter().filter(|error| !error.is_empty()).collect();
        assert_eq!(told, ["no light\nWrapped:\nno bulb", "dark"]);
        assert_eq!(complained(&"Error: more\n".repeat(100)).len(), ERRORS_MAX);
        let long = complained(&("Error: more\n".to_owned() + &"x\n".repeat(10_000)));
        assert!(long[0].len() <= ERROR_BYTES_MAX, "{}", long[0].len());
    }

    #[test]
    fn after_a_gap_the_result_is_shown_whole() {
        let mut lines = LiveLines::default();
        lines.push(&chunk(5, "late\n"));
        let result = json!({"_output": "text\nlate\n"});
        assert_eq!(lines.finish("n1").without_seen_output(&result), result);
    }

    #[test]
    fn a_structured_result_waits_until_it_is_complete() {
        let mut lines = LiveLines::default();
        assert!(lines.push(&chunk(0, "{\"a\":\n")).is_empty());
        assert!(lines.push(&chunk(6, "1}\n")).is_empty());
        let rest = lines.finish("n1");
        assert!(rest.lines.is_empty());
        assert_eq!(rest.without_seen_output(&json!({"a": 1})), json!({"a": 1}));
    }

    #[test]
    fn the_output_of_a_command_is_not_shown_again() {
        let result = |code: i64| json!({"stdout": "a\n", "stderr": "", "merged_output": "a\n", "exit_code": code});
        let mut lines = LiveLines::default();
        lines.push(&chunk(0, "a\n"));
        assert_eq!(
            lines.finish("n1").without_seen_output(&result(0)),
            Value::Null
        );
        let mut unseen = result(1);
        unseen["_error"] = json!({"msg": "no"});
        let mut lines = LiveLines::default();
        lines.push(&chunk(0, "a\n"));
        assert_eq!(
            lines.finish("n1").without_seen_output(&unseen),
            json!({"_error": {"msg": "no"}})
        );
        assert_eq!(
            LiveLines::default()
                .finish("n1")
                .without_seen_output(&unseen),
            unseen
        );
    }

    #[test]
    fn an_endless_line_is_cut() {
        let mut lines = LiveLines::default();
        assert_eq!(
            lines.push(&chunk(0, &"x".repeat(LINE_BYTES_MAX + 1))).len(),
            1
        );
    }
}
