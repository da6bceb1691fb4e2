//! The client's verbs: `tutti task run`, `tutti job list`, … over the HTTP API.
//!
//! Main type: [`Command`]. The rule: this crate prints and never decides; whatever it shows came from
//! the API, and its exit code says what happened: 0 all succeeded, 1 a node failed, 2 the command was
//! used wrongly or the service could not do it.

#[macro_use]
mod say;

mod absent;
mod access;
mod action;
pub mod audit;
pub mod certificates;
mod client;
mod code;
pub mod completion;
mod connection;
mod db;
mod defaults;
pub mod doctor;
mod enc;
mod failure;
mod follow;
mod generate;
mod input;
mod job;
pub mod local_server;
mod lookup;
mod named_list;
pub mod names;
mod node;
mod node_group;
mod params;
mod plan;
mod query;
mod rbac;
mod rollout;
mod schedule;
mod settings;
mod shown;
mod span;
mod stream;
mod table;
mod targets;
mod task;
mod terminal;
#[cfg(test)]
mod tests;
mod validate;
mod values;
mod webhook;

use std::process::ExitCode;

pub use failure::Failure;
pub use generate::{Shell, completions, man_pages};
pub use names::Name;
pub use say::print_line;
pub use settings::Connection;
pub use terminal::harmless;

/// Everything succeeded.
pub const EXIT_SUCCESS: u8 = 0;
/// The command did its work, and at least one node failed.
pub const EXIT_NODES_FAILED: u8 = 1;
/// The command was used wrongly, or the service could not do it.
pub const EXIT_ERROR: u8 = 2;

/// What the client can do.
#[expect(
    clippy::large_enum_variant,
    reason = "one is made in the life of the process, and moved once"
)]
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Get a token for the API and keep it in the token file
    #[command(
        after_long_help = "Example:\n  tutti login admin --lifetime 8h",
        mut_arg("token_file", token_file_as_puppet_has_it)
    )]
    Login(Login),
    /// Get, show and delete tokens, as `puppet access` does
    #[command(mut_arg("token_file", token_file_as_puppet_has_it))]
    Access(Over<access::Verb>),
    /// Run tasks on nodes, and see which there are
    Task(Over<task::Verb>),
    /// Run Puppet on nodes; see, follow and stop jobs
    #[command(alias = "jobs")]
    Job(Over<job::Verb>),
    /// Run a line of the shell on nodes
    Command(Over<action::CommandVerb>),
    /// Run a script of this machine on nodes
    Script(Over<action::ScriptVerb>),
    /// Put files onto nodes, and fetch them from there
    File(Over<action::FileVerb>),
    /// Print what a node gets from its groups, as Puppet's node terminus exec reads it
    #[command(after_long_help = "Example:\n  tutti enc web1.example.com")]
    Enc(Enc),
    /// See who did what, and whether the record of it is whole
    Audit(Over<audit::Verb>),
    /// See which nodes are connected
    Node(Over<node::Verb>),
    /// Run plans, and see which there are
    Plan(Over<plan::Verb>),
    /// Ask what is known of nodes, in PuppetDB's query language
    Query(Query),
    /// Run tasks and Puppet by the clock
    Schedule(Over<schedule::Verb>),
    /// Make, change and explain the groups that classify nodes
    NodeGroup(Over<node_group::Verb>),
    /// Say how nodes without an agent are reached
    Connection(Over<connection::Verb>),
    /// Look up keys in the Hiera data of this machine, as `puppet lookup` does
    Lookup(lookup::Options),
    /// Check manifests, plans and templates: syntax, and what can be known without a catalog
    Validate(validate::Options),
    /// Tell other programs about events
    Webhook(Over<webhook::Verb>),
    /// See, make and change users
    User(Over<rbac::user::Verb>),
    /// See, make and change roles
    Role(Over<rbac::role::Verb>),
    /// See, make and revoke tokens
    Token(Over<rbac::token::Verb>),
    /// See, import and forget groups of users
    Group(Over<rbac::group::Verb>),
    /// Deploy code from control repositories, see who deployed what, and go back
    #[command(mut_arg("token_file", token_file_as_puppet_has_it))]
    Code(Over<code::Verb>),
    /// Ask how PuppetDB is, as `puppet db` does
    #[command(hide = true)]
    Db(Over<db::Verb>),
    /// Show applications: not there yet
    #[command(hide = true, disable_help_flag = true)]
    App(absent::Rest),
}

