//! The verbs of the client over the HTTP API: `tutti task run`, `tutti job list`, …
//!
//! Main type: [`ClientCommand`]. Invariant: this crate prints and never decides; everything that it shows
//! came from the API. The exit code is 0 if all succeeded, 1 if a node failed, 2 if the command was
//! used wrongly or the service could not do it.

#[macro_use]
pub mod say;

mod access;
mod action;
mod app;
pub mod audit;
pub mod catalogs;
pub mod certificates;
mod client;
pub mod code;
pub mod completion;
mod connection;
mod db;
mod defaults;
mod definition;
pub mod doctor;
mod duration;
mod enc;
mod exit;
mod failure;
mod follow;
mod generate;
pub mod impact_groups;
pub mod input;
mod job;
pub mod local;
pub mod local_server;
mod named_list;
mod node;
pub mod node_catalog;
mod node_group;
mod output_format;
mod params;
mod plan;
pub mod present;
pub mod program_name;
mod query;
mod rbac;
mod report;
mod rollout;
mod schedule;
mod settings;
mod stream;
pub mod table;
mod targets;
mod task;
pub mod terminal;
#[cfg(test)]
mod tests;
mod values;
mod webhook;
mod with_connection;

pub use exit::{EXIT_ERROR, EXIT_NODES_FAILED, EXIT_SUCCESS, VerbResult};
pub use output_format::OutputFormat;
use std::process::ExitCode;
pub use with_connection::WithConnection;

pub use defaults::KEEP_VERSIONS;
pub use failure::{CommandFailure, Result};
pub use generate::{Shell, completions, man_pages};
pub use local::LocalRunner;
pub use program_name::ProgramName;
pub use say::print_line;
pub use settings::ConnectionFlags;
pub use terminal::escape_control;

/// The verbs of the client.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made in the life of the process, and moved once"
)]
#[derive(Debug, clap::Subcommand)]
pub enum ClientCommand {
    /// Get a token for the API and write it to the token file
    #[command(
        after_long_help = "Example:\n  tutti login admin --lifetime 8h",
        mut_arg("token_file", with_puppet_short_flag)
    )]
    Login(ArgumentsWithConnection<access::login::Options>),
    /// Get, show and delete tokens, as `puppet access` does
    #[command(mut_arg("token_file", with_puppet_short_flag))]
    Access(WithConnection<access::AccessVerb>),
    /// Run tasks on nodes, and list available tasks
    Task(WithConnection<task::TaskVerb>),
    /// Run Puppet on nodes; see, follow and stop jobs
    #[command(alias = "jobs")]
    Job(WithConnection<job::JobVerb>),
    /// Run a shell command on nodes
    Command(WithConnection<action::CommandVerb>),
    /// Run a script of this machine on nodes
    Script(WithConnection<action::ScriptVerb>),
    /// Upload files to nodes, and download files from them
    File(WithConnection<action::FileVerb>),
    /// Print a node's classification, as Puppet's node terminus exec reads it
    #[command(after_long_help = "Example:\n  tutti enc web1.example.com")]
    Enc(ArgumentsWithConnection<enc::Options>),
    /// Show the audit log, and check that it was not changed
    Audit(WithConnection<audit::AuditVerb>),
    /// Show connected nodes
    Node(WithConnection<node::NodeVerb>),
    /// Show the reports of Puppet runs
    Report(WithConnection<report::ReportVerb>),
    /// Run plans, and list available plans
    Plan(WithConnection<plan::PlanVerb>),
    /// Query data about nodes in PQL, PuppetDB's query language
    #[command(after_long_help = "Examples:
  tutti query 'nodes[certname] { certname ~ \"^web\" }'
  tutti query 'facts[certname, value] { name = \"os\" }' --format json
  tutti query @query.pql --limit 10")]
    Query(ArgumentsWithConnection<query::Options>),
    /// Schedule tasks and Puppet runs
    Schedule(WithConnection<schedule::ScheduleVerb>),
    /// Create, change and explain the groups that classify nodes
    NodeGroup(WithConnection<node_group::NodeGroupVerb>),
    /// Configure how nodes without an agent are reached
    Connection(WithConnection<connection::ConnectionVerb>),
    /// Send events to other programs
    Webhook(WithConnection<webhook::WebhookVerb>),
    /// Show, create and change users
    User(WithConnection<rbac::user::UserVerb>),
    /// Show, create and change roles
    Role(WithConnection<rbac::role::RoleVerb>),
    /// Show, create and revoke tokens
    Token(WithConnection<rbac::token::TokenVerb>),
    /// Show, import and delete groups of users
    Group(WithConnection<rbac::group::GroupVerb>),
    /// Deploy code from control repositories, show deployments, and roll back
    #[command(mut_arg("token_file", with_puppet_short_flag))]
    Code(WithConnection<code::CodeVerb>),
    /// Show the state of PuppetDB, as `puppet db` does
    #[command(hide = true)]
    Db(WithConnection<db::DbVerb>),
    /// Show applications across nodes, and run Puppet on their nodes in order
    App(WithConnection<app::ApplicationVerb>),
}

