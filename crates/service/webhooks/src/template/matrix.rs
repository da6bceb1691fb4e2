//! Matrix with generic webhooks of matrix-hookshot, which accept a text and its HTML form.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::markdown::escape;
use crate::notice::ChatNotice;

pub(super) fn render(notice: &ChatNotice) -> Value {
    let (mut text, mut html) = (escape(&notice.title), String::new());
    let _ = write!(html, "<strong>{}</strong>", escape_html(&notice.title));
    for (name, fact) in &notice.facts {
        let _ = write!(text, "\n{name}: {}", escape(fact));
        let _ = write!(html, "<br>{name}: {}", escape_html(fact));
    }
    json!({"text": text, "html": html})
}

/// Converts a text to HTML. `@` is separated from the name after it, because mentions are searched
/// for in the text as well.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('@', "@\u{200b}")
}
