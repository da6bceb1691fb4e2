//! Requests that a stock pxp-agent cannot carry out: [`refusal_reason`].
//!
//! A pxp-agent puts parameters into environment variables unless the task takes them from standard
//! input alone. Linux refuses a variable of more than 128 KiB, and then the agent (1.15.25) dies, or
//! the task ends with exit code 7, so such a request is refused before it is sent.

use pxp::action;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::defaults::VARIABLE_BYTES;

/// Name of a variable without the parameter's own name.
const PREFIX_BYTES: usize = "PT_=".len();

/// The reason to send this action to no stock agent, for an error message. `None` for the others.
pub(crate) fn refusal_reason(module: &str, params: &RawValue) -> Option<String> {
    if module != "task" || params.get().len() < VARIABLE_BYTES {
        return None;
    }
    let params: Value = action::decode(params).ok()?;
    if !uses_environment(&params) {
        return None;
    }
    let input = params["input"].as_object()?;
    let (name, bytes) = input
        .iter()
        .map(|(name, value)| (name, variable_bytes(name, value)))
        .find(|(_, bytes)| *bytes > VARIABLE_BYTES)?;
    Some(format!(
        "its parameter `{name}` needs {bytes} bytes as an environment variable, and a pxp-agent would die of more \
         than {VARIABLE_BYTES}; set `input_method` to `stdin` in the metadata of the task"
    ))
}

/// Bytes of the variable with its name and the final NUL. A pxp-agent passes strings as they are and
/// other values as JSON.
fn variable_bytes(name: &str, value: &Value) -> usize {
    let text = match value {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    PREFIX_BYTES + name.len() + text + 1
}

/// True if an implementation of the task may get its parameters in environment variables.
fn uses_environment(params: &Value) -> bool {
    let metadata = &params["metadata"];
    let general = [&params["input_method"], &metadata["input_method"]]
        .into_iter()
        .find_map(Value::as_str);
    let implementations = metadata["implementations"].as_array();
    let mut methods = implementations
        .into_iter()
        .flatten()
        .map(|one| one["input_method"].as_str().or(general))
        .chain(implementations.is_none_or(Vec::is_empty).then_some(general));
    methods.any(|method| !matches!(method, Some("stdin" | "powershell")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(module: &str, params: &Value) -> Option<String> {
        let raw = serde_json::value::to_raw_value(params).expect("a value is JSON");
        refusal_reason(module, &raw)
    }

    #[test]
    fn a_variable_that_linux_refuses_is_named_unless_standard_input_is_used() {
        let large = "x".repeat(VARIABLE_BYTES);
        let with =
            |metadata: Value| json!({"input": {"a": 1, "text": large}, "metadata": metadata});
        for metadata in [
            json!({}),
            json!({"input_method": "both"}),
            json!({"input_method": "environment"}),
            json!({"implementations": [{"name": "a.sh"}]}),
            json!({"input_method": "stdin", "implementations": [{"name": "a", "input_method": "both"}]}),
        ] {
            let words = refused("task", &with(metadata.clone())).expect("too large");
            assert!(
                words.starts_with("its parameter `text` needs 131"),
                "{metadata}: {words}"
            );
        }
        for metadata in [
            json!({"input_method": "stdin"}),
            json!({"input_method": "both", "implementations": [{"name": "a", "input_method": "stdin"}]}),
        ] {
            assert_eq!(refused("task", &with(metadata.clone())), None, "{metadata}");
        }
        assert_eq!(refused("command", &with(json!({}))), None);
    }

    #[test]
    fn the_largest_variable_is_sent() {
        let largest = VARIABLE_BYTES - "PT_text=".len() - 1;
        let of = |bytes| json!({"input": {"text": "x".repeat(bytes)}, "metadata": {}});
        assert_eq!(refused("task", &of(largest)), None);
        assert!(refused("task", &of(largest + 1)).is_some());
        let many =
            json!({"input": {"a": "x".repeat(100_000), "b": vec!["y"; 20_000]}, "metadata": {}});
        assert_eq!(refused("task", &many), None);
    }
}
