//! Our compiler compiles what real Puppet compiles.

use anyhow::{Result, bail};
use oracles::catalog_cases::{CatalogAnswer, CatalogCase, catalog_case_files, check_catalog_cases};
use oracles::compiled_catalog::compile_case;

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
