//! `tutti code id`, `content` and `puppetserver-setup`: the commands that a puppetserver on this
//! machine runs, and its configuration.
//!
//! Invariant: the commands that a puppetserver runs contact no server and read no settings, since
//! it waits for them at each compilation.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use code_deployments::gate;
use code_store::version::VersionStore;
use code_store::versioned_code::{self, VersionCodeId};

use cli::code::{CodeDirectories, ContentOptions, IdOptions, SetupOptions};
use cli::{CommandFailure, EXIT_SUCCESS, say};
use error_causes::chain;

fn versions(directories: &CodeDirectories) -> VersionStore {
    VersionStore::open_read_only(
        &directories.directory,
        &directories.codedir.join("environments"),
    )
}

pub(crate) fn print_code_id(options: &IdOptions) -> Result<u8, CommandFailure> {
    let environment = parse_argument(&options.environment)?;
    if options.wait
        && let Err(error) = gate::wait_until_open(&options.place.directory)
    {
        // The compilation goes on: no answer at all would be worse than code that may be mixed.
        let directory = options.place.directory.display();
        anstream::eprintln!("cannot wait for deployments in {directory}: {error}");
    }
    let id = versioned_code::live_code_id(&versions(&options.place), &environment);
    say!(
        "{}",
        id.map_err(|error| CommandFailure::Usage(chain(&error)))?
    );
    Ok(EXIT_SUCCESS)
}

pub(crate) fn content(options: &ContentOptions) -> Result<u8, CommandFailure> {
    let environment = parse_argument(&options.environment)?;
    let id: VersionCodeId = parse_argument(&options.code_id)?;
    let versions = versions(&options.place);
    let mut file = versioned_code::open_version_file(&versions, &environment, &id, &options.path)
        .map_err(|error| CommandFailure::Usage(chain(&error)))?;
    let mut out = std::io::stdout().lock();
    let written = std::io::copy(&mut file, &mut out).and_then(|_| out.flush());
    written.map_err(|source| CommandFailure::Write {
        path: PathBuf::from("standard output"),
        source,
    })?;
    Ok(EXIT_SUCCESS)
}

fn parse_argument<T: std::str::FromStr<Err: std::fmt::Display>>(
    text: &str,
) -> Result<T, CommandFailure> {
    text.parse()
        .map_err(|error: T::Err| CommandFailure::Usage(error.to_string()))
}

pub(crate) fn setup(options: &SetupOptions) -> Result<u8, CommandFailure> {
    let program = std::env::current_exe().map_err(|source| CommandFailure::Read {
        path: PathBuf::from("/proc/self/exe"),
        source,
    })?;
    say!("{}", setup_instructions(options, &program));
    Ok(EXIT_SUCCESS)
}

/// The instructions for an administrator.
fn setup_instructions(options: &SetupOptions, program: &Path) -> String {
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
        let text = setup_instructions(&options, Path::new("/usr/bin/tutti"));
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
