//! Real Puppet's answers to cases: [`ask_cases`].

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{CatalogAnswer, CatalogCase};
use crate::{Puppet, ask_puppet};

/// Asks Puppet for the answers to cases, in their order.
pub fn ask_cases(puppet: Puppet, cases: &[CatalogCase]) -> Result<Vec<CatalogAnswer>> {
    let scratch = tempfile::tempdir()?;
    let mut questions = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        let root = scratch.path().join(index.to_string());
        case.write_tree(&root)
            .with_context(|| format!("case {}", case.title))?;
        questions.push(case.question(&root));
    }
    let answers = ask_puppet(puppet, "catalogs.rb", &Value::Array(questions))?;
    let answers = answers.as_array().context("the answer is no list")?;
    if answers.len() != cases.len() {
        bail!("{} answers for {} cases", answers.len(), cases.len());
    }
    Ok(answers.iter().map(CatalogAnswer::from_json).collect())
}