/// `puppet access` and `puppet code` use `-t` for the token file; the other verbs use it for nodes,
/// as Bolt does.
fn with_puppet_short_flag(token_file: clap::Arg) -> clap::Arg {
    token_file.short_alias('t')
}

/// The arguments of a command without verbs, and the options to connect to the API.
#[derive(Debug, clap::Args)]
pub struct ArgumentsWithConnection<A: clap::Args> {
    #[command(flatten)]
    options: A,
    #[command(flatten)]
    connection: ConnectionFlags,
}

/// Runs `command` and returns the exit code; commands for files of this machine are left to
/// `run_local`.
pub async fn run(command: ClientCommand, name: ProgramName, run_local: LocalRunner) -> ExitCode {
    exit_code(Box::pin(dispatch(command, name, run_local)).await)
}

/// Prints the failure, if the command failed, and returns the exit code.
pub fn exit_code(ended: VerbResult) -> ExitCode {
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            failure.print();
            ExitCode::from(EXIT_ERROR)
        }
    }
}

async fn dispatch(command: ClientCommand, name: ProgramName, run_local: LocalRunner) -> VerbResult {
    match command {
        ClientCommand::Login(with) => {
            let settings = with.connection.settings()?;
            Box::pin(access::login::run(with.options, &settings)).await
        }
        ClientCommand::Enc(with) => Box::pin(enc::run(with.options, &with.connection)).await,
        ClientCommand::Query(with) => {
            Box::pin(query::run(&with.options, &with.connection, name)).await
        }
        ClientCommand::Access(over) => Box::pin(access::run(over.verb, &over.connection)).await,
        ClientCommand::Task(over) => over.run_as(name, task::run).await,
        ClientCommand::Job(over) => over.run_as(name, job::run).await,
        ClientCommand::Command(over) => over.run(action::run_command_verb).await,
        ClientCommand::Script(over) => over.run(action::run_script_verb).await,
        ClientCommand::File(over) => over.run(action::run_file_verb).await,
        ClientCommand::Audit(over) => {
            Box::pin(audit::run(over.verb, over.connection, run_local)).await
        }
        ClientCommand::Node(over) => over.run(node::run).await,
        ClientCommand::Report(over) => over.run(report::run).await,
        ClientCommand::Plan(over) => Box::pin(plan::run(over.verb, &over.connection)).await,
        ClientCommand::Schedule(over) => over.run(schedule::run).await,
        ClientCommand::NodeGroup(over) => over.run(node_group::run).await,
        ClientCommand::Connection(over) => over.run(connection::run).await,
        ClientCommand::Webhook(over) => over.run(webhook::run).await,
        ClientCommand::User(over) => Box::pin(rbac::user::run(over.verb, &over.connection)).await,
        ClientCommand::Role(over) => over.run(rbac::role::run).await,
        ClientCommand::Token(over) => Box::pin(rbac::token::run(over.verb, &over.connection)).await,
        ClientCommand::Group(over) => over.run(rbac::group::run).await,
        ClientCommand::Code(over) => {
            Box::pin(code::run(over.verb, &over.connection, name, run_local)).await
        }
        ClientCommand::Db(db) => Box::pin(db::run(&db.verb, &db.connection, name)).await,
        ClientCommand::App(over) => over.run_as(name, app::run).await,
    }
}
