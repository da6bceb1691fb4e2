//! Garbage collection after a deployment on this machine. Main function: [`collect`].
//!
//! Invariants: where a server deploys too, nothing is removed, since only the server knows which
//! versions its plans need; and a failed removal is a warning, since the requested code is live.

use std::time::Duration;

use code_deployments::Deployer;
use code_store::gc::{CollectedGarbage, GcOptions, RetentionSettings};

use cli::code::DeployOptions;
use cli::code::megabytes;
use cli::{OutputFormat, say, terminal};
use error_causes::chain;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes unneeded versions, reports them, and repacks cached repositories that need it. No
/// deployment runs meanwhile.
pub(super) async fn collect(options: &DeployOptions, deployer: &Deployer) {
    deployer.repack().await;
    if deployer.is_claimed_by_server() {
        return;
    }
    let kept = GcOptions {
        keep: RetentionSettings {
            versions: options.keep_versions.0,
            age: DAY * options.keep_days,
        },
        ..GcOptions::default()
    };
    let deployer = deployer.clone();
    let collected = tokio::task::spawn_blocking(move || deployer.collect(&kept, true)).await;
    match collected {
        Ok(Ok(collected)) if options.shown.format == OutputFormat::Human => print(&collected),
        Ok(Err(error)) => {
            let why = chain(&error);
            anstream::eprintln!(
                "{} old versions stay: {why}",
                terminal::style_warning("warning:")
            );
        }
        // Either everything was reported, or the panic was when it happened.
        Ok(Ok(_)) | Err(_) => {}
    }
}

fn print(collected: &CollectedGarbage) {
    let (versions, bytes) = (collected.versions.len(), megabytes(collected.bytes));
    if versions > 0 {
        say!("- {versions} unneeded versions were removed: {bytes:.1} MB");
    }
}
