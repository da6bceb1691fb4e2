//! Matrix by generic webhooks of matrix-hookshot, which take a text and the same as HTML.

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

/// The text in HTML; a name behind `@` is parted from it, since it is looked for in the text as well.
fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('@', "@\u{200b}")
}
