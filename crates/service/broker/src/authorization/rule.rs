//! One rule: the messages that it matches and the clients that it allows.

use regex::Regex;

use super::name::PolicySubject;
use super::{AuthorizationClient, AuthorizationRequest};

/// The HTTP method of the synthetic request that stands for every message.
const METHOD: &str = "post";
const PATH: &str = "/pcp-broker/send";

#[derive(Clone, Debug)]
pub(super) struct AuthorizationRule {
    pub(super) name: String,
    pub(super) sort_order: u16,
    pub(super) path: PathPattern,
    /// HTTP methods in lower case; empty means any.
    pub(super) methods: Vec<String>,
    pub(super) parameters: Vec<(QueryParameter, Vec<String>)>,
    pub(super) allow: Vec<PolicySubject>,
    pub(super) deny: Vec<PolicySubject>,
    pub(super) allow_unauthenticated: bool,
}

#[derive(Clone, Debug)]
pub(super) enum PathPattern {
    /// Matches every path that begins with this text.
    Prefix(String),
    Regex(Regex),
}

/// The query parameters that a rule can match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryParameter {
    Sender,
    /// Also written `targets`, as in the documentation of pcp-broker.
    Target,
    MessageType,
    /// `false` for every message: the broker sends no destination reports.
    DestinationReport,
}

impl AuthorizationRule {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn matches(&self, request: AuthorizationRequest<'_>) -> bool {
        self.matches_every_message()
            && self.parameters.iter().all(|(parameter, values)| {
                let actual = parameter.value_of(request);
                values.iter().any(|value| value == actual)
            })
    }

    /// True if the rule decides some messages of this type.
    pub(super) fn may_decide(&self, message_type: &str) -> bool {
        self.inert_reason().is_none() && self.names_type(message_type)
    }

    /// True if no later rule applies to messages of this type.
    pub(super) fn always_decides(&self, message_type: &str) -> bool {
        let looks_further = |(parameter, _): &(QueryParameter, Vec<String>)| {
            matches!(parameter, QueryParameter::Sender | QueryParameter::Target)
        };
        self.may_decide(message_type) && !self.parameters.iter().any(looks_further)
    }

    fn names_type(&self, message_type: &str) -> bool {
        let types = self.parameters.iter();
        let mut types = types.filter(|(parameter, _)| *parameter == QueryParameter::MessageType);
        types.all(|(_, values)| values.iter().any(|value| value == message_type))
    }

    /// True if the rule allows the client; `deny` has precedence over `allow`.
    pub(super) fn allows(&self, client: AuthorizationClient<'_>) -> bool {
        self.allow_unauthenticated
            || (!self.deny.iter().any(|entry| entry.matches_client(client))
                && self.allow.iter().any(|entry| entry.matches_client(client)))
    }

    pub(super) fn extension_keys(&self) -> impl Iterator<Item = &str> {
        self.allow
            .iter()
            .chain(&self.deny)
            .flat_map(PolicySubject::extension_keys)
    }

    pub(super) fn inert_reason(&self) -> Option<&'static str> {
        if !self.matches_every_message() {
            return Some(
                "messages are POST /pcp-broker/send for a policy, which it does not match",
            );
        }
        let wants_report = self.parameters.iter().any(|(parameter, values)| {
            *parameter == QueryParameter::DestinationReport && !values.iter().any(|v| v == "false")
        });
        if wants_report {
            return Some("destination reports are never made");
        }
        let wants_multicast = self.parameters.iter().any(|(parameter, values)| {
            *parameter == QueryParameter::Target && values.iter().all(|value| value.contains('*'))
        });
        wants_multicast
            .then_some("messages to several targets are refused before any rule is tried")
    }

    fn matches_every_message(&self) -> bool {
        let fits_path = match &self.path {
            PathPattern::Prefix(prefix) => PATH.starts_with(prefix.as_str()),
            PathPattern::Regex(regex) => regex.is_match(PATH),
        };
        fits_path && (self.methods.is_empty() || self.methods.iter().any(|m| m == METHOD))
    }
}

impl QueryParameter {
    pub(super) fn parse(key: &str) -> Option<Self> {
        Some(match key {
            "sender" => Self::Sender,
            "target" | "targets" => Self::Target,
            "message_type" => Self::MessageType,
            "destination_report" => Self::DestinationReport,
            _ => return None,
        })
    }

    fn value_of<'a>(self, request: AuthorizationRequest<'a>) -> &'a str {
        match self {
            Self::Sender => request.sender.as_str(),
            Self::Target => request.target.as_str(),
            Self::MessageType => request.message_type,
            Self::DestinationReport => "false",
        }
    }
}
