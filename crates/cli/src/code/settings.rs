//! Where code comes from and goes to: [`Place`].

use std::path::PathBuf;

use code_manager::{Deployer, R10k};

use crate::Failure;

/// r10k's settings, and what is kept.
#[derive(Debug, clap::Args)]
pub(crate) struct Place {
    /// The settings of r10k: sources, git, deploy
    #[arg(
        long,
        value_name = "FILE",
        default_value = "/etc/puppetlabs/r10k/r10k.yaml"
    )]
    r10k_config: PathBuf,
    /// Where copies of repositories, files and versions are kept; others must be able to read it, the
    /// puppetserver among them
    #[arg(long, value_name = "DIR", default_value = "/opt/puppetlabs/tutti/code")]
    directory: PathBuf,
}

impl Place {
    /// Opens it; waits while another process deploys there.
    pub(super) fn open(&self) -> Result<Deployer, Failure> {
        let path = &self.r10k_config;
        let text = std::fs::read_to_string(path).map_err(|source| Failure::Read {
            path: path.clone(),
            source,
        })?;
        let content = |what: String| Failure::Content {
            place: path.display().to_string(),
            what,
        };
        let r10k = R10k::parse(&text).map_err(|error| content(error.to_string()))?;
        for key in &r10k.ignored {
            anstream::eprintln!("{}: {key} is not used", path.display());
        }
        Deployer::open(r10k.settings(&self.directory), r10k.git.clone())
            .map_err(|error| Failure::Usage(chain(&error)))
    }
}

/// An error with its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.ends_with(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
