//! The deployments of code as a part of the server that may be missing: [`CodeService`].

use std::sync::{Arc, Mutex};

use api_types::{ApiError, kinds};
use code_deployments::CodeManager;
use forges::incoming_webhooks::{WebhookDeliveries, WebhookSecret};
use optional_feature::{Feature, FeatureFault, FeatureStatus};

use crate::failure::Failure;

/// The server's own deployments of code. Cheap to clone.
#[derive(Clone, Debug)]
pub struct CodeService {
    started: Feature<StartedCode>,
    webhook_secret: Option<Feature<WebhookSecret>>,
    pub(super) deliveries: Arc<Mutex<WebhookDeliveries>>,
}

/// Deployments that have started.
#[derive(Debug)]
pub struct StartedCode {
    /// Queue and worker of deployments.
    pub manager: CodeManager,
    /// State of what deployments can do without.
    pub features: Vec<FeatureStatus>,
}

// === impl CodeService ===

impl CodeService {
    /// Deployments, now or later. Webhooks that show the secret need no token.
    pub fn new(
        started: Feature<StartedCode>,
        webhook_secret: Option<Feature<WebhookSecret>>,
    ) -> Self {
        Self {
            started,
            webhook_secret,
            deliveries: Arc::default(),
        }
    }

    /// Ends; what is not over then goes on after the next start.
    pub async fn shutdown(&self) {
        self.started.shutdown().await;
        if let Ok(started) = self.started.get() {
            started.manager.shutdown().await;
        }
    }

    /// State of the deployments and of what they can do without.
    pub(crate) fn features(&self) -> Vec<FeatureStatus> {
        let mut features = vec![self.started.status()];
        features.extend(self.webhook_secret.as_ref().map(Feature::status));
        if let Ok(started) = self.started.get() {
            features.extend(started.features.iter().cloned());
        }
        features
    }

    /// Carries deployments out; an error while they have not started.
    pub(super) fn manager(&self) -> Result<&CodeManager, Failure> {
        Ok(&self.started.get().map_err(unavailable)?.manager)
    }

    /// The secret of webhooks; an error while its file cannot be read. A forge has no token, so the error names no path.
    pub(super) fn webhook_secret(&self) -> Result<Option<&WebhookSecret>, Failure> {
        let secret = self.webhook_secret.as_ref().map(Feature::get).transpose();
        secret.map_err(|fault| ApiError::new(kinds::CODE_UNAVAILABLE, fault.without_place()).into())
    }
}

fn unavailable(fault: FeatureFault) -> Failure {
    ApiError::new(kinds::CODE_UNAVAILABLE, fault.to_string()).into()
}
