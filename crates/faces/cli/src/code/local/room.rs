//! Old versions go after a deployment on this machine. Main function: [`make`].
//!
//! The rules: where a server deployed, too, nothing is removed, since only it knows what its plans need; and
//! what cannot be removed is a warning, since all is live that was asked for.

use std::time::Duration;

use code_deployments::Deployer;
use code_store::gc::{CollectOptions, CollectedGarbage, RetentionSettings};

use crate::code::deploy::Options;
use crate::code::shown::megabytes;
use crate::{Format, terminal};
use error_causes::chain;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Removes what nobody needs, says so, and packs copies of repositories that need it. Nothing is deployed
/// meanwhile.
pub(super) async fn make(options: &Options, deployer: &Deployer) {
    deployer.repack().await;
    if deployer.is_of_a_server() {
        return;
    }
    let kept = CollectOptions {
        keep: RetentionSettings {
            versions: options.keep_versions.0,
            age: DAY * options.keep_days,
        },
        ..CollectOptions::default()
    };
    let deployer = deployer.clone();
    let collected = tokio::task::spawn_blocking(move || deployer.collect(&kept, true)).await;
    match collected {
        Ok(Ok(collected)) if options.format == Format::Human => print(&collected),
        Ok(Err(error)) => {
            let why = chain(&error);
            anstream::eprintln!("{} old versions stay: {why}", terminal::warn("warning:"));
        }
        // All is said, or a panic was told when it happened.
        Ok(Ok(_)) | Err(_) => {}
    }
}

fn print(collected: &CollectedGarbage) {
    let (versions, bytes) = (collected.versions.len(), megabytes(collected.bytes));
    if versions > 0 {
        say!("- {versions} versions that nobody needs went: {bytes:.1} MB");
    }
}
