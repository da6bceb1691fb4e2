//! `tutti code versions --local`, `tutti code rollback --local`. Main functions: [`run`], [`rollback`].

use code_deployments::deployer::RestoredVersion;
use code_store::version::VersionSignature;
use code_store::version::VersionStore;
use code_store::version_lock::VersionLock;
use environments::EnvironmentName;
use serde_json::json;

use cli::code::RollbackOptions;
use cli::code::VersionsOptions;
use cli::code::short;
use cli::{CommandFailure, EXIT_SUCCESS, OutputFormat, say, table, terminal};
use error_causes::chain;

use super::directory;

/// A code version on this machine.
struct LocalVersion {
    environment: EnvironmentName,
    signature: VersionSignature,
    is_live: bool,
    lock: Option<VersionLock>,
}

pub(crate) fn run(options: &VersionsOptions) -> Result<u8, CommandFailure> {
    let mut all = list_versions(&directory::versions(&options.place)?)?;
    if let Some(wanted) = &options.environment {
        all.retain(|version| version.environment.as_str() == wanted);
    }
    match options.format {
        OutputFormat::Json => {
            let shown = all.iter().map(|version| {
                json!({
                    "environment": version.environment.as_str(),
                    "version": version.signature.as_str(),
                    "live": version.is_live,
                    "lock": version.lock,
                })
            });
            say!("{:#}", json!(shown.collect::<Vec<_>>()));
        }
        OutputFormat::Human => {
            let rows = all.iter().map(row).collect();
            table::print(
                &["ENVIRONMENT", "VERSION", "", "COMMIT", "BRANCH", "MODULES"],
                rows,
            );
        }
    }
    Ok(EXIT_SUCCESS)
}

fn row(version: &LocalVersion) -> Vec<String> {
    let control = version.lock.as_ref().map(|lock| &lock.control);
    let modules = version
        .lock
        .as_ref()
        .map(|lock| lock.modules.len().to_string());
    vec![
        version.environment.to_string(),
        short(version.signature.as_str()).to_owned(),
        if version.is_live {
            "live".to_owned()
        } else {
            String::new()
        },
        control.map_or_else(String::new, |control| short(&control.commit).to_owned()),
        control.map_or_else(String::new, |control| control.branch.clone()),
        modules.unwrap_or_default(),
    ]
}

fn list_versions(versions: &VersionStore) -> Result<Vec<LocalVersion>, CommandFailure> {
    let all = versions
        .all_versions()
        .map_err(|error| CommandFailure::Usage(chain(&error)))?;
    Ok(all
        .into_iter()
        .map(|(environment, signature)| LocalVersion {
            is_live: versions.live_version(&environment).as_ref() == Some(&signature),
            lock: versions.read_lock(&environment, &signature),
            environment,
            signature,
        })
        .collect())
}

pub(crate) async fn rollback(options: &RollbackOptions) -> Result<u8, CommandFailure> {
    let (deployer, _) = directory::open(&options.place)?;
    let digits = options.version.as_deref().unwrap_or_default();
    let mut fitting = list_versions(deployer.versions())?;
    fitting.retain(|version| {
        version.environment.as_str() == options.environment
            && version.signature.as_str().starts_with(digits)
    });
    let [version] = fitting.as_slice() else {
        let count = fitting.len();
        return Err(CommandFailure::Usage(format!(
            "{count} versions of {0} begin with {digits}; `tutti code versions {0} --local` lists them",
            options.environment
        )));
    };
    let restored = Box::pin(deployer.restore_once(&version.environment, &version.signature));
    match restored
        .await
        .map_err(|error| CommandFailure::Usage(chain(&error)))?
    {
        RestoredVersion::Whole(healed) if healed.is_empty() => {}
        RestoredVersion::Whole(healed) => {
            say!(
                "{} damaged files were restored: {}",
                healed.len(),
                healed.join(", ")
            );
        }
        RestoredVersion::Unknown(why) => anstream::eprintln!("its files were not compared: {why}"),
    }
    let switched = deployer
        .switch(&version.environment, &version.signature)
        .await;
    switched.map_err(|error| CommandFailure::Usage(chain(&error)))?;
    say!(
        "{} {}: {} is live",
        terminal::style_success("✓"),
        version.environment,
        short(version.signature.as_str())
    );
    Ok(EXIT_SUCCESS)
}
