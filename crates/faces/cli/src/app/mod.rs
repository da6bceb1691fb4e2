//! `tutti app …`: applications whose components run on several nodes. Main type: [`ApplicationVerb`].
//!
//! Invariant: instances, nodes and their order come from the server.

pub(crate) mod absent_nodes;
pub(crate) mod plan;
pub(crate) mod requests;
mod run;
mod show;

use api_types::Scope;

use crate::client::ApiClient;
use crate::failure::usage;
use crate::{Result, VerbResult};

/// Verbs of `tutti app`.
#[derive(Debug, clap::Subcommand)]
pub enum ApplicationVerb {
    /// Show the instances of applications with their components and nodes
    #[command(after_long_help = "Examples:
  tutti app show --environment production
  tutti app show 'Lamp[app1]' --environment production")]
    Show(show::Options),
    /// Show the nodes of an application in the order in which `app run` would run them; nothing is started
    #[command(after_long_help = "Examples:
  tutti app plan Lamp --environment production
  tutti app plan Lamp --environment production --multi-pass")]
    Plan(plan::Options),
    /// Run Puppet on the nodes of an application, producers before their consumers
    #[command(after_long_help = "Examples:
  tutti app run 'Lamp[app1]' --environment production
  tutti app run Lamp --environment production --noop --yes

A node starts as soon as all nodes that it waits for have succeeded. Nodes that depend on one which failed are
skipped. Ctrl-C asks the server to stop the job; a second Ctrl-C leaves it alone.")]
    Run(Box<run::Options>),
}

/// Arguments that name an application and its environment.
#[derive(Debug, clap::Args)]
struct ApplicationArguments {
    /// Application such as Lamp, for all its instances, or an instance such as 'Lamp[app1]'
    #[arg(value_name = "APPLICATION")]
    application: String,
    /// Environment of the application [default: that of orchestrator.conf]
    #[arg(long, short = 'e', value_name = "NAME")]
    environment: Option<String>,
}

pub(crate) async fn run(verb: ApplicationVerb, client: &ApiClient) -> VerbResult {
    match verb {
        ApplicationVerb::Show(options) => show::run(&options, client).await,
        ApplicationVerb::Plan(options) => plan::run(&options, client).await,
        ApplicationVerb::Run(options) => Box::pin(run::run(*options, client)).await,
    }
}

/// The environment that was named, or that of `orchestrator.conf`.
pub(crate) fn required_environment(named: Option<&String>, client: &ApiClient) -> Result<String> {
    match named.or(client.environment.as_ref()) {
        Some(name) => Ok(name.clone()),
        None => usage("an application needs an environment; name it with --environment"),
    }
}

// === impl ApplicationArguments ===

impl ApplicationArguments {
    fn environment(&self, client: &ApiClient) -> Result<String> {
        required_environment(self.environment.as_ref(), client)
    }

    fn scope(&self) -> Scope {
        Scope {
            application: Some(self.application.clone()),
            ..Scope::default()
        }
    }
}
