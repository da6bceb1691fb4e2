//! The crates of the Puppet language against real Ruby and Puppet: [`ask`] and [`ask_puppet`].
//!
//! `cargo xtask test --full` runs them. The rule: one process answers all questions of a test,
//! since Puppet takes most of a second to start; cases stand in `cases/`, one a line.

pub mod catalog_cases;
pub mod catalog_classes;
pub mod compiled_catalog;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

/// Relative to this crate; `cargo xtask oracles` unpacks it there.
const PUPPET_8: &str = "../../target/oracles/puppet8/usr/lib/ruby/vendor_ruby";

/// A version of Puppet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Puppet {
    /// 7.23, Debian 12's package.
    Seven,
    /// 8.10, Debian 13's package, with the Ruby of Debian 12.
    Eight,
}

/// Runs a script of `ruby/` on a question and returns its answer.
pub fn ask(script: &str, question: &Value) -> Result<Value> {
    run(&mut ruby(), script, question)
}

/// Runs a script of `ruby/` that loads Puppet.
pub fn ask_puppet(puppet: Puppet, script: &str, question: &Value) -> Result<Value> {
    let mut ruby = ruby();
    if puppet == Puppet::Eight {
        let library = own(PUPPET_8);
        if !library.is_dir() {
            bail!(
                "Puppet 8 is not in {}; run `cargo xtask oracles` first",
                library.display()
            );
        }
        let check = own("ruby").join("puppet8.rb");
        ruby.arg("-I").arg(library).arg("-r").arg(check);
    }
    run(&mut ruby, script, question)
}

fn ruby() -> Command {
    let mut ruby = Command::new("ruby");
    ruby.args(["-W0", "-Ku"]);
    ruby
}

fn run(ruby: &mut Command, script: &str, question: &Value) -> Result<Value> {
    let script = own("ruby").join(script);
    let mut child = ruby
        .arg(&script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start ruby; run `cargo xtask oracles` first")?;
    let question = serde_json::to_vec(question)?;
    let mut stdin = child.stdin.take().context("ruby has no standard input")?;
    let writer = std::thread::spawn(move || stdin.write_all(&question));
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("{} failed: {}", script.display(), output.status);
    }
    if let Ok(written) = writer.join() {
        written.context("ruby did not read its question")?;
    }
    serde_json::from_slice(&output.stdout).context("ruby's answer is no JSON")
}

/// The lines of a file of `cases/`.
pub fn cases(name: &str) -> Result<Vec<String>> {
    let path = own("cases").join(name);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// The blocks of a file of `cases/`, between lines of `%%`.
pub fn blocks(name: &str) -> Result<Vec<String>> {
    let lines = cases(name)?;
    let blocks = lines.split(|line| line == "%%");
    Ok(blocks.map(|block| block.join("\n")).collect())
}

fn own(directory: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(directory)
}
