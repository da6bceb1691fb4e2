//! The environment of a task or plan: [`EnvironmentOption`].

use crate::client::ApiClient;

/// The default environment.
const PRODUCTION: &str = "production";

/// Option for the environment of a task or plan.
#[derive(Debug, clap::Args)]
pub(crate) struct EnvironmentOption {
    /// Environment with the code [default: that of orchestrator.conf, or production]
    #[arg(long, short = 'e', value_name = "NAME")]
    pub(super) environment: Option<String>,
}

impl EnvironmentOption {
    /// The effective environment.
    pub(crate) fn effective_environment(&self, client: &ApiClient) -> String {
        let named = self.environment.as_ref().or(client.environment.as_ref());
        named.map_or_else(|| PRODUCTION.to_owned(), Clone::clone)
    }
}
