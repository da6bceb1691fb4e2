//! `tutti code deploy`. Main function: [`run`].

use std::fmt;
use std::str::FromStr;

use api_types::{CodeDeploy, CodeDeploysCommand};

use super::CODE_MANAGER;
use super::directory::LocalCodeOptions;
use super::display::{print_changes, print_error, print_warnings, short};
use crate::client::ApiClient;
use crate::defaults::KEEP_VERSIONS;
use crate::failure::usage;
use crate::present::OutputOptions;
use crate::terminal::{escape_control, escaped_name, style_failure, style_success};
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, ProgramName, Result, VerbResult};

/// Arguments of `tutti code deploy`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code deploy production --reason 'the new web tier'
  tutti code deploy --all
  tutti code deploy feature_x --dry-run
  tutti code deploy --all --format json | jq -r '.[] | select(.status == \"failed\") | .error.msg'
  tutti code deploy production --local --r10k-config /etc/puppetlabs/r10k/r10k.yaml
  tutti code deploy production --module apt
  tutti code deploy --local --module apt

Exit codes: 0 everything is live that was asked for, or is under way with --no-wait; 1 something is not,
or not yet on a server that follows;
2 nothing was asked for, since the settings or the server's answer do not allow it.")]
pub struct Options {
    /// Environments, named after their branches
    #[arg(value_name = "ENVIRONMENT")]
    pub environments: Vec<String>,
    /// All environments; those whose branches are gone are removed
    #[arg(long, conflicts_with = "environments")]
    pub all: bool,
    /// Look up only this module and leave everything else as it is live; in all environments that
    /// have it unless some are named
    #[arg(long = "module", value_name = "MODULE")]
    pub modules: Vec<String>,
    /// Leave modules as they are live, and look up only the control repository
    #[arg(long, conflicts_with_all = ["modules", "local"])]
    no_modules: bool,
    /// Build the versions and compare them without switching; all environments unless some are
    /// named
    #[arg(long)]
    pub dry_run: bool,
    /// Do not wait until the deployment ends
    #[arg(long, conflicts_with = "local")]
    no_wait: bool,
    /// Wait until the deployment ends: the default of tutti; puppet-code needs it
    #[arg(long, short, hide = true, conflicts_with = "no_wait")]
    wait: bool,
    /// Reason, shown in the history
    #[arg(
        long,
        default_value = "",
        hide_default_value = true,
        conflicts_with = "local"
    )]
    reason: String,
    #[command(flatten)]
    pub shown: OutputOptions,
    /// With --local: number of versions of each environment to keep beside the live one, or all
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "local",
        default_value_t = VersionsToKeep(Some(KEEP_VERSIONS))
    )]
    pub keep_versions: VersionsToKeep,
    /// With --local: days for which other versions are kept after they were live
    #[arg(long, value_name = "DAYS", requires = "local", default_value_t = KEEP_DAYS)]
    pub keep_days: u32,
    #[command(flatten)]
    pub place: LocalCodeOptions,
}

/// Number of versions to keep; `None`: all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionsToKeep(pub Option<usize>);

const KEEP_DAYS: u32 = 7;

// === impl VersionsToKeep ===

impl FromStr for VersionsToKeep {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "all" => Ok(Self(None)),
            _ => text
                .parse()
                .map(|number| Self(Some(number)))
                .map_err(|_| "a number, or all"),
        }
    }
}

impl fmt::Display for VersionsToKeep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => write!(f, "{number}"),
            None => f.write_str("all"),
        }
    }
}

// === impl Options ===

impl Options {
    /// Refuses to deploy everything unless --all is given.
    ///
    /// # Errors
    /// Neither environments nor modules are named, and `--all` is missing.
    pub fn check(&self) -> Result<()> {
        let names_what = !self.environments.is_empty() || !self.modules.is_empty();
        if names_what || self.all || self.dry_run {
            return Ok(());
        }
        usage(
            "no environment is named: name some, as in `tutti code deploy production`, or deploy all with --all",
        )
    }
}

pub(super) async fn run(options: &Options, client: &ApiClient, name: ProgramName) -> VerbResult {
    options.check()?;
    let command = CodeDeploysCommand {
        environments: options.environments.clone(),
        deploy_all: options.all || options.environments.is_empty(),
        deploy_modules: options.no_modules.then_some(false),
        modules: options.modules.clone(),
        wait: match name {
            ProgramName::Tutti => !options.no_wait,
            ProgramName::Puppet => options.wait,
        },
        dry_run: options.dry_run,
        reason: options.reason.clone(),
    };
    let deploys: Vec<CodeDeploy> = client.post_long(&CODE_MANAGER, &command).await?;
    options
        .shown
        .format
        .under(name)
        .present(&deploys, |deploys| {
            deploys.iter().for_each(|it| print(it, options.dry_run));
        })?;
    let is_well = |it: &CodeDeploy| it.status != "failed" && it.late_followers.is_empty();
    let is_well = deploys.iter().all(is_well);
    Ok(match is_well {
        true => EXIT_SUCCESS,
        false => EXIT_NODES_FAILED,
    })
}

fn print(deploy: &CodeDeploy, is_dry: bool) {
    let name = escaped_name(&deploy.environment);
    match deploy.status.as_str() {
        "complete" => print_completed(&name, deploy, is_dry),
        "failed" => {
            let mark = style_failure("✗");
            say!("{mark} {name}: {}", failure(is_dry));
            print_error(deploy.error.as_ref());
        }
        "syncing" if !deploy.late_followers.is_empty() => {
            print_completed(&name, deploy, is_dry);
            for late in &deploy.late_followers {
                let mark = style_failure("✗");
                let (name, why) = (escape_control(&late.name), escape_control(&late.why));
                say!("    {mark} {name} does not have it yet: {why}");
            }
        }
        other => {
            let state = escape_control(other);
            let id = deploy.id.map_or_else(String::new, |id| format!(" as {id}"));
            say!("… {name}: {state}{id}; `tutti code status` tells how it ends");
        }
    }
}

/// The line for an environment that did not go live, or would not in a dry run.
pub fn failure(is_dry: bool) -> &'static str {
    match is_dry {
        true => "could not go live, and stays as it was",
        false => "not deployed, and stays as it was",
    }
}

fn print_completed(name: &str, deploy: &CodeDeploy, is_dry: bool) {
    let mark = style_success("✓");
    let Some(told) = &deploy.deployment else {
        say!("{mark} {name}");
        return;
    };
    let version = told.version.as_deref().map(short);
    let version = version.filter(|_| told.action != "remove");
    let Some(version) = version else {
        say!(
            "{} {name}: removed, since its branch is gone; its versions are kept",
            style_success("-")
        );
        return print_warnings(told);
    };
    let what = match (told.version == told.version_before, is_dry) {
        (true, _) => "is live already",
        (false, true) => "could go live",
        (false, false) => "is live",
    };
    let commit = told.control_commit.as_deref().map(short);
    let commit = commit.map_or_else(String::new, |commit| format!("commit {commit}, "));
    let modules = told.modules;
    say!("{mark} {name}: {version} {what} ({commit}{modules} modules)");
    // For a first deployment everything is new.
    if told.version_before.is_some() {
        print_changes(told.changes.as_ref());
    }
    print_warnings(told);
}
