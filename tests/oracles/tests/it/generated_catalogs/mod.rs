//! Manifests made at random compile to what Puppet 8 compiles.
//!
//! `TUTTI_CATALOGS` sets how many, `TUTTI_SEED` makes others. The first manifests that differ are reduced
//! to the lines without which they agree. The rule: a difference that is meant stands in [`MEANT`] with
//! its reason; everything else fails.

mod maker;
mod program;
mod reduce;

use anyhow::{Context as _, Result, bail};
use oracles::Puppet;
use oracles::catalog_cases::{
    CatalogAnswer, CatalogCase, ask_cases, compare_answers, parse_catalog_case,
};
use oracles::compiled_catalog::compile_case;

use crate::random::Random;
use program::Program;

const PROGRAMS: u64 = 300;
const SEED: u64 = 0x1977;

/// Manifests that differ and are reduced; each takes some seconds.
const REDUCED: usize = 3;
/// Manifests that differ and are printed.
const PRINTED: usize = 10;

/// The reason of a difference, and a text in Puppet's message by which it is known.
const MEANT: &[(&str, &str)] = &[
    (
        "Puppet shows the address of a class in place of its name",
        "by #<Puppet::Resource::Type>",
    ),
    ("Puppet ran out of stack", "stack level too deep"),
];

fn number(name: &str, otherwise: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is no number")),
        Err(_) => Ok(otherwise),
    }
}

fn is_meant(theirs: &CatalogAnswer) -> bool {
    let error = theirs.catalog.as_ref().err();
    error.is_some_and(|text| MEANT.iter().any(|(_, part)| text.contains(part)))
}

/// The differences of each program, none if it agrees or differs as it is meant to.
fn differences(programs: &[Program]) -> Result<(usize, Vec<Vec<String>>)> {
    let cases: Vec<CatalogCase> = programs
        .iter()
        .map(|it| parse_catalog_case(&it.case_text()))
        .collect::<Result<_>>()?;
    let answers = ask_cases(Puppet::Eight, &cases)?;
    let compiled = answers.iter().filter(|it| it.catalog.is_ok()).count();
    let mut all = Vec::new();
    for (case, theirs) in cases.iter().zip(&answers) {
        let ours = compile_case(case)?;
        let found = match is_meant(theirs) {
            true => Vec::new(),
            false => compare_answers(&ours, theirs),
        };
        all.push(found.iter().map(ToString::to_string).collect());
    }
    Ok((compiled, all))
}

#[test]
fn generated_manifests_compile_as_in_puppet() -> Result<()> {
    let mut random = Random::new(number("TUTTI_SEED", SEED)?);
    let count = number("TUTTI_CATALOGS", PROGRAMS)?;
    let programs: Vec<Program> = (0..count)
        .map(|_| maker::random_program(&mut random))
        .collect();
    let (compiled, found) = differences(&programs)?;
    let different = programs.iter().zip(&found).filter(|it| !it.1.is_empty());
    let mut faults = Vec::new();
    for (index, (program, differences)) in different.clone().take(PRINTED).enumerate() {
        let (program, differences) = match index < REDUCED {
            true => reduce::reduced(program, differences)?,
            false => (program.clone(), differences.clone()),
        };
        faults.push(format!(
            "{}\n  {}",
            program.case_text(),
            differences.join("\n  ")
        ));
    }
    println!("{count} manifests, {compiled} compile");
    if !faults.is_empty() {
        bail!(
            "{} of {count} differ:\n{}",
            different.count(),
            faults.join("\n\n")
        );
    }
    assert!(
        compiled * 3 >= programs.len(),
        "too few manifests compile: {compiled}"
    );
    Ok(())
}
