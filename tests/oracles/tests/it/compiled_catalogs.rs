//! Our compiler compiles what real Puppet compiles.

use std::collections::{HashMap, HashSet};

use anyhow::{Context as _, Result, bail};
use oracles::catalog_cases::{CatalogAnswer, CatalogCase, catalog_case_files, check_catalog_cases};
use oracles::catalog_classes::{ClassCase, check_catalog_classes};
use oracles::compiled_catalog::{ClassCompiler, compile_case};

fn answer(case: &CatalogCase) -> CatalogAnswer {
    match compile_case(case) {
        Ok(answer) => answer,
        Err(error) => CatalogAnswer::from(Err(format!("the case cannot be set up: {error:#}"))),
    }
}

/// Titles of the cases that differ, with their reasons.
fn known_differences() -> Result<HashMap<String, String>> {
    let lines = oracles::cases("catalog_differences.txt")?;
    let lines = lines.iter().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (title, reason) = line
                .split_once(" | ")
                .with_context(|| format!("no reason: {line}"))?;
            Ok((title.to_owned(), reason.to_owned()))
        })
        .collect()
}

/// Compiles the cases of the files whose names contain the text of the variable `CATALOG_CASES`, or
/// all.
#[test]
fn our_catalogs_are_puppets() -> Result<()> {
    let only = std::env::var("CATALOG_CASES").ok();
    let known = known_differences()?;
    let (mut passed, mut expected) = (0, HashSet::new());
    let mut faults = Vec::new();
    for name in catalog_case_files()? {
        if only
            .as_ref()
            .is_some_and(|only| !name.contains(only.as_str()))
        {
            continue;
        }
        let report = check_catalog_cases(&name, answer)?;
        passed += report.passed;
        for (title, differences) in report.failed {
            match known.contains_key(&title) {
                true => drop(expected.insert(title)),
                false => faults.push(format!(
                    "{name}: {title}\n    {}",
                    differences.join("\n    ")
                )),
            }
        }
    }
    if only.is_none() {
        let agreeing = known.keys().filter(|title| !expected.contains(*title));
        faults.extend(agreeing.map(|title| format!("listed as different, but agrees: {title}")));
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!(
        "{passed} cases agree; not as expected:\n{}",
        faults.join("\n")
    );
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
