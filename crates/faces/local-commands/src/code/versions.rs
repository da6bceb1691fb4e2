//! `tutti code versions --local` and `tutti code rollback --local`. Main functions: [`run`],
//! [`rollback`].

use code_deployments::deployer::RestoredVersion;
use code_store::version::VersionSignature;
use code_store::version::VersionStore;
use code_store::version_lock::VersionLock;
use environments::EnvironmentName;
use serde_json::json;

use cli::code::RollbackOptions;
use cli::code::VersionsOptions;
use cli::code::short;
use cli::{CommandFailure, EXIT_SUCCESS, present, say, terminal};
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
    let shown = all.iter().map(|version| {
        json!({
            "environment": version.environment.as_str(),
            "version": version.signature.as_str(),
            "live": version.is_live,
            "lock": version.lock,
        })
    });
    let shown: Vec<_> = shown.collect();
    if options.shown.format.print_json(&shown) {
        return Ok(EXIT_SUCCESS);
    }
    let lock = |version: &LocalVersion, text: fn(&VersionLock) -> String| {
        version.lock.as_ref().map(text).unwrap_or_default()
    };
    present::table(
        &all,
        &[
            ("ENVIRONMENT", &|version| version.environment.to_string()),
            ("VERSION", &|version| {
                short(version.signature.as_str()).to_owned()
            }),
            ("", &|version| {
                if version.is_live { "live" } else { "" }.to_owned()
            }),
            ("COMMIT", &|version| {
                lock(version, |lock| short(&lock.control.commit).to_owned())
            }),
            ("BRANCH", &|version| {
                lock(version, |lock| lock.control.branch.clone())
            }),
            ("MODULES", &|version| {
                lock(version, |lock| lock.modules.len().to_string())
            }),
        ],
    );
    Ok(EXIT_SUCCESS)
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
