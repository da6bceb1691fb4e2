//! Commit statuses: a forge shows the result of a deployment at the commit of the control
//! repository. Main type: [`CommitStatuses`].
//!
//! Invariants: the last status of an environment and commit is not sent again, since forges accept
//! about 1,000 statuses of a commit and no more; and a token goes to the forge's API and nowhere
//! else.

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

/// Commit status settings of a source.
#[derive(Clone, Debug)]
pub struct CommitStatusSettings {
    /// Kind of the forge.
    pub host: ForgeKind,
    /// Token that may write statuses of the repository; while its file cannot be read, deployments
    /// report the cause.
    pub token: Feature<SecretString>,
    /// Address of the forge's API; `None` for the default of its kind, on the host of the source's
    /// address.
    pub api: Option<Url>,
    /// `owner/name`; `None` to take it from the source's address.
    pub repository: Option<String>,
    /// Link in the status for further information; `None` for no link.
    pub link: Option<Url>,
}

/// Sends commit statuses to the forges of the sources.
#[derive(Debug)]
pub struct CommitStatuses {
    settings: HashMap<String, CommitStatusSettings>,
    /// The last status of each environment.
    last_sent: Mutex<HashMap<EnvironmentName, (String, CommitState)>>,
    sender: NotificationSender,
}

/// State of a commit's deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitState {
    Pending,
    Success,
    Failure,
}

/// Bytes of an error that are sent: GitHub takes 140 characters, others more.
const DESCRIPTION_BYTES: usize = 140;

// === impl CommitStatuses ===

impl CommitStatuses {
    /// Creates the sender from settings by source, and the addresses of all sources.
    ///
    /// # Errors
    /// If a source does not exist, or its address and settings do not contain the API or
    /// repository.
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

    /// The request to send; `None` if the status is not new, or the source has no settings.
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
        // `Pending` is not sent after the result of the same commit.
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
        // Without retries: the result is more important, and a failure is reported with it.
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
