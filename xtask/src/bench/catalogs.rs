//! The benchmark `catalogs`: compilations of generated manifests and of Debian's Puppet modules, beside
//! those of real Puppet 8 in one process. Main function: [`measure`].
//!
//! Invariant: Tutti and Puppet compile the same files for the same node. At the smallest size they do so
//! once, if Puppet 8 and the modules are unpacked.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Programs;
use crate::{apt, puppet_modules, puppet8, run};

/// Versions of an environment with all of Debian's modules.
const ENVIRONMENT_VERSIONS: &str = "10";

/// Later compilations of a role by Tutti and by Puppet, and at the smallest size.
const ROLE_ROUNDS: [&str; 2] = ["100", "9"];
const SMALLEST_ROLE_ROUNDS: [&str; 2] = ["1", "1"];

/// Later compilations of all classes by Tutti; Puppet needs minutes for one.
const CLASS_ROUNDS: &str = "3";
/// Classes of the list that are compiled at the smallest size.
const SMALLEST_CLASSES: usize = 3;

const EXAMPLES: &str = "crates/service/catalogs/examples";

/// Facts of the nodes of the roles.
const FACTS: &str = "site/facts.json";

/// The site of the role whose apache module has to be mended.
const APACHE_SITE: &str = "apache_site";

/// The node and the list of the classes that real Puppet compiles, as `tests/oracles` records them.
const CLASS_NODE: &str = "tests/oracles/cases/classes/node.json";
const CLASS_LIST: &str = "tests/oracles/recorded/classes.txt";

/// A file of the apache module that Puppet 8 refuses, because two entries of a hash have this key.
const REFUSED_FILE: &str = "types/oidcsettings.pp";
const REPEATED_KEY: &str = "Optional['IDTokenEncryptedResponseAlg']";
/// A module with a provider that needs REXML, which the JRuby of an unpacked puppetserver does not find.
const REFUSED_MODULE: &str = "pacemaker";
/// The name of the second setting in later versions of the module.
const MENDED_KEY: &str = "Optional['IDTokenEncryptedResponseEnc']";

/// The directory of sites that are written for the benchmark, relative to the workspace.
const SCRATCH: &str = "target/bench-catalogs";

/// Measures all figures of the benchmark.
pub(super) fn measure(programs: &Programs) -> Result<()> {
    programs.measure("compile_cost", &[])?;
    if programs.is_smallest {
        for example in ["environment_memory", "catalog_cost", "class_cost"] {
            programs.measure(example, &[])?;
        }
        if !puppet8::is_unpacked() || !puppet_modules::directory().is_dir() {
            println!(
                "skipped: Debian's modules, which need the packages puppet-module-* and puppet-agent; `cargo xtask \
                 oracles` unpacks them"
            );
            return Ok(());
        }
    } else {
        puppet8::ensure()?;
        puppet_modules::ensure()?;
        let mut memory = programs.example("environment_memory");
        memory.arg(puppet_modules::directory());
        memory.arg(examples().join(FACTS));
        run::visible(memory.arg(ENVIRONMENT_VERSIONS))?;
    }
    let scratch = new_scratch()?;
    measure_role(programs, &examples().join("site"))?;
    measure_role(programs, &write_apache_site(&scratch)?)?;
    measure_classes(programs, &scratch)?;
    apt::remove(&scratch)
}

/// A role with apache for the benchmark of the Puppet server: a directory with its manifests and all of Debian's
/// modules, and the facts of its nodes. `None` if the modules are not unpacked.
pub(super) fn write_role() -> Result<Option<[PathBuf; 2]>> {
    if !puppet_modules::directory().is_dir() {
        return Ok(None);
    }
    let role = new_scratch()?.join("role");
    let mut copy = Command::new("cp");
    copy.arg("-rL").arg(puppet_modules::directory());
    std::fs::create_dir(&role).with_context(|| format!("cannot create {}", role.display()))?;
    run::visible(copy.arg(role.join("modules")))?;
    mend_apache(&role.join("modules/apache"))?;
    apt::remove(&role.join("modules").join(REFUSED_MODULE))?;
    let mut copy = Command::new("cp");
    copy.arg("-rL")
        .arg(examples().join(APACHE_SITE).join("manifests"));
    run::visible(copy.arg(&role))?;
    Ok(Some([role, examples().join(FACTS)]))
}

