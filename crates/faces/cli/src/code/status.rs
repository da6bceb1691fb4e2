//! `tutti code status`. Main function: [`run`].

use api_types::{CodeDeployStatus, CodeDeployment, CodeDeploysStatus, ErrorBody};
use serde_json::{Value, json as object};

use super::CODE_MANAGER;
use super::display::{format_timestamp, megabytes, short};
use crate::client::ApiClient;
use crate::present::{OutputOptions, json};
use crate::settings::ConnectionFlags;
use crate::terminal::{self, escape_control};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, ProgramName, VerbResult, table};

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
    let is_human = (options.shown.format, name) == (OutputFormat::Human, ProgramName::Tutti);
    let path: Vec<&str> = CODE_MANAGER.into_iter().chain(["status"]).collect();
    let Some(id) = options.id else {
        let status: Value = client.get(&path, &[]).await?;
        match serde_json::from_value(status.clone()) {
            Ok(status) if is_human => print(&status),
            _ => json(&status),
        }
        return Ok(EXIT_SUCCESS);
    };
    let status: CodeDeployStatus = client.get(&path, &[("id", &id.to_string())]).await?;
    match is_human {
        true => print_status(&status),
        false => json(&status),
    }
    Ok(match status.status.as_str() {
        "failed" => EXIT_NODES_FAILED,
        _ => EXIT_SUCCESS,
    })
}

fn print_status(status: &CodeDeployStatus) {
    say!(
        "{} {}: {} since {}",
        status.id,
        terminal::escaped_name(&status.environment),
        escape_control(&status.status),
        format_timestamp(&status.queued_at)
    );
    if let Some(blockers) = &status.waiting_for {
        let named = |numbers: &[i64]| {
            let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            numbers.join(", ")
        };
        if !blockers.plans.is_empty() {
            say!("    it waits for plan jobs {}", named(&blockers.plans));
        }
        if !blockers.jobs.is_empty() {
            say!("    it waits for jobs {}", named(&blockers.jobs));
        }
        if !blockers.deployments.is_empty() {
            say!(
                "    it waits for deployments {}",
                named(&blockers.deployments)
            );
        }
    }
    let said = status.error.as_ref().map_or("", |error| &error.msg);
    said.lines()
        .for_each(|line| say!("    {}", escape_control(line)));
}

fn print(status: &CodeDeploysStatus) {
    let rows = status.file_sync_storage_status.deployed.iter().map(|live| {
        vec![
            terminal::escaped_name(&live.environment),
            short(&live.version).to_owned(),
            short(&live.deploy_signature).to_owned(),
            format_timestamp(&live.date),
        ]
    });
    let rows: Vec<_> = rows.collect();
    match rows.is_empty() {
        true => {
            say!("Nothing is live yet; `tutti code deploy --all` deploys what the sources have.")
        }
        false => table::print(&["ENVIRONMENT", "VERSION", "COMMIT", "SINCE"], rows),
    }
    for (name, follower) in &status.file_sync_client_status.file_sync_clients {
        let is = |key: &str| follower[key].as_bool().unwrap_or_default();
        let state = match (is("is-away"), is("synced-with-file-sync-storage")) {
            (true, _) => "is away",
            (false, true) => "has what is live",
            (false, false) => "does not have what is live yet",
        };
        say!("The follower {} {state}.", terminal::escaped_name(name));
        for (environment, why) in follower["errors"].as_object().into_iter().flatten() {
            let why = why.as_str().unwrap_or_default();
            say!(
                "    {}: {}",
                escape_control(environment),
                escape_control(why)
            );
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
    let row = |outcome: &CodeDeployment| {
        let what = match outcome.dry_run {
            true => format!("{} (dry run)", outcome.action),
            false => outcome.action.clone(),
        };
        let commit = outcome.control_commit.as_deref().map_or("", short);
        let finished = outcome.finished_timestamp.as_ref();
        vec![
            terminal::escaped_name(&outcome.environment),
            match outcome.state.as_str() {
                "failed" => terminal::style_failure("✗ failed"),
                _ => terminal::style_success("✓ done"),
            },
            escape_control(&what),
            outcome.id.to_string(),
            escape_control(commit),
            escape_control(&outcome.owner),
            finished.map_or_else(String::new, format_timestamp),
        ]
    };
    say!("\nThe newest deployment of each environment:");
    table::print(
        &["ENVIRONMENT", "OUTCOME", "WHAT", "ID", "COMMIT", "BY", "AT"],
        newest.iter().map(row).collect(),
    );
    for failed in newest.iter().filter(|outcome| outcome.state == "failed") {
        let environment = terminal::escaped_name(&failed.environment);
        say!("{} {environment} failed:", terminal::style_failure("✗"));
        if !failed.reason.is_empty() {
            say!("    reason: {}", escape_control(&failed.reason));
        }
        let said = failed
            .error
            .as_ref()
            .map_or("no reason is stored", |error| &error.msg);
        said.lines()
            .for_each(|line| say!("    {}", escape_control(line)));
    }
}

/// Prints that deployments are currently refused, and the reason.
fn print_refusal(why: &str, error: &ErrorBody) {
    say!(
        "{} deployments are refused, since {why}:",
        terminal::style_failure("✗")
    );
    let lines = error.msg.lines();
    lines.for_each(|line| say!("    {}", escape_control(line)));
}

/// Prints the configuration as `puppet-code print-config` does.
pub(super) fn print_config(connection: &ConnectionFlags) -> VerbResult {
    let settings = connection.settings()?;
    json(&object!({
        "service-url": settings.service_url,
        "cacert": settings.cacert,
        "token-file": settings.token_file,
    }));
    Ok(EXIT_SUCCESS)
}
