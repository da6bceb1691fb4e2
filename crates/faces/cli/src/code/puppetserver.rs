//! Options of `tutti code id`, `content` and `puppetserver-setup`: [`IdOptions`],
//! [`ContentOptions`], [`SetupOptions`].

use std::path::PathBuf;

/// Directories of deployed code.
#[derive(Debug, clap::Args)]
pub struct CodeDirectories {
    /// Puppet's codedir, which contains the environments
    #[arg(long, value_name = "DIR", default_value = "/etc/puppetlabs/code")]
    pub codedir: PathBuf,
    /// Directory of code versions: code.directory of the server's configuration
    #[arg(long, value_name = "DIR", default_value = "/opt/puppetlabs/tutti/code")]
    pub directory: PathBuf,
}

/// Arguments of `tutti code id`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code id production
  tutti code id --wait production

The id is of the version that the environment's link leads to. It is read from the disk; no server is asked.")]
pub struct IdOptions {
    /// Name of the environment
    pub environment: String,
    /// Wait while a deployment switches, as a puppetserver must; each waiting call counts as a
    /// compilation
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    pub place: CodeDirectories,
}

/// Arguments of `tutti code content`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  tutti code content production 'urn:puppet:code-id:1:b4ed19a7ba0f72713aa68cf4481cc2292b73d424;production' modules/web/files/motd

The id is what `tutti code id` printed. Versions that are not live any more are answered as long as they are kept. Only what puppetserver may give out is \
printed: files below a module's files, tasks, scripts and lib.")]
pub struct ContentOptions {
    /// Name of the environment
    pub environment: String,
    /// Code id of the version
    pub code_id: String,
    /// Path of the file, relative to the environment's directory
    pub path: String,
    #[command(flatten)]
    pub place: CodeDirectories,
}

/// Arguments of `tutti code puppetserver-setup`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  tutti code puppetserver-setup --certname puppet.example.com

Nothing is written: it is for you to look at and to put where it belongs.")]
pub struct SetupOptions {
    /// Certname that this machine's Tutti server presents to the puppetserver
    #[arg(long, value_name = "CERTNAME")]
    pub certname: String,
    #[command(flatten)]
    pub place: CodeDirectories,
}
