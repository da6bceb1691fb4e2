//! `cargo xtask deny`: licences, bans, sources and advisories of the dependencies. Main function:
//! [`run`].
//!
//! `deny.toml` has the permissions, in the format of `cargo deny`. Licences, bans and sources are
//! checked here, since building `cargo-deny` costs more than all other checks.
//!
//! Invariant: a check that cannot be made without the network is reported, never skipped silently.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use crate::run;

/// The only registry from which packages may come.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The keys of `deny.toml` that are checked here. Any other key in these sections is an error,
/// since it would be a rule that is not enforced.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DenyFile {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
    /// Checked by `cargo deny` only.
    #[serde(default)]
    #[expect(dead_code, reason = "only its form is checked")]
    advisories: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Bans {
    multiple_versions: Multiple,
    deny: Vec<Banned>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Multiple {
    Allow,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Banned {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Sources {
    unknown_registry: Lint,
    unknown_git: Lint,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lint {
    Deny,
}

/// A package that any target needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    version: String,
    license: Option<String>,
    /// True for a crate of this workspace.
    is_ours: bool,
}

/// Checks every package that a target of `deny.toml` needs, and the sources of the whole lock file.
pub(crate) fn run() -> Result<()> {
    let path = run::root().join("deny.toml");
    let text = std::fs::read_to_string(&path).context("cannot read deny.toml")?;
    let file: DenyFile = toml::from_str(&text).context("deny.toml")?;
    let dependencies = dependencies(&file.graph.targets)?;
    let mut faults = faults(&file, &dependencies)?;
    faults.extend(foreign_sources(&lock_file()?));
    if !faults.is_empty() {
        bail!("deny.toml does not permit:\n  {}", faults.join("\n  "));
    }
    println!(
        "deny: licences, bans and sources of {} packages for {} are permitted",
        dependencies.len(),
        file.graph.targets.join(", ")
    );
    advisories()
}

fn dependencies(targets: &[String]) -> Result<Vec<Dependency>> {
    if targets.is_empty() {
        bail!("deny.toml: graph.targets is empty, so nothing would be checked");
    }
    let mut all = BTreeSet::new();
    for target in targets {
        // The tree has only the optional dependencies that are used; `cargo metadata` has all.
        let tree = run::cargo(&["tree", "--workspace", "--locked", "--prefix=none"])
            .args(["--edges=normal,build,dev", "--format={p}\t{l}"])
            .args(["--target", target])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo tree")?;
        if !tree.status.success() {
            bail!("cargo tree for {target} failed: {}", tree.status);
        }
        let text = String::from_utf8(tree.stdout).context("cargo tree")?;
        for line in text.lines().filter(|line| !line.is_empty()) {
            all.insert(line.parse::<Dependency>()?);
        }
    }
    Ok(all.into_iter().collect())
}

/// The dependencies that `file` does not permit, as messages.
fn faults(file: &DenyFile, dependencies: &[Dependency]) -> Result<Vec<String>> {
    let Licenses { allow } = &file.licenses;
    let licensees = allow.iter().map(|text| {
        Licensee::parse(text)
            .map_err(|error| anyhow!("deny.toml: licenses.allow: {text:?}: {error}"))
    });
    let licensees: Vec<Licensee> = licensees.collect::<Result<_>>()?;
    let Bans {
        multiple_versions: Multiple::Allow,
        deny,
    } = &file.bans;
    let Sources {
        unknown_registry: Lint::Deny,
        unknown_git: Lint::Deny,
    } = &file.sources;
    let mut faults = Vec::new();
    for dependency in dependencies {
        let Dependency { name, version, .. } = dependency;
        if let Some(banned) = deny.iter().find(|it| it.name == *name) {
            faults.push(format!("{name} {version} is banned: {}", banned.reason));
        }
        if dependency.is_ours {
            continue;
        }
        if let Err(fault) = check_license(dependency.license.as_deref(), &licensees) {
            faults.push(format!("{name} {version}: {fault}"));
        }
    }
    Ok(faults)
}

fn check_license(license: Option<&str>, licensees: &[Licensee]) -> Result<()> {
    let text = license.context("it names no licence; read its licence file and decide")?;
    // Older crates write `MIT/Apache-2.0` instead of `OR`.
    let mode = ParseMode {
        allow_slash_as_or_operator: true,
        allow_deprecated: true,
        ..ParseMode::STRICT
    };
    let expression = Expression::parse_mode(text, mode).map_err(|error| {
        anyhow!(
            "its licence {text:?} is no SPDX expression: {}",
            error.reason
        )
    })?;
    let is_allowed = expression.evaluate(|required| {
        licensees
            .iter()
            .any(|licensee| licensee.satisfies(required))
    });
    if !is_allowed {
        bail!("its licence {text:?} is not in licenses.allow");
    }
    Ok(())
}

#[derive(Debug, Deserialize)]
struct LockFile {
    package: Vec<LockedPackage>,
}

#[derive(Debug, Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    source: Option<String>,
}

fn lock_file() -> Result<LockFile> {
    let path = run::root().join("Cargo.lock");
    let text = std::fs::read_to_string(path).context("cannot read Cargo.lock")?;
    toml::from_str(&text).context("Cargo.lock")
}

/// Packages from other sources, for any target.
fn foreign_sources(lock: &LockFile) -> Vec<String> {
    let foreign = lock.package.iter().filter_map(|package| {
        let source = package.source.as_deref()?;
        let LockedPackage { name, version, .. } = package;
        (source != CRATES_IO).then(|| format!("{name} {version} comes from {source}"))
    });
    foreign.collect()
}

/// Checks security advisories with `cargo deny`; their database is a git repository and in no
/// registry.
fn advisories() -> Result<()> {
    let asked = Command::new("cargo-deny")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !asked.is_ok_and(|status| status.success()) {
        println!(
            "deny: SKIPPED: advisories are not checked, since cargo-deny is not installed \
             (cargo install --locked cargo-deny, and cargo deny fetch)"
        );
        return Ok(());
    }
    let Some(database) = advisory_database() else {
        println!(
            "deny: SKIPPED: advisories are not checked, since there is no advisory database; get it \
             with cargo deny fetch"
        );
        return Ok(());
    };
    println!("deny: advisories of {}", database.display());
    run::visible(&mut run::cargo(&[
        "deny",
        "--offline",
        "check",
        "advisories",
    ]))
}

/// The directory in which `cargo deny` keeps the database; `None` if it is unknown.
fn advisory_database() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))?;
    let databases = home.join("advisory-dbs");
    let mut entries = std::fs::read_dir(&databases).ok()?;
    entries.next().is_some().then_some(databases)
}

