//! Our compiler compiles what real Puppet compiles.

use anyhow::{Result, bail};
use oracles::catalog_cases::{CatalogAnswer, CatalogCase, catalog_case_files, check_catalog_cases};
use oracles::catalog_classes::{ClassCase, check_catalog_classes};
use oracles::compiled_catalog::{ClassCompiler, compile_case};

fn answer(case: &CatalogCase) -> CatalogAnswer {
    match compile_case(case) {
        Ok(answer) => answer,
        Err(error) => CatalogAnswer::from(Err(format!("the case cannot be set up: {error:#}"))),
    }
}

#[test]
fn our_catalogs_are_puppets() -> Result<()> {
    let only = std::env::var("CATALOG_CASES").ok();
    let mut reports = Vec::new();
    let (mut passed, mut failed) = (0, 0);
    for name in catalog_case_files()? {
        if only
            .as_ref()
            .is_some_and(|only| !name.contains(only.as_str()))
        {
            continue;
        }
        let report = check_catalog_cases(&name, answer)?;
        passed += report.passed;
        failed += report.failed.len();
        reports.push(report.to_string());
    }
    if failed > 0 {
        bail!(
            "{passed} cases agree, {failed} differ:\n{}",
            reports.join("\n")
        );
    }
    Ok(())
}

/// Compiles the classes whose names contain the text of the variable `CATALOG_CLASSES`, or all.
#[test]
fn our_classes_are_puppets() -> Result<()> {
    let only = std::env::var("CATALOG_CLASSES").ok();
    let compiler = ClassCompiler::new()?;
    let report = check_catalog_classes(|case: &ClassCase| {
        if only
            .as_ref()
            .is_some_and(|only| !case.class.contains(only.as_str()))
        {
            return case.answer.clone();
        }
        match compiler.answer(case) {
            Ok(answer) => answer,
            Err(error) => CatalogAnswer::from(Err(format!("{error:#}"))),
        }
    })?;
    if report.failed.is_empty() {
        return Ok(());
    }
    let failed = report.failed.iter();
    let lines: Vec<String> = failed
        .map(|(class, found)| format!("  {class}: {found}"))
        .collect();
    bail!(
        "{} classes agree, {} differ:\n{}",
        report.passed,
        report.failed.len(),
        lines.join("\n")
    );
}
