//! Sources and directories of a deployment on this machine: [`LocalCodeOptions`].

use error_causes::chain;
use std::path::PathBuf;

use code_deployments::Deployer;
use code_settings::R10k;
use code_store::gc::is_claimed;
use code_store::hold::DirectoryLockHolder;
use code_store::version::Versions;
use code_store::write_probe::WriteProbe;

use crate::{Failure, terminal};

/// Options for r10k's settings and the directory for code.
#[derive(Debug, clap::Args)]
pub(crate) struct LocalCodeOptions {
    /// Deploy on this machine without a Tutti server, with r10k's configuration
    #[arg(long)]
    pub(in crate::code) local: bool,
    /// With --local: r10k's configuration file: sources, git, deploy
    #[arg(
        long,
        value_name = "FILE",
        requires = "local",
        default_value = "/etc/puppetlabs/r10k/r10k.yaml"
    )]
    r10k_config: PathBuf,
    /// With --local: directory for cached repositories, files and versions; it must be readable by
    /// other users, such as that of the puppetserver
    #[arg(
        long,
        value_name = "DIR",
        requires = "local",
        default_value = "/opt/puppetlabs/tutti/code"
    )]
    directory: PathBuf,
}

impl LocalCodeOptions {
    /// Opens the code directory; prints a line and waits while another process deploys there. Also
    /// returns the `postrun` command for the end of the deployment.
    pub(super) fn open(&self) -> Result<(Deployer, Vec<String>), Failure> {
        let r10k = self.read()?;
        for key in &r10k.ignored {
            anstream::eprintln!("{}: {key} is not used", self.r10k_config.display());
        }
        let settings = r10k.settings(&self.directory);
        let postrun = settings.postrun.clone();
        let waiting = |holder: &DirectoryLockHolder| waiting(holder, is_claimed(&self.directory));
        let probe = WriteProbe::new(&settings.directory, &settings.environments);
        let deployer = Deployer::open_telling(settings, r10k.git.clone(), waiting);
        let deployer = deployer.map_err(|error| {
            let told = probe.obstacles().into_iter();
            let told = told.fold(chain(&error), |text, it| format!("{text}\n{it}"));
            Failure::Usage(told)
        })?;
        Ok((deployer, postrun))
    }

    /// The versions on disk, readable also while another process deploys.
    pub(super) fn look(&self) -> Result<Versions, Failure> {
        let settings = self.read()?.settings(&self.directory);
        Ok(Versions::look(&settings.directory, &settings.environments))
    }

    fn read(&self) -> Result<R10k, Failure> {
        let path = &self.r10k_config;
        let text = std::fs::read_to_string(path).map_err(|source| Failure::Read {
            path: path.clone(),
            source,
        })?;
        R10k::parse(&text).map_err(|error| Failure::Content {
            place: path.display().to_string(),
            what: error.to_string(),
        })
    }
}

fn waiting(holder: &DirectoryLockHolder, is_of_a_server: bool) {
    let since = jiff::Timestamp::try_from(holder.since).ok();
    let since = since.map(|since| format!(" since {since:.0}"));
    anstream::eprintln!(
        "{} the process {} deploys there{}; waiting until it is done",
        terminal::warn("waiting:"),
        holder.pid,
        since.unwrap_or_default(),
    );
    if is_of_a_server {
        anstream::eprintln!(
            "    a server deploys there until it is stopped; if it is that, leave out --local, and it does this"
        );
    }
}