/// Parses a line of `cargo tree`: `name v1.0.0 (/path)`, a tab, the licence, and `(*)` if it is a
/// repetition.
impl FromStr for Dependency {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Self> {
        let unexpected = || anyhow!("cargo tree printed {line:?}, which is not understood");
        let line = line.strip_suffix(" (*)").unwrap_or(line);
        let (package, license) = line.split_once('\t').ok_or_else(unexpected)?;
        let mut words = package.split(' ');
        let name = words.next().ok_or_else(unexpected)?;
        let version = words.next().and_then(|it| it.strip_prefix('v'));
        Ok(Self {
            name: name.to_owned(),
            version: version.ok_or_else(unexpected)?.to_owned(),
            license: Some(license.to_owned()).filter(|text| !text.is_empty()),
            is_ours: words.any(|word| word.starts_with("(/")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> DenyFile {
        toml::from_str(
            "[graph]\ntargets = ['x']\n[licenses]\nallow = ['MIT', 'Apache-2.0 WITH LLVM-exception']\n\
             [bans]\nmultiple-versions = 'allow'\ndeny = [{ crate = 'ring', reason = 'slow' }]\n\
             [sources]\nunknown-registry = 'deny'\nunknown-git = 'deny'\n",
        )
        .unwrap()
    }

    fn found(name: &str, license: Option<&str>) -> Vec<String> {
        let dependency = Dependency {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: license.map(str::to_owned),
            is_ours: false,
        };
        faults(&file(), &[dependency]).unwrap()
    }

    #[test]
    fn licences_outside_the_list_are_found() {
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "GPL-3.0/MIT",
            "MIT AND Apache-2.0 WITH LLVM-exception",
        ] {
            assert_eq!(found("a", Some(good)), [""; 0], "{good}");
        }
        for bad in [
            Some("GPL-3.0"),
            Some("MIT AND GPL-3.0"),
            Some("Apache-2.0"),
            Some("nonsense"),
            None,
        ] {
            assert_eq!(found("a", bad).len(), 1, "{bad:?}");
        }
    }

    #[test]
    fn banned_packages_are_found_with_the_reason() {
        assert_eq!(found("ring", Some("MIT")), ["ring 1.0.0 is banned: slow"]);
    }

    #[test]
    fn packages_from_elsewhere_are_found() {
        let lock: LockFile = toml::from_str(
            "[[package]]\nname = 'own'\nversion = '1.0.0'\n\
             [[package]]\nname = 'good'\nversion = '1.0.0'\n\
             source = 'registry+https://github.com/rust-lang/crates.io-index'\n\
             [[package]]\nname = 'bad'\nversion = '1.0.0'\nsource = 'git+https://example.com/bad#0'\n",
        )
        .unwrap();
        let foreign = foreign_sources(&lock);
        assert_eq!(
            foreign,
            ["bad 1.0.0 comes from git+https://example.com/bad#0"]
        );
    }

    #[test]
    fn lines_of_cargo_tree_are_read() {
        let read = |line: &str| line.parse::<Dependency>().unwrap();
        let own = read("pki v0.1.0 (/src/crates/pki)\tApache-2.0 (*)");
        assert!(own.is_ours && own.license.as_deref() == Some("Apache-2.0"));
        let other = read("serde_derive v1.0.229 (proc-macro)\tMIT OR Apache-2.0");
        assert!(!other.is_ours && other.version == "1.0.229");
        assert_eq!(read("odd v1.0.0\t").license, None);
        assert!("".parse::<Dependency>().is_err());
    }

    #[test]
    fn a_rule_that_is_not_checked_here_is_an_error() {
        let unknown = "[graph]\ntargets = []\n[licenses]\nallow = []\nexceptions = []\n";
        assert!(toml::from_str::<DenyFile>(unknown).is_err());
    }
}
