//! `tutti code id`, `content` and `puppetserver-setup`: the commands that a puppetserver on this
//! machine runs, and its configuration.
//!
//! Invariant: the commands that a puppetserver runs contact no server and read no settings, since
//! it waits for them at each compilation.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use code_deployments::gate;
use code_store::version::Versions;
use code_store::versioned_code::{self, CodeId};

use crate::{EXIT_SUCCESS, Failure};
use error_causes::chain;

/// Directories of deployed code.
#[derive(Debug, clap::Args)]
pub(crate) struct CodeDirectories {
    /// Puppet's codedir, which contains the environments
    #[arg(long, value_name = "DIR", default_value = "/etc/puppetlabs/code")]
    codedir: PathBuf,
    /// Directory of code versions: code.directory of the server's configuration
    #[arg(long, value_name = "DIR", default_value = "/opt/puppetlabs/tutti/code")]
    directory: PathBuf,
}

/// Arguments of `tutti code id`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  tutti code id production
  tutti code id --wait production

The id is of the version that the environment's link leads to. It is read from the disk; no server is asked.")]
pub struct IdOptions {
    /// Name of the environment
    environment: String,
    /// Wait while a deployment switches, as a puppetserver must; each waiting call counts as a
    /// compilation
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    place: CodeDirectories,
}

/// Arguments of `tutti code content`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  tutti code content production 'urn:puppet:code-id:1:b4ed19a7ba0f72713aa68cf4481cc2292b73d424;production' modules/web/files/motd

The id is what `tutti code id` printed. Versions that are not live any more are answered as long as they are kept. Only what puppetserver may give out is \
printed: files below a module's files, tasks, scripts and lib.")]
pub struct ContentOptions {
    /// Name of the environment
    environment: String,
    /// Code id of the version
    code_id: String,
    /// Path of the file, relative to the environment's directory
    path: String,
    #[command(flatten)]
    place: CodeDirectories,
}

/// Arguments of `tutti code puppetserver-setup`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  tutti code puppetserver-setup --certname puppet.example.com

Nothing is written: it is for you to look at and to put where it belongs.")]
pub struct SetupOptions {
    /// Certname that this machine's Tutti server presents to the puppetserver
    #[arg(long, value_name = "CERTNAME")]
    certname: String,
    #[command(flatten)]
    place: CodeDirectories,
}

impl CodeDirectories {
    fn versions(&self) -> Versions {
        Versions::look(&self.directory, &self.codedir.join("environments"))
    }
}

pub(super) fn id(options: &IdOptions) -> Result<u8, Failure> {
    let environment = parsed(&options.environment)?;
    if options.wait
        && let Err(error) = gate::pass(&options.place.directory)
    {
        // The compilation goes on: no answer at all would be worse than code that may be mixed.
        let directory = options.place.directory.display();
        anstream::eprintln!("cannot wait for deployments in {directory}: {error}");
    }
    let id = versioned_code::id(&options.place.versions(), &environment);
    say!("{}", id.map_err(|error| Failure::Usage(chain(&error)))?);
    Ok(EXIT_SUCCESS)
}

pub(super) fn content(options: &ContentOptions) -> Result<u8, Failure> {
    let environment = parsed(&options.environment)?;
    let id: CodeId = parsed(&options.code_id)?;
    let versions = options.place.versions();
    let mut file = versioned_code::content(&versions, &environment, &id, &options.path)
        .map_err(|error| Failure::Usage(chain(&error)))?;
    let mut out = std::io::stdout().lock();
    let written = std::io::copy(&mut file, &mut out).and_then(|_| out.flush());
    written.map_err(|source| Failure::Write {
        path: PathBuf::from("standard output"),
        source,
    })?;
    Ok(EXIT_SUCCESS)
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Failure> {
    text.parse()
        .map_err(|error: T::Err| Failure::Usage(error.to_string()))
}

pub(super) fn setup(options: &SetupOptions) -> Result<u8, Failure> {
    let program = std::env::current_exe().map_err(|source| Failure::Read {
        path: PathBuf::from("/proc/self/exe"),
        source,
    })?;
    say!("{}", lines(options, &program));
    Ok(EXIT_SUCCESS)
}

/// The instructions for an administrator.
fn lines(options: &SetupOptions, program: &Path) -> String {
    let CodeDirectories { codedir, directory } = &options.place;
    let quoted = |path: &Path| format!("'{}'", path.display().to_string().replace('\'', r"'\''"));
    let place = format!(
        "--codedir {} --directory {}",
        quoted(codedir),
        quoted(directory)
    );
    let program = quoted(program);
    let directory = directory.display();
    format!(
        "# 1. {directory}/code-id, mode 0755: puppetserver runs it without options of its own\n\
         #!/bin/sh\n\
         exec {program} code id --wait {place} -- \"$@\"\n\
         \n\
         # 2. {directory}/code-content, mode 0755\n\
         #!/bin/sh\n\
         exec {program} code content {place} -- \"$@\"\n\
         \n\
         # 3. puppetserver.conf (conf.d)\n\
         versioned-code: {{\n    \
             code-id-command: \"{directory}/code-id\"\n    \
             code-content-command: \"{directory}/code-content\"\n\
         }}\n\
         \n\
         # 4. puppet.conf\n\
         [server]\n\
         environmentpath = {codedir}/environments\n\
         versioned_environment_dirs = true\n\
         environment_timeout = unlimited\n\
         \n\
         # 5. auth.conf (conf.d), in authorization.rules\n\
         {{\n    \
             match-request: {{\n        \
                 path: \"/puppet-admin-api/v1/environment-cache\"\n        \
                 type: path\n        \
                 method: delete\n    \
             }}\n    \
             allow: [\"{certname}\"]\n    \
             sort-order: 500\n    \
             name: \"tutti: environment cache\"\n\
         }}\n\
         \n\
         # 6. the configuration of the Tutti server\n\
         [puppetserver]\n\
         url = \"https://{certname}:8140\"\n\
         code_ids = true",
        codedir = codedir.display(),
        certname = options.certname,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_name_all_places_and_quote_for_the_shell() {
        let options = SetupOptions {
            certname: "puppet.example.com".to_owned(),
            place: CodeDirectories {
                codedir: "/etc/puppetlabs/code".into(),
                directory: "/srv/it's".into(),
            },
        };
        let text = lines(&options, Path::new("/usr/bin/tutti"));
        let id = r#"exec '/usr/bin/tutti' code id --wait --codedir '/etc/puppetlabs/code' --directory '/srv/it'\''s' -- "$@""#;
        for line in [
            id,
            r#"    code-content-command: "/srv/it's/code-content""#,
            "environmentpath = /etc/puppetlabs/code/environments",
            r#"    allow: ["puppet.example.com"]"#,
            "code_ids = true",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
}
