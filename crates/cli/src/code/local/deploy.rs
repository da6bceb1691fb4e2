//! `tutti code deploy --local`. Main function: [`run`].

use std::time::Instant;

use code_manager::source::{Environments, Found};
use code_manager::{Built, Deployer, Round};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::room;
use super::settings::chain;
use crate::code::deploy::Options;
use crate::code::shown::short;
use crate::{EXIT_NODES_FAILED, EXIT_SUCCESS, Failure, Format, terminal};

/// What became of an environment.
struct Ended {
    environment: String,
    outcome: Result<Live, String>,
    seconds: f64,
}

struct Live {
    built: Built,
    /// Whether it was live before.
    was_live: bool,
    notes: Vec<String>,
}

pub(in crate::code) async fn run(options: &Options) -> Result<u8, Failure> {
    let deployer = options.place.open()?;
    let round = deployer.round();
    let environments = deployer
        .environments(&round)
        .await
        .map_err(|error| Failure::Usage(chain(&error)))?;
    for refused in &environments.refused {
        anstream::eprintln!("{} {refused}", terminal::warn("warning:"));
    }
    let mut all = Vec::new();
    let (tools, at_once) = (&deployer, deployer.at_once());
    let each = wanted(options, &environments).into_iter();
    let each = each.map(|(name, found)| one(options, tools, &round, name, found));
    // Many at once, and told in their order.
    let mut ended = stream::iter(each).buffered(at_once);
    while let Some(ended) = ended.next().await {
        if options.format == Format::Human {
            ended.print(options.dry_run);
        }
        all.push(ended);
    }
    let removed = match options.all && !options.dry_run {
        true => remove(&deployer, &environments)?,
        false => Vec::new(),
    };
    let has_switched = |ended: &Ended| ended.outcome.as_ref().is_ok_and(|live| !live.was_live);
    let collected = match !options.dry_run && (all.iter().any(has_switched) || !removed.is_empty())
    {
        true => room::make(options, &deployer).await,
        false => None,
    };
    match options.format {
        Format::Json => say!(
            "{:#}",
            json!(all.iter().map(Ended::json).collect::<Vec<_>>())
        ),
        Format::Human => {
            for name in removed {
                say!(
                    "- {name}: its branch is gone, and so is the environment; its versions are kept"
                );
            }
            room::print(collected.as_ref());
        }
    }
    let failed = all.iter().any(|ended| ended.outcome.is_err());
    Ok(if failed {
        EXIT_NODES_FAILED
    } else {
        EXIT_SUCCESS
    })
}

fn wanted<'f>(
    options: &Options,
    environments: &'f Environments,
) -> Vec<(String, Option<&'f Found>)> {
    let found = &environments.found;
    if options.all {
        return found
            .iter()
            .map(|(name, found)| (name.to_string(), Some(found)))
            .collect();
    }
    let by_name = |name: &String| name.parse().ok().and_then(|parsed| found.get(&parsed));
    options
        .environments
        .iter()
        .map(|name| (name.clone(), by_name(name)))
        .collect()
}

async fn one(
    options: &Options,
    deployer: &Deployer,
    round: &Round,
    environment: String,
    found: Option<&Found>,
) -> Ended {
    let began = Instant::now();
    let outcome = match found {
        Some(found) => deploy(options, deployer, found, round).await,
        None => Err("no branch of any source has this name".to_owned()),
    };
    Ended {
        environment,
        outcome,
        seconds: began.elapsed().as_secs_f64(),
    }
}

async fn deploy(
    options: &Options,
    deployer: &Deployer,
    found: &Found,
    round: &Round,
) -> Result<Live, String> {
    let said = |error: &dyn std::error::Error| chain(error);
    let built = deployer
        .build(found, round)
        .await
        .map_err(|error| said(&error))?;
    let before = deployer.versions().live(&found.environment);
    let was_live = before.as_ref() == Some(&built.signature);
    let mut notes: Vec<String> = built
        .given_way
        .iter()
        .map(|path| {
            format!("{path} of the control repository is left out: a module of the Puppetfile stands there")
        })
        .chain(built.notes.iter().cloned())
        .collect();
    if !was_live && !options.dry_run {
        let switched = deployer.switch(&built.environment, &built.signature).await;
        let switched = switched.map_err(|error| said(&error))?;
        notes.extend(
            switched
                .moved_aside
                .map(|path| format!("what stood there before is in {}", path.display())),
        );
    }
    Ok(Live {
        built,
        was_live,
        notes,
    })
}

/// Takes away what has no branch any more. All sources were asked, else nobody would be here.
fn remove(deployer: &Deployer, environments: &Environments) -> Result<Vec<String>, Failure> {
    let versions = deployer.versions();
    let failed = |error: &dyn std::error::Error| Failure::Usage(chain(error));
    let live = versions.environments().map_err(|error| failed(&error))?;
    let mut removed = Vec::new();
    for (name, _) in live {
        if !environments.found.contains_key(&name) {
            versions.remove(&name).map_err(|error| failed(&error))?;
            removed.push(name.to_string());
        }
    }
    Ok(removed)
}

// === impl Ended ===

impl Ended {
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
                say!(
                    "{} {name}: {} {what} (commit {}, {modules} modules, {seconds:.2} s)",
                    terminal::good("✓"),
                    short(live.built.signature.as_str()),
                    short(&live.built.lock.control.commit),
                );
                live.notes.iter().for_each(|note| say!("    {note}"));
            }
            Err(error) => {
                say!(
                    "{} {name}: not deployed, and as it was before",
                    terminal::bad("✗")
                );
                error.lines().for_each(|line| say!("    {line}"));
            }
        }
    }

    fn json(&self) -> Value {
        match &self.outcome {
            Ok(live) => json!({
                "environment": self.environment,
                "status": if live.was_live { "unchanged" } else { "complete" },
                "deploy-signature": live.built.lock.control.commit,
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
