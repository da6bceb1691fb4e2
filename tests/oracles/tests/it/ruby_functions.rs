//! `native_ruby::RubyFunction` against Puppet's own calls of functions in Ruby: whatever is called natively has the
//! same result.

use std::fs;
use std::path::{Path, PathBuf};

use native_ruby::{
    NativeRubyError, RubyCallKind, RubyFunction, RubyScope, RubyScopeError, TypedRubyFunction,
};
use oracles::{Puppet, ask_puppet, blocks};
use pcore::{Type, Value};
use serde_json::{Value as Json, json};

use crate::native_outcome::NativeOutcome;
use crate::random::Random;

/// Calls of each function with other arguments.
const ROUNDS: u64 = 300;

#[test]
fn functions_of_modules_give_the_results_of_ruby() {
    let mut files = Vec::new();
    find_functions(Path::new("/usr/share/puppet/modules"), &mut files, 0);
    files.sort();
    let read = |file: &PathBuf| fs::read_to_string(file).ok();
    let texts: Vec<String> = files.iter().filter_map(read).collect();
    assert!(texts.len() > 70, "{} functions", texts.len());
    let mut reasons: Vec<String> = Vec::new();
    for text in &texts {
        reasons.extend(RubyFunction::parse(text).err().map(|it| it.reason));
    }
    let outcome = compare(&texts);
    reasons.sort();
    println!(
        "{} of {} functions are native; of their calls {} are, {} are left to Ruby ({} of them fail there); \
         not native: {reasons:?}",
        texts.len() - reasons.len(),
        texts.len(),
        outcome.native,
        outcome.left,
        outcome.left_and_failed
    );
    assert!(outcome.native > 500, "{}", outcome.native);
    outcome.assert_equal();
}

#[test]
fn written_functions_give_the_results_of_ruby() {
    let texts = blocks("ruby_functions.txt").expect("the cases");
    let (left, texts): (Vec<String>, Vec<String>) = texts
        .into_iter()
        .partition(|text| text.contains("# for Ruby"));
    for text in &texts {
        RubyFunction::parse(text).expect(text);
    }
    assert_eq!(compare(&left).native, 0, "calls for Ruby");
    let outcome = compare(&texts);
    println!(
        "{} calls are native, {} are left to Ruby, {} of them fail there",
        outcome.native, outcome.left, outcome.left_and_failed
    );
    assert!(outcome.native > 300, "{}", outcome.native);
    outcome.assert_equal();
}

/// Calls each function here and in Puppet with the same arguments.
fn compare(texts: &[String]) -> NativeOutcome {
    let mut cases = Vec::new();
    let mut native = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let Ok(function) = RubyFunction::parse(text) else {
            continue;
        };
        let resolve = &mut |text: &str| Type::parse(text);
        let Ok(function) = function.with_types(resolve) else {
            continue;
        };
        for round in 0..ROUNDS {
            let arguments = ArgumentMaker::new(number as u64 * 1000 + round).arguments();
            native.push((number, call(&function, &arguments), arguments.clone()));
            cases.push(json!([number, arguments]));
        }
    }
    let question = json!({"functions": texts, "cases": cases});
    let answers = ask_puppet(Puppet::Eight, "ruby_functions.rb", &question);
    let answers = answers.expect("answers of Puppet");
    let answers = answers.as_array().expect("a list");
    assert_eq!(answers.len(), native.len());
    let mut outcome = NativeOutcome::default();
    for ((number, result, arguments), answer) in native.into_iter().zip(answers) {
        match result {
            Ok(value) if answer["value"].as_str() == Some(value.as_str()) => outcome.native += 1,
            Ok(value) => outcome.wrong.push(format!(
                "{}\nwith {arguments:?}:\n  ours {value}\n  Puppet {answer}",
                texts[number]
            )),
            Err(NativeRubyError::NotNative { .. }) => {
                outcome.left += 1;
                outcome.left_and_failed += usize::from(answer.get("error").is_some());
            }
            Err(error) => panic!("{error}"),
        }
    }
    outcome
}

/// The result in a list, as JSON.
fn call(function: &TypedRubyFunction, arguments: &[Json]) -> Result<String, NativeRubyError> {
    let arguments: Vec<Value> = arguments.iter().map(Value::from_json).collect();
    let result = function.call(&arguments, &mut GlobalScope)?;
    let result = result.to_rich_json().expect("plain data");
    Ok(json!([result]).to_string())
}

/// The scope of `ruby_functions.rb`.
struct GlobalScope;

impl RubyScope for GlobalScope {
    fn instance_variable(&mut self, _: &str) -> Result<Option<Value>, RubyScopeError> {
        Ok(None)
    }

    fn variable(&mut self, name: &str) -> Result<Option<Value>, RubyScopeError> {
        let variables = json!({
            "facts": {"memorysize": "7.78 GiB", "os": {"family": "Debian"}},
            "memorysize": "512.00 MB",
            "osfamily": "Debian",
        });
        let name = name.strip_prefix("::").unwrap_or(name);
        Ok(variables.get(name).map(Value::from_json))
    }

    fn has_variable(&mut self, _: &str) -> Result<bool, RubyScopeError> {
        Ok(false)
    }

    fn native_template(&mut self, _: &str) -> Option<std::sync::Arc<native_ruby::ErbTemplate>> {
        None
    }

    fn call_function(
        &mut self,
        _: RubyCallKind,
        _: &str,
        _: &[Value],
    ) -> Result<Option<Value>, RubyScopeError> {
        Ok(None)
    }
}

/// Pseudo-random arguments of all kinds.
struct ArgumentMaker(Random);

// === impl ArgumentMaker ===

impl ArgumentMaker {
    fn new(seed: u64) -> Self {
        Self(Random::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1))
    }

    fn arguments(&mut self) -> Vec<Json> {
        let count = [1, 1, 1, 1, 2, 2, 3, 0][self.below(8)];
        (0..count).map(|_| self.value(0)).collect()
    }

    fn value(&mut self, depth: u32) -> Json {
        const TEXTS: [&str; 20] = [
            "",
            "secret",
            "true",
            "FALSE",
            "a b",
            "10.0.0.1",
            "fe80::1",
            "*",
            "host.example.com",
            "50%",
            "512",
            "a$$b",
            "x$",
            "1:2",
            "*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19",
            "local all all md5",
            "md5abc",
            "äö",
            "a,b,c",
            "<SERVICE DEFAULT>",
        ];
        match self.below(if depth > 1 { 8 } else { 12 }) {
            0 => Json::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(5000)),
            3..=7 => json!(TEXTS[self.below(TEXTS.len())]),
            8 | 9 => {
                let length = self.below(4);
                (0..length).map(|_| self.value(depth + 1)).collect()
            }
            _ => json!({"a": self.value(depth + 1), "b": "", "k": self.value(depth + 1)}),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0.below(bound)
    }
}

fn find_functions(directory: &Path, files: &mut Vec<PathBuf>, depth: usize) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
        let is_function = path.to_string_lossy().contains("/lib/puppet/functions/");
        if path.is_dir() && depth < 8 {
            find_functions(&path, files, depth + 1);
        } else if is_function && path.extension().is_some_and(|ending| ending == "rb") {
            files.push(path);
        }
    }
}
