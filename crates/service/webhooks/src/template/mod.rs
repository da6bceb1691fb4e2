//! The format of messages for a receiver: [`MessageTemplate`].
//!
//! Invariant: no receiver interprets the names or texts of tasks, nodes and users as markup, links
//! or mentions. If a chat tool has a format for plain text, that is used; otherwise special
//! characters are escaped.

mod discord;
mod markdown;
mod matrix;
mod slack;
mod teams;

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::notice::ChatNotice;

/// A format of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MessageTemplate {
    /// The complete event as JSON, for programs.
    #[default]
    Json,
    /// Incoming webhooks of Slack.
    Slack,
    /// Workflows of Microsoft Teams: an Adaptive Card.
    Teams,
    /// Incoming webhooks of Mattermost.
    Mattermost,
    /// Incoming integrations of Rocket.Chat.
    RocketChat,
    /// Incoming webhooks of Discord.
    Discord,
    /// Generic webhooks of matrix-hookshot.
    Matrix,
}

/// The error that a text is not the name of a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no template; there are {all}", all = MessageTemplate::ALL.map(MessageTemplate::name).join(", "))]
pub struct TemplateError(String);

// === impl MessageTemplate ===

impl MessageTemplate {
    /// All templates, in the order of their declaration.
    const ALL: [Self; 7] = [
        Self::Json,
        Self::Slack,
        Self::Teams,
        Self::Mattermost,
        Self::RocketChat,
        Self::Discord,
        Self::Matrix,
    ];

    /// The name by which users choose the template.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Mattermost => "mattermost",
            Self::RocketChat => "rocketchat",
            Self::Discord => "discord",
            Self::Matrix => "matrix",
        }
    }

    /// The notice in the format of a chat tool; `None` if the receiver is a program and gets the
    /// event itself.
    pub(crate) fn render(self, notice: &ChatNotice) -> Option<Value> {
        Some(match self {
            Self::Json => return None,
            Self::Slack => slack::render(notice),
            Self::Teams => teams::render(notice),
            Self::Mattermost => markdown::mattermost(notice),
            Self::RocketChat => markdown::rocket_chat(notice),
            Self::Discord => discord::render(notice),
            Self::Matrix => matrix::render(notice),
        })
    }
}

impl fmt::Display for MessageTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for MessageTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        let found = Self::ALL
            .into_iter()
            .find(|template| template.name() == text);
        found.ok_or_else(|| TemplateError(text.chars().take(40).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notice::NoticeTone;

    /// Text that chat tools could interpret as mentions, links or markup.
    const HOSTILE: &str = "<!channel> @channel @everyone <@U1> [x](https://evil.example) *b* _i_ `c` https://evil.example \
                           <at>all</at> & # h\\ ~s~ ||s|| </b><script>";

    fn rendered(template: MessageTemplate) -> Value {
        let notice = ChatNotice {
            title: HOSTILE.to_owned(),
            facts: vec![
                ("Message", HOSTILE.to_owned()),
                ("Owner", "anna".to_owned()),
            ],
            tone: NoticeTone::Bad,
        };
        template.render(&notice).unwrap()
    }

    /// Collects every text in a document, with its path.
    fn texts(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
        match value {
            Value::String(text) => found.push((path.to_owned(), text.clone())),
            Value::Array(items) => items.iter().for_each(|item| texts(item, path, found)),
            Value::Object(entries) => entries
                .iter()
                .for_each(|(key, value)| texts(value, &format!("{path}.{key}"), found)),
            _ => {}
        }
    }

    #[test]
    fn templates_have_names() {
        for template in MessageTemplate::ALL {
            assert_eq!(template.name().parse(), Ok(template));
        }
        let error = "irc".parse::<MessageTemplate>().unwrap_err().to_string();
        assert!(error.contains("slack, teams"), "{error}");
    }

    #[test]
    fn nothing_that_is_told_becomes_a_mention_a_link_or_markup() {
        let mut slack = Vec::new();
        texts(&rendered(MessageTemplate::Slack), "", &mut slack);
        for (path, text) in slack {
            // Blocks are plain text, which Slack does not interpret; the fallback text is escaped
            // as Slack requires.
            if path == ".text" {
                assert!(!text.contains('<') && !text.contains("& "), "{text}");
            }
        }
        let slack = rendered(MessageTemplate::Slack);
        assert!(
            !slack.to_string().contains("\"type\":\"mrkdwn\""),
            "{slack}"
        );
        let teams = rendered(MessageTemplate::Teams).to_string();
        assert!(
            !teams.contains("\"TextBlock\"") && !teams.contains("FactSet"),
            "{teams}"
        );
        for template in [
            MessageTemplate::Mattermost,
            MessageTemplate::RocketChat,
            MessageTemplate::Discord,
        ] {
            let mut found = Vec::new();
            texts(&rendered(template), "", &mut found);
            for (path, text) in found.iter().filter(|(_, text)| text.contains("evil")) {
                for live in [
                    "@channel",
                    "@everyone",
                    "<@U1>",
                    "https://",
                    " *b* ",
                    " _i_ ",
                    "](",
                    " `c`",
                    "||s",
                ] {
                    assert!(!text.contains(live), "{template} {path}: {live} in {text}");
                }
            }
        }
        let discord = rendered(MessageTemplate::Discord);
        assert_eq!(
            discord["allowed_mentions"],
            serde_json::json!({"parse": []})
        );
        let matrix = rendered(MessageTemplate::Matrix);
        let html = matrix["html"].as_str().unwrap();
        assert!(
            html.contains("&lt;script&gt;") && !html.contains("<script>"),
            "{html}"
        );
        assert!(!matrix["text"].as_str().unwrap().contains("@everyone"));
    }

    #[test]
    fn what_is_told_can_still_be_read() {
        for template in MessageTemplate::ALL.into_iter().skip(1) {
            let text = rendered(template).to_string();
            assert!(
                text.contains("anna") && text.contains("Owner"),
                "{template}: {text}"
            );
        }
    }
}