/// `puppet access` and `puppet code` have `-t` for the token file; the other verbs have it for nodes, as Bolt does.
fn token_file_as_puppet_has_it(token_file: clap::Arg) -> clap::Arg {
    token_file.short_alias('t')
}

/// Verbs that go to the API.
#[derive(Debug, clap::Args)]
pub struct Over<V: clap::Subcommand> {
    #[command(subcommand)]
    verb: V,
    #[command(flatten)]
    connection: Connection,
}

/// `login` goes to the API too.
#[derive(Debug, clap::Args)]
pub struct Login {
    #[command(flatten)]
    options: access::login::Options,
    #[command(flatten)]
    connection: Connection,
}

/// `query` goes to the API, or to a `PuppetDB`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti query 'nodes[certname] { certname ~ \"^web\" }'
  tutti query 'facts[certname, value] { name = \"os\" }' --format json
  tutti query @query.pql --limit 10")]
pub struct Query {
    #[command(flatten)]
    options: query::Options,
    #[command(flatten)]
    connection: Connection,
}

/// `enc` goes to the API too.
#[derive(Debug, clap::Args)]
pub struct Enc {
    #[command(flatten)]
    options: enc::Options,
    #[command(flatten)]
    connection: Connection,
}

/// How results are printed: for people, or as one JSON document.
// The values have no help of their own: it would make every verb's help three times as long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
#[expect(missing_docs, reason = "a doc comment here becomes help text")]
pub enum Format {
    #[default]
    Human,
    Json,
}

/// Does what `command` says and answers the exit code.
pub async fn run(command: Command, name: Name) -> ExitCode {
    match Box::pin(done(command, name)).await {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            anstream::eprintln!("{} {}", terminal::bad("error:"), failure.shown());
            ExitCode::from(EXIT_ERROR)
        }
    }
}

async fn done(command: Command, name: Name) -> Result<u8, Failure> {
    match command {
        Command::Login(Login {
            options,
            connection,
        }) => {
            let settings = connection.settings()?;
            Box::pin(access::login::run(options, &settings)).await
        }
        Command::Enc(Enc {
            options,
            connection,
        }) => Box::pin(enc::run(options, &connection)).await,
        Command::Query(Query {
            options,
            connection,
        }) => Box::pin(query::run(&options, &connection, name)).await,
        Command::Access(over) => Box::pin(access::run(over.verb, &over.connection)).await,
        Command::Task(over) => Box::pin(task::run(over.verb, &over.connection, name)).await,
        Command::Job(over) => Box::pin(job::run(over.verb, &over.connection, name)).await,
        Command::Command(over) => Box::pin(action::command(over.verb, &over.connection)).await,
        Command::Script(over) => Box::pin(action::script(over.verb, &over.connection)).await,
        Command::File(over) => Box::pin(action::file(over.verb, &over.connection)).await,
        Command::Audit(over) => Box::pin(audit::run(over.verb, &over.connection)).await,
        Command::Node(over) => Box::pin(node::run(over.verb, &over.connection)).await,
        Command::Plan(over) => Box::pin(plan::run(over.verb, &over.connection)).await,
        Command::Schedule(over) => Box::pin(schedule::run(over.verb, &over.connection)).await,
        Command::NodeGroup(over) => Box::pin(node_group::run(over.verb, &over.connection)).await,
        Command::Connection(over) => Box::pin(connection::run(over.verb, &over.connection)).await,
        Command::Webhook(over) => Box::pin(webhook::run(over.verb, &over.connection)).await,
        Command::User(over) => Box::pin(rbac::user::run(over.verb, &over.connection)).await,
        Command::Role(over) => Box::pin(rbac::role::run(over.verb, &over.connection)).await,
        Command::Token(over) => Box::pin(rbac::token::run(over.verb, &over.connection)).await,
        Command::Group(over) => Box::pin(rbac::group::run(over.verb, &over.connection)).await,
        Command::Lookup(options) => lookup::run(&options),
        Command::Validate(options) => validate::run(&options),
        Command::Code(over) => Box::pin(code::run(over.verb, &over.connection, name)).await,
        Command::Db(db) => Box::pin(db::run(&db.verb, &db.connection, name)).await,
        Command::App(_) => Err(absent::app()),
    }
}
