//! Code deployment as an optional part of the server: [`CodeService`].

use std::sync::{Arc, Mutex};

use api_types::{ApiError, kinds};
use code_deployments::CodeManager;
use forges::incoming_webhooks::{WebhookDeliveries, WebhookSecret};
use optional_feature::{Feature, FeatureFault, FeatureStatus};

use crate::failure::ApiFailure;

/// The server's own code deployment. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CodeService {
    started: Feature<CodeDeploymentParts>,
    webhook_secret: Option<Feature<WebhookSecret>>,
    pub(super) deliveries: Arc<Mutex<WebhookDeliveries>>,
}

/// Code deployment after its start.
#[derive(Debug)]
pub struct CodeDeploymentParts {
    /// Queue and worker of deployments.
    pub manager: CodeManager,
    /// State of its optional parts.
    pub features: Vec<FeatureStatus>,
}

// === impl CodeService ===

impl CodeService {
    /// Creates the service from deployments that have started or start later. Webhooks signed with
    /// the secret need no token.
    pub fn new(
        started: Feature<CodeDeploymentParts>,
        webhook_secret: Option<Feature<WebhookSecret>>,
    ) -> Self {
        Self {
            started,
            webhook_secret,
            deliveries: Arc::default(),
        }
    }

    /// Shuts down; unfinished deployments continue after the next start.
    pub async fn shutdown(&self) {
        self.started.shutdown().await;
        if let Ok(started) = self.started.get() {
            started.manager.shutdown().await;
        }
    }

    /// State of code deployment and of its optional parts.
    pub(crate) fn features(&self) -> Vec<FeatureStatus> {
        let mut features = vec![self.started.status()];
        features.extend(self.webhook_secret.as_ref().map(Feature::status));
        if let Ok(started) = self.started.get() {
            features.extend(started.features.iter().cloned());
        }
        features
    }

    /// The deployer; an error if it has not started.
    pub(super) fn manager(&self) -> Result<&CodeManager, ApiFailure> {
        Ok(&self.started.get().map_err(unavailable)?.manager)
    }

    /// The secret of webhooks; an error while its file cannot be read. The error names no path,
    /// because a forge sends no token.
    pub(super) fn webhook_secret(&self) -> Result<Option<&WebhookSecret>, ApiFailure> {
        let secret = self.webhook_secret.as_ref().map(Feature::get).transpose();
        secret.map_err(|fault| {
            ApiError::new(kinds::CODE_UNAVAILABLE, fault.to_public_message()).into()
        })
    }
}

fn unavailable(fault: FeatureFault) -> ApiFailure {
    ApiError::new(kinds::CODE_UNAVAILABLE, fault.to_string()).into()
}
