//! Options of commands that deploy on this machine. Main type: [`LocalCodeOptions`].

use std::path::PathBuf;

/// Options for r10k's settings and the directory for code.
#[derive(Debug, clap::Args)]
pub struct LocalCodeOptions {
    /// Deploy on this machine without a Tutti server, with r10k's configuration
    #[arg(long)]
    pub local: bool,
    /// With --local: r10k's configuration file: sources, git, deploy
    #[arg(
        long,
        value_name = "FILE",
        requires = "local",
        default_value = "/etc/puppetlabs/r10k/r10k.yaml"
    )]
    pub r10k_config: PathBuf,
    /// With --local: directory for cached repositories, files and versions; it must be readable by
    /// other users, such as that of the puppetserver
    #[arg(
        long,
        value_name = "DIR",
        requires = "local",
        default_value = "/opt/puppetlabs/tutti/code"
    )]
    pub directory: PathBuf,
}
