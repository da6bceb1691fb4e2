//! Code Manager's `post_environment_hooks`: [`PostHook`] sends the result of each deployment to a
//! program.
//!
//! The body is the response of `POST deploys` with `wait` for the environment. Invariant: each
//! deployment that is over is sent at least once, unless the program accepts nothing; its response
//! changes nothing.

use async_trait::async_trait;
use pki::TlsFiles;
use reqwest::Url;

use crate::sender::NotificationSender;
use crate::service::{DeploymentObserver, FinishedDeployment};

/// The HTTP endpoint that receives the results of deployments.
#[derive(Debug)]
pub struct PostHook {
    url: Url,
    sender: NotificationSender,
}

/// The URL of a hook is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the address of a hook must be like https://chat.example.com/deployed, without user and password"
)]
pub struct PostHookError;

// === impl PostHook ===

impl PostHook {
    /// `tls`: the client certificate, and the authority that must have signed the endpoint's
    /// certificate; `None`: no client certificate, and the authorities of the machine.
    ///
    /// # Errors
    /// If the URL is not an HTTP URL, or has credentials.
    pub fn new(url: &str, tls: Option<TlsFiles>) -> Result<Self, PostHookError> {
        let url: Url = url.parse().map_err(|_| PostHookError)?;
        let is_open = url.username().is_empty() && url.password().is_none();
        if !matches!(url.scheme(), "http" | "https") || !is_open {
            return Err(PostHookError);
        }
        Ok(Self {
            url,
            sender: tls.map_or_else(NotificationSender::default, NotificationSender::with_tls),
        })
    }
}

#[async_trait]
impl DeploymentObserver for PostHook {
    async fn deployment_finished(&self, over: &FinishedDeployment) -> Vec<String> {
        if over.is_dry {
            return Vec::new();
        }
        let request = |http: &reqwest::Client| http.post(self.url.clone()).json(&over.deploy);
        let told = self.sender.send(request).await;
        let note = |error| {
            // The path and the query may contain a secret.
            let host = self.url.host_str().unwrap_or_default();
            format!("the hook at {host} was not told: {error}")
        };
        told.map_err(note).err().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_looked_at_at_the_start() {
        assert!(PostHook::new("https://chat.example.com/x?y=z", None).is_ok());
        for wrong in [
            "",
            "chat.example.com",
            "ftp://chat.example.com/",
            "https://anna:secret@chat.example.com/",
            "file:///etc/passwd",
        ] {
            assert_eq!(PostHook::new(wrong, None).unwrap_err(), PostHookError);
        }
    }
}
