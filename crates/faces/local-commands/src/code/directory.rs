//! The code directory of a deployment on this machine. Main functions: [`open`], [`versions`].

use error_causes::chain;

use code_deployments::Deployer;
use code_settings::R10kSettings;
use code_store::directory_lock::DirectoryLockHolder;
use code_store::gc::is_claimed;
use code_store::version::VersionStore;
use code_store::write_probe::WriteProbe;

use cli::code::LocalCodeOptions;
use cli::{CommandFailure, terminal};

/// Opens the code directory; prints a line and waits while another process deploys there. Also
/// returns the `postrun` command for the end of the deployment.
pub(super) fn open(options: &LocalCodeOptions) -> Result<(Deployer, Vec<String>), CommandFailure> {
    let r10k = read_settings(options)?;
    for key in &r10k.ignored {
        anstream::eprintln!("{}: {key} is not used", options.r10k_config.display());
    }
    let settings = r10k.settings(&options.directory);
    let postrun = settings.postrun.clone();
    let waiting = |holder: &DirectoryLockHolder| waiting(holder, is_claimed(&options.directory));
    let probe = WriteProbe::new(&settings.directory, &settings.environments);
    let deployer = Deployer::open_reporting_holder(settings, r10k.git.clone(), waiting);
    let deployer = deployer.map_err(|error| {
        let told = probe.obstacles().into_iter();
        let told = told.fold(chain(&error), |text, it| format!("{text}\n{it}"));
        CommandFailure::Usage(told)
    })?;
    Ok((deployer, postrun))
}

/// The versions on disk, readable also while another process deploys.
pub(super) fn versions(options: &LocalCodeOptions) -> Result<VersionStore, CommandFailure> {
    let settings = read_settings(options)?.settings(&options.directory);
    Ok(VersionStore::open_read_only(
        &settings.directory,
        &settings.environments,
    ))
}

fn read_settings(options: &LocalCodeOptions) -> Result<R10kSettings, CommandFailure> {
    let path = &options.r10k_config;
    let text = std::fs::read_to_string(path).map_err(|source| CommandFailure::Read {
        path: path.clone(),
        source,
    })?;
    R10kSettings::parse(&text).map_err(|error| CommandFailure::Content {
        place: path.display().to_string(),
        what: error.to_string(),
    })
}

fn waiting(holder: &DirectoryLockHolder, is_of_a_server: bool) {
    let since = jiff::Timestamp::try_from(holder.since).ok();
    let since = since.map(|since| format!(" since {since:.0}"));
    anstream::eprintln!(
        "{} the process {} deploys there{}; waiting until it is done",
        terminal::style_warning("waiting:"),
        holder.pid,
        since.unwrap_or_default(),
    );
    if is_of_a_server {
        anstream::eprintln!(
            "    a server deploys there until it is stopped; if it is that, leave out --local, and it does this"
        );
    }
}
