//! Discord's webhooks: an embed, with all mentions disabled.

use serde_json::{Value, json};

use super::markdown::escape;
use crate::notice::{ChatNotice, NoticeTone};

/// Maximum lengths of an embed's title and of a field, in characters.
const TITLE_CHARS: usize = 256;
const FIELD_CHARS: usize = 1_024;

pub(super) fn render(notice: &ChatNotice) -> Value {
    let color = match notice.tone {
        NoticeTone::Good => 0x002e_7d32,
        NoticeTone::Bad => 0x00c6_2828,
        NoticeTone::Neutral => 0x0060_7d8b,
    };
    let facts = notice.facts.iter().filter(|(_, text)| !text.is_empty());
    let fields: Vec<Value> = facts
        .map(|(name, text)| {
            let value = truncate_text(&escape(text), FIELD_CHARS);
            json!({"name": name, "value": value, "inline": *name != "Message"})
        })
        .collect();
    json!({
        "embeds": [{"title": truncate_text(&escape(&notice.title), TITLE_CHARS), "color": color, "fields": fields}],
        "allowed_mentions": {"parse": []},
    })
}

/// Truncates a text to `chars` characters, without half an escape sequence at the end.
fn truncate_text(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    let kept: String = text.chars().take(chars - 1).collect();
    format!("{}…", kept.trim_end_matches('\\'))
}
