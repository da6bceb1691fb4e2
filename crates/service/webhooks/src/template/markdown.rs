//! Mattermost and Rocket.Chat, which interpret Markdown, names after `@` and URLs in every text.

use serde_json::{Value, json};

use crate::notice::{ChatNotice, NoticeTone};

/// Invisible; separates characters that would otherwise be interpreted together.
const ZERO_WIDTH_SPACE: char = '\u{200b}';

pub(super) fn mattermost(notice: &ChatNotice) -> Value {
    json!({
        "text": escape(&notice.title),
        "attachments": [{
            "fallback": escape(&notice.title),
            "color": color(notice.tone),
            "fields": fields(notice),
        }],
    })
}

pub(super) fn rocket_chat(notice: &ChatNotice) -> Value {
    json!({
        "text": escape(&notice.title),
        "parseUrls": false,
        "attachments": [{
            "color": color(notice.tone),
            "fields": fields(notice),
        }],
    })
}

fn fields(notice: &ChatNotice) -> Vec<Value> {
    let facts = notice.facts.iter();
    facts
        .map(|(name, text)| json!({"title": name, "value": escape(text), "short": *name != "Message"}))
        .collect()
}

fn color(tone: NoticeTone) -> &'static str {
    match tone {
        NoticeTone::Good => "#2e7d32",
        NoticeTone::Bad => "#c62828",
        NoticeTone::Neutral => "#607d8b",
    }
}

/// Escapes a text so that no part of it is interpreted as markup, a mention, an emoji or a URL.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '<' | '>' | '#' | '+'
            | '!' | '|' | '~' => {
                escaped.extend(['\\', c]);
            }
            '@' | ':' => escaped.extend([c, ZERO_WIDTH_SPACE]),
            // `www.` starts a URL, too.
            '.' if escaped.ends_with("www") => escaped.extend([ZERO_WIDTH_SPACE, c]),
            c => escaped.push(c),
        }
    }
    escaped
}
