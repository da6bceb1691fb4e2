//! Heredocs that say what they hold, `@(END:json)`: the text is checked when it is known.

/// Why a text is not what its heredoc says. A syntax that nobody checks is fine.
pub(crate) fn check(syntax: &str, text: &str) -> Result<(), String> {
    if syntax != "json" {
        return Ok(());
    }
    match serde_json::from_str::<serde_json::Value>(text) {
        Ok(_) => Ok(()),
        Err(cause) => Err(format!(
            "Invalid produced text having syntax: 'json'. JSON syntax checker: Cannot parse invalid JSON string. {cause}"
        )),
    }
}
