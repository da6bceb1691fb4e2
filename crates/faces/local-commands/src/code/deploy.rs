//! `tutti code deploy --local`. Main function: [`run`].

use std::time::Instant;

use code_deployments::{BuiltVersion, Deployer, postrun};
use code_sources::resolve::ResolveRound;
use code_sources::source::{FoundEnvironment, FoundEnvironments};
use code_store::write_probe::ProbeScope;
use environments::EnvironmentName;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::{directory, gc};
use cli::code::{DeployOptions, failure_text, short};
use cli::{CommandFailure, EXIT_NODES_FAILED, EXIT_SUCCESS, OutputFormat, say, terminal};
use error_causes::chain;

/// The result of deploying one environment.
struct EnvironmentResult {
    environment: String,
    outcome: Result<LiveVersion, String>,
    seconds: f64,
}

struct LiveVersion {
    built: BuiltVersion,
    /// True if this version was live before.
    was_live: bool,
    notes: Vec<String>,
}

/// The planned deployment of one environment.
enum PlannedDeployment<'f> {
    /// Build everything from its source.
    FullBuild(&'f FoundEnvironment),
    /// Keep the live version and look up some modules anew.
    Modules(EnvironmentName),
    /// No source has this environment.
    Unknown,
}

pub(crate) async fn run(options: &DeployOptions) -> Result<u8, CommandFailure> {
    options.check()?;
    let (deployer, command) = directory::open(&options.place)?;
    let done = match options.modules.is_empty() {
        true => Box::pin(deploy_round(options, &deployer)).await,
        false => Box::pin(modules(options, &deployer)).await,
    };
    let DeployResult { code, modified } = done?;
    // Another process may deploy from now on, including one that the command of `postrun` starts.
    drop(deployer);
    let modified = modified.filter(|_| !options.dry_run && !command.is_empty());
    let Some(modified) = modified else {
        return Ok(code);
    };
    match Box::pin(postrun::run(&command, &modified)).await {
        Ok(()) => Ok(code),
        Err(error) => {
            anstream::eprintln!("{} {error}", terminal::style_failure("✗"));
            Ok(EXIT_NODES_FAILED)
        }
    }
}

/// The result of a deployment.
struct DeployResult {
    code: u8,
    /// The environments given to `postrun`, as r10k does: all that were deployed completely, and
    /// for modules those whose version changed. `None`: it does not run.
    modified: Option<Vec<EnvironmentName>>,
}

async fn deploy_round(
    options: &DeployOptions,
    deployer: &Deployer,
) -> Result<DeployResult, CommandFailure> {
    let round = deployer.start_round();
    let environments = deployer
        .list_environments(&round)
        .await
        .map_err(|error| CommandFailure::Usage(chain(&error)))?;
    for refused in &environments.errors {
        anstream::eprintln!("{} {refused}", terminal::style_warning("warning:"));
    }
    let wishes = select_environments(options, &environments);
    let known = wishes.iter().filter_map(|(_, wish)| match wish {
        PlannedDeployment::FullBuild(found) => Some(found.environment.clone()),
        PlannedDeployment::Modules(_) | PlannedDeployment::Unknown => None,
    });
    let modified = Some(known.collect());
    let all = deploy_each(options, deployer, &round, wishes).await;
    let removed = match options.all && !options.dry_run {
        true => remove(deployer, &environments).await?,
        false => Vec::new(),
    };
    if options.shown.format == OutputFormat::Human {
        for name in &removed {
            say!("- {name}: removed, since its branch is gone; its versions are kept");
        }
    }
    if has_new_version(options, &all) || !removed.is_empty() {
        Box::pin(gc::collect(options, deployer)).await;
    }
    let code = report(options, &all);
    Ok(DeployResult { code, modified })
}

/// True if garbage collection may find a version to remove.
fn has_new_version(options: &DeployOptions, all: &[EnvironmentResult]) -> bool {
    let has_switched =
        |ended: &EnvironmentResult| ended.outcome.as_ref().is_ok_and(|live| !live.was_live);
    !options.dry_run && all.iter().any(has_switched)
}

