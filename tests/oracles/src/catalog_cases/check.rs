//! Compares a compiler with the recorded answers: [`check_catalog_cases`].

use std::fmt;

use anyhow::Result;

use super::{CatalogAnswer, CatalogCase, CatalogRecording, compare_answers, read_catalog_cases};

/// The most differences that are printed for a case.
const SHOWN: usize = 8;

/// The results of a compiler with the cases of a file.
#[derive(Debug)]
pub struct CatalogCaseReport {
    /// The name of the file.
    pub name: String,
    pub passed: usize,
    /// Titles of the cases that differ, each with its differences.
    pub failed: Vec<(String, Vec<String>)>,
}

impl fmt::Display for CatalogCaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.passed + self.failed.len();
        write!(f, "{}: {} of {all} cases agree", self.name, self.passed)?;
        for (title, differences) in &self.failed {
            write!(f, "\n  {title}")?;
            for difference in differences.iter().take(SHOWN) {
                write!(f, "\n    {difference}")?;
            }
            if differences.len() > SHOWN {
                write!(f, "\n    and {} more", differences.len() - SHOWN)?;
            }
        }
        Ok(())
    }
}

/// Compiles the cases of the file `cases/catalogs/NAME.txt` with `compile` and compares the answers with the
/// recorded ones. Paths in answers have fixed names: see [`with_fixed_paths`](super::with_fixed_paths).
///
/// The closure gives a document or the message of an error, or a [`CatalogAnswer`] to compare more.
pub fn check_catalog_cases<A: Into<CatalogAnswer>>(
    name: &str,
    compile: impl Fn(&CatalogCase) -> A,
) -> Result<CatalogCaseReport> {
    let cases = read_catalog_cases(name)?;
    let recording = CatalogRecording::read(name, &cases)?;
    let mut report = CatalogCaseReport {
        name: name.to_owned(),
        passed: 0,
        failed: Vec::new(),
    };
    for (case, recorded) in cases.iter().zip(&recording.cases) {
        let found = compare_answers(&compile(case).into(), &recorded.answer);
        if found.is_empty() {
            report.passed += 1;
        } else {
            let found = found.iter().map(ToString::to_string).collect();
            report.failed.push((case.title.clone(), found));
        }
    }
    Ok(report)
}
