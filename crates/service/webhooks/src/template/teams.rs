//! Microsoft Teams: an Adaptive Card, as workflows with the trigger "When a Teams webhook request
//! is received" accept it.
//!
//! Text blocks and fact sets interpret Markdown, but runs of a rich text block do not; so only the
//! latter are used.

use serde_json::{Value, json};

use crate::notice::{ChatNotice, NoticeTone};

pub(super) fn render(notice: &ChatNotice) -> Value {
    let color = match notice.tone {
        NoticeTone::Good => "Good",
        NoticeTone::Bad => "Attention",
        NoticeTone::Neutral => "Default",
    };
    let title = json!({"type": "TextRun", "text": notice.title, "weight": "Bolder", "size": "Medium", "color": color});
    let lines = notice.facts.iter().map(|(name, text)| {
        text_block(vec![
            json!({"type": "TextRun", "text": format!("{name}: "), "weight": "Bolder"}),
            json!({"type": "TextRun", "text": text}),
        ])
    });
    let body: Vec<Value> = std::iter::once(text_block(vec![title]))
        .chain(lines)
        .collect();
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": body,
                "msteams": {"width": "Full"},
            },
        }],
    })
}

fn text_block(inlines: Vec<Value>) -> Value {
    json!({"type": "RichTextBlock", "inlines": inlines, "spacing": "Small"})
}