/// Deploys only some modules, of the environments that have them.
async fn modules(
    options: &DeployOptions,
    deployer: &Deployer,
) -> Result<DeployResult, CommandFailure> {
    let round = deployer.start_round();
    let live = deployer.versions().live_environments();
    let live = live.map_err(|error| CommandFailure::Usage(chain(&error)))?;
    let by_name = |name: &String| {
        name.parse()
            .map_or(PlannedDeployment::Unknown, PlannedDeployment::Modules)
    };
    let wishes: Vec<(String, PlannedDeployment<'_>)> = match options.environments.is_empty() {
        true => live
            .into_iter()
            .map(|(name, _)| (name.to_string(), PlannedDeployment::Modules(name)))
            .collect(),
        false => options
            .environments
            .iter()
            .map(|name| (name.clone(), by_name(name)))
            .collect(),
    };
    let all = deploy_each(options, deployer, &round, wishes).await;
    if all.is_empty() {
        return Err(CommandFailure::Usage(format!(
            "no environment that is live has the module {}",
            options.modules.join(", ")
        )));
    }
    if has_new_version(options, &all) {
        Box::pin(gc::collect(options, deployer)).await;
    }
    let modified = all.iter().filter_map(|ended| {
        let live = ended.outcome.as_ref().ok();
        Some(
            live.filter(|live| !live.was_live)?
                .built
                .environment
                .clone(),
        )
    });
    let modified: Vec<EnvironmentName> = modified.collect();
    Ok(DeployResult {
        code: report(options, &all),
        modified: Some(modified).filter(|it| !it.is_empty()),
    })
}

/// Deploys several environments concurrently and reports them in order.
async fn deploy_each(
    options: &DeployOptions,
    deployer: &Deployer,
    round: &ResolveRound,
    wishes: Vec<(String, PlannedDeployment<'_>)>,
) -> Vec<EnvironmentResult> {
    let mut all = Vec::new();
    let each = wishes.into_iter();
    let each = each.map(|(name, wish)| deploy_one(options, deployer, round, name, wish));
    let mut ended = stream::iter(each).buffered(deployer.concurrency());
    while let Some(ended) = ended.next().await {
        let Some(ended) = ended else {
            continue;
        };
        if options.shown.format == OutputFormat::Human {
            ended.print(options.dry_run);
        }
        all.push(ended);
    }
    all
}

/// Prints the results and returns the exit code.
fn report(options: &DeployOptions, all: &[EnvironmentResult]) -> u8 {
    if options.shown.format == OutputFormat::Json {
        say!(
            "{:#}",
            json!(
                all.iter()
                    .map(EnvironmentResult::result_json)
                    .collect::<Vec<_>>()
            )
        );
    }
    match all.iter().any(|ended| ended.outcome.is_err()) {
        true => EXIT_NODES_FAILED,
        false => EXIT_SUCCESS,
    }
}

fn select_environments<'f>(
    options: &DeployOptions,
    environments: &'f FoundEnvironments,
) -> Vec<(String, PlannedDeployment<'f>)> {
    let found = &environments.by_name;
    if options.all {
        return found
            .iter()
            .map(|(name, found)| (name.to_string(), PlannedDeployment::FullBuild(found)))
            .collect();
    }
    let by_name = |name: &String| name.parse().ok().and_then(|parsed| found.get(&parsed));
    options
        .environments
        .iter()
        .map(|name| {
            (
                name.clone(),
                by_name(name).map_or(PlannedDeployment::Unknown, PlannedDeployment::FullBuild),
            )
        })
        .collect()
}

