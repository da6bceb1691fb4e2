//! Webhooks of forges about pushes: [`ForgeKind`], [`ForgePush`], and their verification:
//! [`WebhookVerification`].
//!
//! Without I/O. Invariant: a webhook is used only for the names of branches to look at; their
//! commits, and whether they still exist, come from the repository itself.

mod deliveries;
mod payload;
mod pushed_environments;
mod repository;
mod signature;

use std::fmt;
use std::str::FromStr;

pub use deliveries::WebhookDeliveries;
pub use pushed_environments::{environments_from_branches, environments_with_module};
pub use repository::PushedRepository;
pub use signature::{WebhookSecret, WebhookSecretError, WebhookVerification};

/// Kind of the software or service that hosts repositories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// GitHub and GitHub Enterprise.
    GitHub,
    /// GitLab, self-managed or gitlab.com.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
    /// Bitbucket Cloud.
    Bitbucket,
    /// Bitbucket Server and Data Center.
    BitbucketServer,
    /// Azure DevOps and Team Foundation Server.
    Azure,
}

/// A branch that was pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgePush {
    /// Name of the branch, without `refs/heads/`.
    pub branch: String,
    /// True if the webhook reports the branch as deleted.
    pub is_gone: bool,
}

/// Cause for which a webhook cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncomingWebhookError {
    /// Neither the type nor the headers determine the forge.
    #[error(
        "the type of the webhook is not known: it is {TYPES}, or left away where the headers say it"
    )]
    Host,
    /// The body is not one of this forge.
    #[error("this is no message of {host}: {what}")]
    Body {
        /// Kind of the forge.
        host: ForgeKind,
        /// Cause of the error.
        what: String,
    },
}

/// Possible values of `type`.
pub const TYPES: &str =
    "github, gitlab, gitea, forgejo, bitbucket, bitbucket-server, stash, tfs-git or azure-devops";

/// Returns a header of a request by its lower-case name.
pub type HeaderLookup<'a> = dyn Fn(&str) -> Option<&'a str> + 'a;

// === impl ForgeKind ===

impl ForgeKind {
    /// Determines the forge from the type, or from the headers if there is none.
    pub fn detect(
        kind: Option<&str>,
        header: &HeaderLookup<'_>,
    ) -> Result<Self, IncomingWebhookError> {
        if let Some(kind) = kind {
            return kind.parse();
        }
        let has = |name: &str| header(name).is_some();
        // Gitea and Forgejo send GitHub's headers, too.
        if has("x-gitea-event") || has("x-forgejo-event") {
            return Ok(Self::Gitea);
        }
        if has("x-github-event") {
            return Ok(Self::GitHub);
        }
        if has("x-gitlab-event") {
            return Ok(Self::GitLab);
        }
        match header("x-event-key") {
            Some("repo:push") => Ok(Self::Bitbucket),
            Some("repo:refs_changed" | "diagnostics:ping") => Ok(Self::BitbucketServer),
            _ => Err(IncomingWebhookError::Host),
        }
    }

    /// Parses the pushed branches; none if the webhook is about something else.
    pub fn parse_pushes(
        self,
        header: &HeaderLookup<'_>,
        body: &[u8],
    ) -> Result<Vec<ForgePush>, IncomingWebhookError> {
        payload::parse_pushes(self, header, body)
    }

    /// Parses the repository of a webhook; `None` if the body has none.
    pub fn repository(self, body: &[u8]) -> Option<PushedRepository> {
        PushedRepository::parse(self, body)
    }

    /// The header with the signature of the body; `None` if there is none, or this forge does not
    /// sign.
    fn signature<'a>(self, header: &HeaderLookup<'a>) -> Option<&'a str> {
        match self {
            Self::GitHub => header("x-hub-signature-256"),
            Self::Gitea => header("x-gitea-signature")
                .or_else(|| header("x-forgejo-signature"))
                .or_else(|| header("x-hub-signature-256")),
            Self::Bitbucket | Self::BitbucketServer => header("x-hub-signature"),
            Self::GitLab | Self::Azure => None,
        }
    }

    /// Ids of a webhook with a valid signature or token, by which a replay is recognised: the
    /// forge's delivery id, which is not signed, and the hash of the body if that is signed. The
    /// hash of an unsigned body is no id: its sender knows the secret, and forges may send the same
    /// body twice.
    pub fn replay_ids(self, header: &HeaderLookup<'_>, body: &[u8]) -> Vec<String> {
        let delivery = self.delivery_id(header).map(|id| format!("id {id}"));
        let signed = self.signature(header).map(|_| {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, body);
            let digest = digest.as_ref().iter();
            let digest = digest.fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
            format!("body {digest}")
        });
        delivery.into_iter().chain(signed).collect()
    }

    /// The forge's id of this delivery; `None` if it has none.
    pub fn delivery_id<'a>(self, header: &HeaderLookup<'a>) -> Option<&'a str> {
        match self {
            Self::GitHub => header("x-github-delivery"),
            Self::Gitea => header("x-gitea-delivery").or_else(|| header("x-forgejo-delivery")),
            Self::GitLab => header("x-gitlab-event-uuid"),
            Self::Bitbucket => header("x-request-uuid"),
            Self::BitbucketServer => header("x-request-id"),
            Self::Azure => None,
        }
    }
}

impl FromStr for ForgeKind {
    type Err = IncomingWebhookError;

    fn from_str(text: &str) -> Result<Self, IncomingWebhookError> {
        match text {
            "github" => Ok(Self::GitHub),
            "gitlab" => Ok(Self::GitLab),
            "gitea" | "forgejo" => Ok(Self::Gitea),
            "bitbucket" => Ok(Self::Bitbucket),
            "bitbucket-server" | "stash" => Ok(Self::BitbucketServer),
            "tfs-git" | "azure-devops" => Ok(Self::Azure),
            _ => Err(IncomingWebhookError::Host),
        }
    }
}

impl fmt::Display for ForgeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Gitea => "Gitea",
            Self::Bitbucket => "Bitbucket",
            Self::BitbucketServer => "Bitbucket Server",
            Self::Azure => "Azure DevOps",
        })
    }
}
