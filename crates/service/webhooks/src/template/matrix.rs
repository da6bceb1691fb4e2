//! Matrix by generic webhooks of matrix-hookshot, which take a text and the same as HTML.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::markdown::escaped;
use crate::notice::Notice;

pub(super) fn render(notice: &Notice) -> Value {
    let (mut text, mut html) = (escaped(&notice.title), String::new());
    let _ = write!(html, "<strong>{}</strong>", escaped_html(&notice.title));
    for (name, fact) in &notice.facts {
        let _ = write!(text, "\n{name}: {}", escaped(fact));
        let _ = write!(html, "<br>{name}: {}", escaped_html(fact));
    }
    json!({"text": text, "html": html})
}

/// The text in HTML; a name behind `@` is parted from it, since it is looked for in the text as well.
fn escaped_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('@', "@\u{200b}")
}