/// Deploys one environment; `None` if it does not have the module and was not named explicitly.
async fn deploy_one(
    options: &DeployOptions,
    deployer: &Deployer,
    round: &ResolveRound,
    environment: String,
    wish: PlannedDeployment<'_>,
) -> Option<EnvironmentResult> {
    let began = Instant::now();
    if let PlannedDeployment::FullBuild(FoundEnvironment {
        environment: name, ..
    })
    | PlannedDeployment::Modules(name) = &wish
        && let Err(error) = deployer
            .probe_writing(name, ProbeScope::BuildAndSwitch)
            .await
    {
        return Some(EnvironmentResult {
            environment,
            outcome: Err(chain(&error)),
            seconds: began.elapsed().as_secs_f64(),
        });
    }
    let built = match wish {
        PlannedDeployment::FullBuild(found) => {
            let built = deployer.build(found, round).await;
            built.map_err(|error| chain(&error))
        }
        PlannedDeployment::Modules(name) => {
            let built = deployer.build_modules(&name, &options.modules, round);
            match Box::pin(built).await {
                Ok(Some(built)) => Ok(built),
                Ok(None) if options.environments.is_empty() => return None,
                Ok(None) => Err(format!("it has no module {}", options.modules.join(", "))),
                Err(error) => Err(chain(&error)),
            }
        }
        PlannedDeployment::Unknown => Err("no branch of any source has this name".to_owned()),
    };
    let outcome = match built {
        Ok(built) => go_live(options, deployer, built).await,
        Err(error) => Err(error),
    };
    Some(EnvironmentResult {
        environment,
        outcome,
        seconds: began.elapsed().as_secs_f64(),
    })
}

async fn go_live(
    options: &DeployOptions,
    deployer: &Deployer,
    built: BuiltVersion,
) -> Result<LiveVersion, String> {
    let before = deployer.versions().live_version(&built.environment);
    let was_live = before.as_ref() == Some(&built.signature);
    let mut notes: Vec<String> = built
        .omitted_directories
        .iter()
        .map(|path| {
            format!("{path} of the control repository is left out: a module of the Puppetfile stands there")
        })
        .chain(built.notes.iter().cloned())
        .collect();
    if !was_live && !options.dry_run {
        let switched = deployer.switch(&built.environment, &built.signature).await;
        let switched = switched.map_err(|error| chain(&error))?;
        notes.extend(
            switched
                .moved_aside
                .map(|path| format!("what stood there before is in {}", path.display())),
        );
    }
    Ok(LiveVersion {
        built,
        was_live,
        notes,
    })
}

/// Removes environments without a branch. Reached only after all sources were read.
async fn remove(
    deployer: &Deployer,
    environments: &FoundEnvironments,
) -> Result<Vec<String>, CommandFailure> {
    let failed = |error: &(dyn std::error::Error + 'static)| CommandFailure::Usage(chain(error));
    let gone = deployer.deleted_environments(environments);
    let mut removed = Vec::new();
    for name in gone.map_err(|error| failed(&error))? {
        let is_removed = deployer.remove(&name).await;
        if is_removed.map_err(|error| failed(&error))? {
            removed.push(name.to_string());
        }
    }
    Ok(removed)
}

// === impl EnvironmentResult ===

impl EnvironmentResult {
    fn print(&self, is_dry: bool) {
        let (name, seconds) = (&self.environment, self.seconds);
        match &self.outcome {
            Ok(live) => {
                let what = match (live.was_live, is_dry) {
                    (true, _) => "is live already",
                    (false, true) => "could go live",
                    (false, false) => "is live",
                };
                let modules = live.built.lock.modules.len();
                let control = live.built.lock.control.resolved_commit().map(short);
                let control = control.map(|commit| format!("commit {commit}, "));
                say!(
                    "{} {name}: {} {what} ({}{modules} modules, {seconds:.2} s)",
                    terminal::style_success("✓"),
                    short(live.built.signature.as_str()),
                    control.unwrap_or_default(),
                );
                live.notes.iter().for_each(|note| say!("    {note}"));
            }
            Err(error) => {
                say!(
                    "{} {name}: {}",
                    terminal::style_failure("✗"),
                    failure_text(is_dry)
                );
                error.lines().for_each(|line| say!("    {line}"));
            }
        }
    }

    fn result_json(&self) -> Value {
        match &self.outcome {
            Ok(live) => json!({
                "environment": self.environment,
                "status": if live.was_live { "unchanged" } else { "complete" },
                "deploy-signature": live.built.lock.control.resolved_commit(),
                "version": live.built.signature.as_str(),
                "lock": live.built.lock,
                "notes": live.notes,
                "seconds": self.seconds,
            }),
            Err(error) => json!({
                "environment": self.environment,
                "status": "failed",
                "error": {
                    "kind": "puppetlabs.code-manager/deploy-failure",
                    "msg": error,
                    "details": {},
                },
                "seconds": self.seconds,
            }),
        }
    }
}
