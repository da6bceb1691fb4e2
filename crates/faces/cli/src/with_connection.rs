//! Verbs with the options to connect to the API: [`WithConnection`].

use crate::client::ApiClient;
use crate::exit::VerbResult;
use crate::program_name::ProgramName;
use crate::settings::ConnectionFlags;

/// A group of verbs with the options to connect to the API.
#[derive(Debug, clap::Args)]
pub struct WithConnection<V: clap::Subcommand> {
    #[command(subcommand)]
    pub(super) verb: V,
    #[command(flatten)]
    pub(super) connection: ConnectionFlags,
}

impl<V: clap::Subcommand> WithConnection<V> {
    /// Runs the verb with a client that has the token of the token file.
    pub(super) async fn run(
        self,
        run: impl AsyncFnOnce(V, &ApiClient) -> VerbResult,
    ) -> VerbResult {
        self.run_as(ProgramName::Tutti, run).await
    }

    /// The same for a client that was called as `name`, whose output depends on it.
    pub(super) async fn run_as(
        self,
        name: ProgramName,
        run: impl AsyncFnOnce(V, &ApiClient) -> VerbResult,
    ) -> VerbResult {
        let client = ApiClient::with_token(&self.connection)?.with_program_name(name);
        Box::pin(run(self.verb, &client)).await
    }
}
