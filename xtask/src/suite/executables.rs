//! The test programs of the workspace: [`TestExecutable`], built by [`build`].

use std::io::BufReader;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::Message;

use crate::compiler::Compiler;
use crate::run;

/// A program that contains tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TestExecutable {
    /// The crate and the target, such as `jobs it`.
    pub name: String,
    /// The folder of the crate.
    pub package: String,
    pub path: PathBuf,
    /// The directory of the crate, in which cargo runs its tests.
    pub directory: PathBuf,
}

impl TestExecutable {
    /// A command that runs the tests as cargo does and reports the time of each.
    pub(super) fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(["-Zunstable-options", "--report-time"])
            .current_dir(&self.directory)
            .env("CARGO_MANIFEST_DIR", &self.directory)
            // The stable libtest accepts the two options only with this variable.
            .env("RUSTC_BOOTSTRAP", "1");
        command
    }
}

/// Builds all test programs, and the programs and examples of the workspace. No other command builds the programs: the
/// tests switch on more features of some libraries, so all crates above these would be built twice.
pub(super) fn build(compiler: Compiler) -> Result<Vec<TestExecutable>> {
    let arguments = [
        "test",
        "--workspace",
        "--locked",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    println!("$ cargo {}", arguments.join(" "));
    let mut cargo = compiler
        .set(&mut run::cargo(&arguments))
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let output = cargo.stdout.take().context("cargo has no output")?;
    let mut found = Vec::new();
    for message in Message::parse_stream(BufReader::new(output)) {
        let message = message.context("cannot read a message of cargo")?;
        let Message::CompilerArtifact(artifact) = message else {
            continue;
        };
        let Some(path) = artifact.executable.filter(|_| artifact.profile.test) else {
            continue;
        };
        let directory = artifact
            .manifest_path
            .parent()
            .context("a manifest without a folder")?;
        let package = directory.file_name().unwrap_or_default().to_owned();
        found.push(TestExecutable {
            name: format!("{package} {}", artifact.target.name),
            package,
            path: path.into(),
            directory: directory.into(),
        });
    }
    let status = cargo.wait().context("cannot wait for cargo")?;
    if !status.success() {
        bail!("the tests do not compile: {status}");
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}
