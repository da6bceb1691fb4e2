//! Syntax check of heredocs with a declared syntax, such as `@(END:json)`.

/// Checks the text of a heredoc; the error describes the mistake. A syntax without a checker is
/// accepted.
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
