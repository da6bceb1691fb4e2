//! `tutti code status`. Main function: [`run`].

use api_types::{CodeDeployStatus, CodeDeployment, CodeDeploysStatus, ErrorBody};
use serde_json::{Value, json};

use super::CODE_MANAGER;
use super::display::{describe_action, format_timestamp, megabytes, print_error, short};
use crate::client::{ApiClient, route};
use crate::present::{OutputOptions, print_indented};
use crate::settings::ConnectionFlags;
use crate::terminal::{escape_control, escaped_name, style_failure, style_success};
use crate::values::or_empty;
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, ProgramName, VerbResult, present};

/// Arguments of `tutti code status`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code status
  tutti code status 17
  tutti code status --format json | jq '.\"deploys-status\".failed'

Exit codes: 0, and with a number 1 if that deployment failed.")]
pub struct Options {
    /// Number of a deployment
    #[arg(value_name = "DEPLOYMENT")]
    id: Option<i64>,
    #[command(flatten)]
    shown: OutputOptions,
}

pub(super) async fn run(options: &Options, client: &ApiClient, name: ProgramName) -> VerbResult {
    let format = options.shown.format.under(name);
    let path = route(CODE_MANAGER, ["status"]);
    let Some(id) = options.id else {
        let status: Value = client.get(&path, &[]).await?;
        return match serde_json::from_value(status.clone()) {
            Ok(known) => format.present(&status, |_| print(&known)),
            Err(_) => OutputFormat::Json.present(&status, |_| ()),
        };
    };
    let status: CodeDeployStatus = client.get(&path, &[("id", &id.to_string())]).await?;
    format.present(&status, print_status)?;
    Ok(match status.status.as_str() {
        "failed" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

fn print_status(status: &CodeDeployStatus) {
    let (id, since) = (status.id, format_timestamp(&status.queued_at));
    let (name, state) = (
        escaped_name(&status.environment),
        escape_control(&status.status),
    );
    say!("{id} {name}: {state} since {since}");
    if let Some(blockers) = &status.waiting_for {
        for (what, numbers) in [
            ("plan jobs", &blockers.plans),
            ("jobs", &blockers.jobs),
            ("deployments", &blockers.deployments),
        ] {
            let numbers: Vec<_> = numbers.iter().map(i64::to_string).collect();
            if !numbers.is_empty() {
                say!("    it waits for {what} {}", numbers.join(", "));
            }
        }
    }
    print_error(status.error.as_ref());
}

fn print(status: &CodeDeploysStatus) {
    match status.file_sync_storage_status.deployed.as_slice() {
        [] => say!("Nothing is live yet; `tutti code deploy --all` deploys what the sources have."),
        deployed => present::table(
            deployed,
            &[
                ("ENVIRONMENT", &|live| escaped_name(&live.environment)),
                ("VERSION", &|live| short(&live.version).to_owned()),
                ("COMMIT", &|live| short(&live.deploy_signature).to_owned()),
                ("SINCE", &|live| format_timestamp(&live.date)),
            ],
        ),
    }
    for (name, follower) in &status.file_sync_client_status.file_sync_clients {
        let is = |key: &str| follower[key].as_bool().unwrap_or_default();
        let state = match (is("is-away"), is("synced-with-file-sync-storage")) {
            (true, _) => "is away",
            (false, true) => "has what is live",
            (false, false) => "does not have what is live yet",
        };
        say!("The follower {} {state}.", escaped_name(name));
        for (environment, why) in follower["errors"].as_object().into_iter().flatten() {
            let why = escape_control(why.as_str().unwrap_or_default());
            say!("    {}: {why}", escape_control(environment));
        }
    }
    if let Some(error) = &status.settings_error {
        print_refusal("the settings cannot be used", error);
    }
    if let Some(error) = &status.directories_error {
        print_refusal("directories cannot be written to", error);
    }
    if let Some(disk) = &status.disk_use {
        let copies = disk.repositories_bytes.map_or_else(String::new, |bytes| {
            format!(", and copies of repositories {:.1} MB", megabytes(bytes))
        });
        let versions = megabytes(disk.versions_bytes);
        say!("Versions take {versions:.1} MB{copies}.");
    }
    let under_way = &status.deploys_status;
    for list in [&under_way.new, &under_way.queued, &under_way.deploying] {
        list.iter().for_each(print_status);
    }
    print_outcomes(&status.last_outcomes);
}

/// Prints the newest ended deployment of each environment, with the cause of each failure.
fn print_outcomes(newest: &[CodeDeployment]) {
    if newest.is_empty() {
        return;
    }
    say!("\nThe newest deployment of each environment:");
    present::table(
        newest,
        &[
            ("ENVIRONMENT", &|outcome| escaped_name(&outcome.environment)),
            ("OUTCOME", &|outcome| match outcome.state.as_str() {
                "failed" => style_failure("✗ failed"),
                _ => style_success("✓ done"),
            }),
            ("WHAT", &describe_action),
            ("ID", &|outcome| outcome.id.to_string()),
            ("COMMIT", &|outcome| {
                escape_control(outcome.control_commit.as_deref().map_or("", short))
            }),
            ("BY", &|outcome| escape_control(&outcome.owner)),
            ("AT", &|outcome| {
                or_empty(outcome.finished_timestamp.as_ref().map(format_timestamp))
            }),
        ],
    );
    for failed in newest.iter().filter(|outcome| outcome.state == "failed") {
        let environment = escaped_name(&failed.environment);
        say!("{} {environment} failed:", style_failure("✗"));
        if !failed.reason.is_empty() {
            say!("    reason: {}", escape_control(&failed.reason));
        }
        let error = failed.error.as_ref();
        print_indented(error.map_or("no reason is stored", |error| &error.msg));
    }
}

/// Prints that deployments are currently refused, and the reason.
fn print_refusal(why: &str, error: &ErrorBody) {
    let mark = style_failure("✗");
    say!("{mark} deployments are refused, since {why}:");
    print_indented(&error.msg);
}

/// Prints the configuration as `puppet-code print-config` does.
pub(super) fn print_config(connection: &ConnectionFlags) -> VerbResult {
    let settings = connection.settings()?;
    let document = json!({
        "service-url": settings.service_url,
        "cacert": settings.cacert,
        "token-file": settings.token_file,
    });
    OutputFormat::Json.present(&document, |_| ())
}