/// An empty directory for the sites of the benchmark.
fn new_scratch() -> Result<PathBuf> {
    let scratch = run::root().join(SCRATCH);
    apt::remove(&scratch)?;
    std::fs::create_dir_all(&scratch)
        .with_context(|| format!("cannot create {}", scratch.display()))?;
    Ok(scratch)
}

/// A role, compiled again and again.
fn measure_role(programs: &Programs, site: &Path) -> Result<()> {
    let facts = examples().join(FACTS);
    let [our_rounds, puppet_rounds] = match programs.is_smallest {
        true => SMALLEST_ROLE_ROUNDS,
        false => ROLE_ROUNDS,
    };
    let mut ours = programs.example("catalog_cost");
    ours.arg(site).arg(puppet_modules::directory());
    ours.arg("node1.example.com").arg(&facts);
    run::visible(ours.arg(our_rounds))?;
    let mut puppet = puppet(&examples().join("site/puppet_cost.rb"));
    puppet.arg(site).arg(puppet_modules::directory());
    run::visible(puppet.arg(&facts).arg(puppet_rounds))
}

/// Every class that real Puppet compiles, one after the other in one process.
fn measure_classes(programs: &Programs, scratch: &Path) -> Result<()> {
    let site = examples().join("classes_site");
    let node = run::root().join(CLASS_NODE);
    let list = match programs.is_smallest {
        true => write_first_classes(scratch)?,
        false => run::root().join(CLASS_LIST),
    };
    let mut ours = programs.example("class_cost");
    ours.arg(&site).arg(puppet_modules::directory());
    run::visible(ours.arg(&node).arg(&list).arg(CLASS_ROUNDS))?;
    let mut puppet = puppet(&site.join("puppet_class_cost.rb"));
    puppet.arg(&site).arg(puppet_modules::directory());
    run::visible(puppet.arg(&node).arg(&list))
}

/// A Ruby program with the library of Puppet 8.
fn puppet(program: &Path) -> Command {
    let mut puppet = Command::new("ruby");
    puppet.args(["-W0", "-I"]).arg(puppet8::library_directory());
    puppet.arg(program);
    puppet
}

fn examples() -> PathBuf {
    run::root().join(EXAMPLES)
}

/// The first classes of the list that do not fail.
fn write_first_classes(scratch: &Path) -> Result<PathBuf> {
    let list = std::fs::read_to_string(run::root().join(CLASS_LIST))?;
    let compiled = list.lines().filter(|line| !line.contains(" fails "));
    let lines: Vec<_> = compiled
        .take(SMALLEST_CLASSES)
        .map(|line| format!("{line}\n"))
        .collect();
    let path = scratch.join("classes.txt");
    std::fs::write(&path, lines.concat())
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// A site with a copy of Debian's apache module in which the refused file is mended.
fn write_apache_site(scratch: &Path) -> Result<PathBuf> {
    let site = scratch.join(APACHE_SITE);
    let module = site.join("modules/apache");
    std::fs::create_dir_all(site.join("modules"))
        .with_context(|| format!("cannot create {}", site.display()))?;
    let mut copy = Command::new("cp");
    copy.arg("-rL")
        .arg(examples().join(APACHE_SITE).join("manifests"));
    run::visible(copy.arg(&site))?;
    let mut copy = Command::new("cp");
    copy.arg("-rL")
        .arg(puppet_modules::directory().join("apache"));
    run::visible(copy.arg(&module))?;
    mend_apache(&module)?;
    Ok(site)
}

/// Mends the refused file of a copy of the module.
fn mend_apache(module: &Path) -> Result<()> {
    let path = module.join(REFUSED_FILE);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    std::fs::write(&path, mend(&text)?).with_context(|| format!("cannot write {}", path.display()))
}

/// The text with another name in place of the second of the equal keys.
fn mend(text: &str) -> Result<String> {
    let repeated = text.split_once(REPEATED_KEY);
    let Some((before, rest)) = repeated.filter(|(_, rest)| rest.contains(REPEATED_KEY)) else {
        bail!(
            "{REFUSED_FILE} of the apache module has no repeated key; measure the module as it is"
        );
    };
    let rest = rest.replacen(REPEATED_KEY, MENDED_KEY, 1);
    Ok(format!("{before}{REPEATED_KEY}{rest}"))
}
