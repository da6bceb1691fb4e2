//! `native_ruby::ErbTemplate` against Ruby's ERB through Puppet's TemplateWrapper: whatever is rendered natively is the same
//! text.

mod scope;
mod variables;

use std::fs;
use std::path::{Path, PathBuf};

use native_ruby::{ErbTemplate, NativeRubyError};
use oracles::{Puppet, ask_puppet, blocks};
use serde_json::json;

use crate::native_outcome::NativeOutcome;
use scope::TableScope;
use variables::VariableMaker;

/// Renderings of each template with other variables.
const ROUNDS: u64 = 12;

/// Templates of modules that are at least native, in percent.
const NATIVE_SHARE: usize = 80;

#[test]
fn templates_of_modules_are_rendered_as_by_ruby() {
    let mut files = Vec::new();
    find_templates(Path::new("/usr/share/puppet/modules"), &mut files, 0);
    files.sort();
    let texts: Vec<String> = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok())
        .collect();
    assert!(texts.len() > 100, "{} templates", texts.len());
    let mut reasons: Vec<String> = texts
        .iter()
        .filter_map(|text| Some(ErbTemplate::parse(text).err()?.reason))
        .collect();
    let native = texts.len() - reasons.len();
    let outcome = compare(&texts, ROUNDS);
    reasons.sort();
    println!(
        "{native} of {} templates are native; of their renderings {} are, {} are left to Ruby ({} of them \
         fail there); not native: {reasons:?}",
        texts.len(),
        outcome.native,
        outcome.left,
        outcome.left_and_failed
    );
    assert!(native * 100 >= texts.len() * NATIVE_SHARE, "{native}");
    outcome.assert_equal();
}

#[test]
fn written_templates_are_rendered_as_by_ruby() {
    let texts = blocks("erb.txt").expect("the cases");
    let outcome = compare(&texts, 6);
    println!("{} renderings native, {} not", outcome.native, outcome.left);
    outcome.assert_equal();
}

#[test]
fn methods_give_the_values_of_ruby() {
    let texts = variables::method_calls();
    let outcome = compare(&texts, 1);
    println!(
        "{} calls are native, {} are left to Ruby, {} of them fail there",
        outcome.native, outcome.left, outcome.left_and_failed
    );
    assert!(outcome.native > 2000, "{}", outcome.native);
    outcome.assert_equal();
}

/// Renders each template with several sets of variables here and with Ruby.
fn compare(texts: &[String], rounds: u64) -> NativeOutcome {
    let mut cases = Vec::new();
    let mut native = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let Ok(template) = ErbTemplate::parse(text) else {
            continue;
        };
        for round in 0..rounds {
            let seed = number as u64 * 1000 + round;
            let variables = VariableMaker::new(seed).variables(text);
            let mut scope = TableScope::new(&variables);
            native.push((number, template.render(&mut scope), variables.clone()));
            cases.push(json!([number, variables]));
        }
    }
    let question = json!({"templates": texts, "cases": cases});
    let answers = ask_puppet(Puppet::Seven, "erb.rb", &question).expect("answers of Ruby");
    let mut outcome = NativeOutcome::default();
    let answers = answers.as_array().expect("a list");
    assert_eq!(answers.len(), native.len());
    for ((number, rendered, variables), answer) in native.into_iter().zip(answers) {
        match rendered {
            Ok(text) if answer["text"].as_str() == Some(text.as_str()) => outcome.native += 1,
            Ok(text) => {
                let template: String = texts[number].chars().take(300).collect();
                outcome.wrong.push(format!(
                    "{template:?} with {variables}:\n  ours {text:?}\n  Ruby {answer}"
                ));
            }
            Err(NativeRubyError::NotNative { .. }) => {
                outcome.left += 1;
                outcome.left_and_failed += usize::from(answer.get("error").is_some());
            }
            Err(error) => panic!("{error}"),
        }
    }
    outcome
}

fn find_templates(directory: &Path, files: &mut Vec<PathBuf>, depth: usize) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        if path.is_dir() && depth < 8 {
            find_templates(&path, files, depth + 1);
        } else if path.extension().is_some_and(|ending| ending == "erb") {
            files.push(path);
        }
    }
}
