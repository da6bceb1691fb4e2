//! What forges tell of a push: [`ForgeKind`], [`ForgePush`]; and whether it is they who tell: [`WebhookProof`].
//!
//! Without I/O. The rules that must hold: nothing of a message is believed but which branches to look at;
//! what they are at, and whether they are gone, the repository itself is asked.

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

/// A kind of forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeKind {
    /// GitHub, and Enterprise.
    GitHub,
    /// GitLab.
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
    /// Its name.
    pub branch: String,
    /// Whether it is said to be gone.
    pub is_gone: bool,
}

/// Why a message is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncomingWebhookError {
    /// Neither the type nor the headers say whose it is.
    #[error(
        "the type of the webhook is not known: it is {TYPES}, or left away where the headers say it"
    )]
    Host,
    /// The body.
    #[error("this is no message of {host}: {what}")]
    Body {
        /// Of whom.
        host: ForgeKind,
        /// What is wrong.
        what: String,
    },
}

/// What `type` may be.
pub const TYPES: &str =
    "github, gitlab, gitea, forgejo, bitbucket, bitbucket-server, stash, tfs-git or azure-devops";

/// A header of a message, by its name in small letters.
pub type HeaderLookup<'a> = dyn Fn(&str) -> Option<&'a str> + 'a;

// === impl ForgeKind ===

impl ForgeKind {
    /// As the type says, or else the headers.
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

    /// The branches that a message tells of; none: it tells of something else.
    pub fn parse_pushes(
        self,
        header: &HeaderLookup<'_>,
        body: &[u8],
    ) -> Result<Vec<ForgePush>, IncomingWebhookError> {
        payload::parse_pushes(self, header, body)
    }

    /// The repository that a message tells of; `None`: it does not say.
    pub fn repository(self, body: &[u8]) -> Option<PushedRepository> {
        PushedRepository::parse(self, body)
    }

    /// The header that has a signature of the body; `None`: this forge signs nothing.
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

    /// Names of a message with a valid signature or token, so that a replay is recognised: the forge's delivery id,
    /// which is not signed, and the body where that is signed. An unsigned body is no name: its sender knows the
    /// secret, and forges may send it twice.
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

    /// What names this delivery, so that it is known when it comes again.
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
