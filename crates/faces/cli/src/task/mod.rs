//! `tutti task …`. Main type: [`TaskVerb`].

mod environment;
mod list;
pub(crate) mod requests;
mod run;
mod show;

pub(crate) use self::environment::EnvironmentOption;
pub(crate) use self::run::print_left_out_nodes;
use crate::VerbResult;
use crate::client::ApiClient;

/// Verbs of `tutti task`.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made in the life of the process, and moved once"
)]
#[derive(Debug, clap::Subcommand)]
pub enum TaskVerb {
    /// Run a task and watch it
    #[command(after_long_help = "Examples:
  tutti task run package -n web1.example.com,web2.example.com action=status name=openssl
  tutti task run facts --query 'nodes[certname] { certname ~ \"^web\" }' --format json
  tutti task run service --node-group 'Web servers' --params '{\"name\":\"nginx\",\"action\":\"restart\"}'
  tutti task run --failed-of 81")]
    Run(run::Options),
    /// Show one task: its description, its parameters, its files; without a name, list the tasks
    #[command(after_long_help = "Examples:\n  tutti task show\n  tutti task show package")]
    Show(show::Options),
    /// List the tasks of an environment
    #[command(after_long_help = "Example:\n  tutti task list --environment test")]
    List(list::Options),
}

pub(crate) async fn run(verb: TaskVerb, client: &ApiClient) -> VerbResult {
    match verb {
        TaskVerb::Run(options) => Box::pin(run::run(options, client)).await,
        TaskVerb::Show(options) => show::run(&options, client).await,
        TaskVerb::List(options) => list::run(&options, client).await,
    }
}
