//! The recorded outcomes of the classes of Debian's modules are those of real Puppet.

use anyhow::{Result, bail};
use oracles::catalog_classes::{
    ClassCase, check_catalog_classes, compile_classes, recorded_classes,
};

/// Fewer classes than this compile only if modules or facts are missing.
const FEWEST: usize = 750;

#[test]
fn recorded_classes_are_what_puppet_compiles() -> Result<()> {
    let recorded = recorded_classes()?;
    let current = compile_classes()?;
    let mut faults = Vec::new();
    for old in recorded.iter().filter(|it| !current.contains(it)) {
        let now = current.iter().find(|it| it.class == old.class);
        let now = now.map_or("missing".to_owned(), ToString::to_string);
        faults.push(format!("{old}, now {now}"));
    }
    if recorded.len() != current.len() || !faults.is_empty() {
        let counts = format!("{} classes, now {}", recorded.len(), current.len());
        bail!("recorded outcomes are old: {counts}\n{}", faults.join("\n"));
    }
    let report = check_catalog_classes(|case: &ClassCase| case.answer.clone())?;
    assert!(
        report.failed.is_empty() && report.passed >= FEWEST,
        "{report:?}"
    );
    Ok(())
}
