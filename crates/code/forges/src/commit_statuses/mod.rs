//! Commit statuses: a forge shows at the commit of a control repository how its deployment went. Main type:
//! [`CommitStatuses`].
//!
//! The rules that must hold: of one environment and commit, what was told last is not told again, since forges take
//! some 1,000 statuses of a commit and no more; and a token goes to the forge's API and nowhere else.

mod forge_repository;
mod status_request;

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use environments::EnvironmentName;
use optional_feature::Feature;
use reqwest::{Client, RequestBuilder, Url};
use secrecy::{ExposeSecret as _, SecretString};

pub use forge_repository::ForgeRepositoryError;

use self::forge_repository::ForgeRepository;
use self::status_request::{StatusReport, StatusRequest};
use crate::incoming_webhooks::ForgeKind;
use code_deployments::sender::{NotificationError, NotificationSender};
use code_deployments::service::{DeployedCommit, DeploymentObserver, FinishedDeployment};
use code_sources::remote_address::strip_credentials;

/// How a source's forge is told.
#[derive(Clone, Debug)]
pub struct CommitStatusSettings {
    /// Its kind.
    pub host: ForgeKind,
    /// May write statuses of the repository; while its file cannot be read, deployments say why nothing was told.
    pub token: Feature<SecretString>,
    /// Where its API is; `None`: where forges of its kind have it, on the host of the source's address.
    pub api: Option<Url>,
    /// `owner/name`; `None`: as the source's address says.
    pub repository: Option<String>,
    /// Where people get who want to know more.
    pub link: Option<Url>,
}

/// Tells the forges of sources.
#[derive(Debug)]
pub struct CommitStatuses {
    settings: HashMap<String, CommitStatusSettings>,
    /// What was told last of environments, of which there are as many as are deployed.
    last_sent: Mutex<HashMap<EnvironmentName, (String, CommitState)>>,
    sender: NotificationSender,
}

/// What is told of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitState {
    Pending,
    Success,
    Failure,
}

/// What of an error is told, in bytes: GitHub takes 140 characters, others more.
const DESCRIPTION_BYTES: usize = 140;

// === impl CommitStatuses ===

impl CommitStatuses {
    /// By the names of the sources, which are there with these addresses.
    ///
    /// # Errors
    /// If there is no such source, or nobody says where its forge is.
    pub fn new(
        of: HashMap<String, CommitStatusSettings>,
        remotes: &HashMap<String, String>,
    ) -> Result<Self, ForgeRepositoryError> {
        for (source, settings) in &of {
            let remote = remotes.get(source).ok_or_else(|| {
                let mut known: Vec<&str> = remotes.keys().map(String::as_str).collect();
                known.sort_unstable();
                ForgeRepositoryError::NoSource {
                    source_name: source.clone(),
                    known: known.join(", "),
                }
            })?;
            ForgeRepository::from_remote(settings, remote)?;
        }
        Ok(Self {
            settings: of,
            last_sent: Mutex::default(),
            sender: NotificationSender::default(),
        })
    }

    /// What is to be sent; `None`: nothing new, or the source has no forge.
    fn next_request(
        &self,
        environment: &EnvironmentName,
        made_of: &DeployedCommit,
        status: StatusReport<'_>,
    ) -> Option<Result<(StatusRequest, &SecretString), String>> {
        let settings = self.settings.get(&made_of.source)?;
        let told = self
            .last_sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let last = told.get(environment);
        // That it begins is no news of a commit of which is known how it ended.
        let is_known = last.is_some_and(|(commit, state)| {
            *commit == made_of.commit
                && (*state == status.state || status.state == CommitState::Pending)
        });
        if is_known {
            return None;
        }
        let place = ForgeRepository::from_remote(settings, &made_of.remote)
            .map_err(|error| error.to_string());
        Some(place.and_then(|place| {
            let token = settings.token.get().map_err(|fault| fault.to_string())?;
            let message =
                StatusRequest::new(settings.host, &place, settings.link.as_ref(), &status);
            Ok((message, token))
        }))
    }

    fn record_sent(
        &self,
        environment: &EnvironmentName,
        made_of: &DeployedCommit,
        state: CommitState,
    ) {
        let mut told = self
            .last_sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        told.insert(environment.clone(), (made_of.commit.clone(), state));
    }
}

#[async_trait]
impl DeploymentObserver for CommitStatuses {
    async fn deployment_began(&self, environment: &EnvironmentName, made_of: &DeployedCommit) {
        let status = StatusReport {
            state: CommitState::Pending,
            environment,
            commit: &made_of.commit,
            description: "it is being deployed",
        };
        let Some(Ok((message, token))) = self.next_request(environment, made_of, status) else {
            return;
        };
        // Once only: how it ends is more important, and what is wrong is told then.
        let sent = self
            .sender
            .send_once(|http| build_request(http, &message, token))
            .await;
        match sent {
            Ok(()) => self.record_sent(environment, made_of, CommitState::Pending),
            Err(error) => tracing::info!(%environment, %error, "a forge was not told of a begin"),
        }
    }

    async fn deployment_finished(&self, over: &FinishedDeployment) -> Vec<String> {
        let (Some(made_of), false) = (&over.deployed_commit, over.is_dry) else {
            return Vec::new();
        };
        let Ok(environment) = over.deploy.environment.parse::<EnvironmentName>() else {
            return Vec::new();
        };
        let (state, description) = match &over.deploy.error {
            None => (CommitState::Success, "it is live".to_owned()),
            Some(error) => (CommitState::Failure, error.msg.clone()),
        };
        let status = StatusReport {
            state,
            environment: &environment,
            commit: &made_of.commit,
            description: &description[..description.floor_char_boundary(DESCRIPTION_BYTES)],
        };
        let sent = match self.next_request(&environment, made_of, status) {
            None => return Vec::new(),
            Some(Err(error)) => Err(error),
            Some(Ok((message, token))) => {
                let request = |http: &Client| build_request(http, &message, token);
                self.sender
                    .send(request)
                    .await
                    .map_err(|error| describe_error(&error))
            }
        };
        match sent {
            Ok(()) => {
                self.record_sent(&environment, made_of, state);
                Vec::new()
            }
            Err(error) => {
                let remote = strip_credentials(&made_of.remote);
                vec![format!("the forge of {remote} was not told: {error}")]
            }
        }
    }
}

fn build_request(http: &Client, message: &StatusRequest, token: &SecretString) -> RequestBuilder {
    let request = http.post(message.url.clone()).json(&message.body);
    message
        .token_scheme
        .authenticate(request, token.expose_secret())
}

fn describe_error(error: &NotificationError) -> String {
    match error {
        NotificationError::Status(status) if matches!(status.as_u16(), 401 | 403 | 404) => {
            format!("{error}; look at the token, which must be one that may write statuses there")
        }
        error => error.to_string(),
    }
}
