//! Slack's incoming webhooks: a header and fields, all of them plain text.
//!
//! Slack interprets neither markup nor mentions in `plain_text`; the fallback text for
//! notifications is escaped as its documentation requires.

use serde_json::{Value, json};

use crate::notice::ChatNotice;

/// Maximum length of a header's text, in characters.
const HEADER_CHARS: usize = 150;

/// Maximum number of fields of a section.
const FIELDS: usize = 10;

pub(super) fn render(notice: &ChatNotice) -> Value {
    let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
    let fields = notice.facts.iter().filter(|(name, _)| *name != "Message");
    let fields: Vec<Value> = fields
        .take(FIELDS)
        .map(|(name, text)| plain(&format!("{name}\n{text}")))
        .collect();
    let header: String = notice.title.chars().take(HEADER_CHARS).collect();
    let mut blocks = vec![json!({"type": "header", "text": plain(&header)})];
    if !fields.is_empty() {
        blocks.push(json!({"type": "section", "fields": fields}));
    }
    let message = notice.facts.iter().find(|(name, _)| *name == "Message");
    if let Some((_, text)) = message.filter(|(_, text)| !text.is_empty()) {
        blocks.push(json!({"type": "section", "text": plain(text)}));
    }
    json!({
        "text": escape(&notice.title),
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "blocks": blocks,
    })
}

/// Escapes the three characters that Slack requires to be escaped.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
