//! Programs give the values, types and errors that real Puppet gives: those of `cases/programs.txt`, and
//! every operator and some functions with values of every kind.
//!
//! Programs that differ stand in `cases/differences.txt`, each with its reason; one that no longer
//! differs fails the test, so that the list stays true.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use evaluator::{
    CodeMap, CodeSource, EvalResult, EvaluationHost, EvaluationLimits, Evaluator, LogLevel,
    ParseCache, SourceLocation,
};
use pcore::{Type, Value};
use serde_json::{Value as Json, json};

const VALUES: [&str; 16] = [
    "undef",
    "default",
    "true",
    "1",
    "-3",
    "2.5",
    "'a'",
    "'B'",
    "'5'",
    "''",
    "[1,'a']",
    "{'a'=>1}",
    "/a/",
    "Integer[1,3]",
    "Timespan(5)",
    "Sensitive('x')",
];

const OPERATORS: [&str; 14] = [
    "+", "-", "*", "/", "%", "<<", "==", "<", ">=", "=~", "!~", "in", "and", "or",
];

/// `@` stands for the value.
const USES: [&str; 34] = [
    "-(@)",
    "!(@)",
    "[*(@)]",
    "type(@)",
    "type(@, generalized)",
    "(@)[0]",
    "(@)[1, 2]",
    "(@)['a']",
    "(@).each |$x| { $x }",
    "(@).map |$x| { $x }",
    "(@).map |$x, $y| { [$x, $y] }",
    "(@).filter |$x| { true }",
    "(@).reduce |$m, $x| { $x }",
    "size(@)",
    "empty(@)",
    "(@).upcase",
    "[@].unique",
    "sort([1, @])",
    "[@].join('-')",
    "max(@, 2)",
    "case @ { Integer: { i } String: { s } default: { d } }",
    "1 ? { @ => 1, default => 2 }",
    "[$a, $b] = @\n$a",
    "with(@) |Integer $x| { $x }",
    "assert_type(Integer, @)",
    "String(@)",
    "Integer(@)",
    "Boolean(@)",
    "Array(@)",
    "dig(@, a)",
    "regsubst(@, 'a', 'b')",
    "split(@, 'a')",
    "keys(@)",
    "sprintf('%s', @)",
];

fn programs() -> Result<Vec<String>> {
    let mut programs = oracles::blocks("programs.txt")?;
    for left in VALUES {
        for operator in OPERATORS {
            programs.extend(VALUES.map(|right| format!("{left} {operator} {right}")));
        }
        programs.extend(USES.map(|with| with.replace('@', left)));
    }
    Ok(programs)
}

/// A host with nothing in it but what functions warned of.
struct Nothing {
    code: CodeMap,
    warnings: RefCell<Vec<String>>,
}

impl EvaluationHost for Nothing {
    fn code(&self) -> &dyn CodeSource {
        &self.code
    }

    fn log(&self, level: LogLevel, message: &str, _: &SourceLocation) {
        if level == LogLevel::Warning {
            self.warnings.borrow_mut().push(message.to_owned());
        }
    }
}

pub(crate) fn ours(program: &str) -> Json {
    let host = Nothing {
        code: CodeMap::new(),
        warnings: RefCell::new(warnings_of_source(program)),
    };
    let mut evaluator = Evaluator::new(&host, EvaluationLimits::default(), ParseCache::new());
    let mut answer = answer(evaluator.evaluate(program, Some("/case.pp")));
    answer["warnings"] = json!(host.warnings.take());
    answer
}

/// What Puppet warns of before it evaluates.
fn warnings_of_source(program: &str) -> Vec<String> {
    let source = Arc::new(syntax::SourceText::new(None, program));
    let options = syntax::SyntaxOptions {
        tasks: true,
        ..syntax::SyntaxOptions::default()
    };
    let found = syntax::parse(&source, options).diagnostics;
    let warnings = found.into_iter().filter(|it| !it.is_error());
    warnings.map(|it| it.message).collect()
}

/// An outcome in the form that Ruby's scripts give it.
pub(crate) fn answer(outcome: EvalResult) -> Json {
    let unwind = match outcome {
        Ok(value) => {
            return json!({
                "value": printed(&value),
                "type": Type::infer_detailed(&value).to_string(),
            });
        }
        Err(unwind) => unwind,
    };
    match unwind.into_error() {
        Ok(error) => {
            let place = error.location.unwrap_or_default();
            json!({
                "error": error.message,
                "code": error.code,
                "line": place.line,
                "column": place.column,
            })
        }
        Err(_) => json!({ "error": "interrupted" }),
    }
}

/// As the script prints: in Puppet's format for programs.
fn printed(value: &Value) -> String {
    let format = Value::from("%p");
    match pcore::new_instance(&Type::string(), &[value.clone(), format]) {
        Ok(text) => text.to_string(),
        // a float that is no number
        Err(_) => value.to_program_string(),
    }
}

/// Texts in which Ruby shows through: there an error of any words will do.
const RUBYS: [&str; 9] = [
    "undefined method",
    "uninitialized constant",
    "no implicit conversion of",
    "can't convert",
    "Puppet::Pops::",
    "Puppet::DataTypes::",
    "SemanticPuppet::",
    "RegexpError",
    "Language validation logged",
];

/// Whether an answer is Puppet's, and what was warned of the same. What Puppet does not say, of a place or a code, is not compared.
pub(crate) fn agree(theirs: &Json, ours: &Json) -> bool {
    if !theirs["warnings"].is_null() && theirs["warnings"] != ours["warnings"] {
        return false;
    }
    if let Some(error) = theirs["error"].as_str() {
        if RUBYS.iter().any(|it| error.contains(it)) {
            return ours["error"].is_string();
        }
        let known = |key: &str| !theirs[key].is_null() && theirs[key] != json!("");
        return ours["error"] == theirs["error"]
            && ["code", "line", "column"]
                .iter()
                .all(|key| !known(key) || theirs[key] == ours[key]);
    }
    // Ruby's own text of an object says nothing of its value
    let is_rubys = theirs["value"].as_str().is_some_and(|it| it.contains("#<"));
    (is_rubys || theirs["value"] == ours["value"]) && theirs["type"] == ours["type"]
}

/// The programs that differ, with their reasons: a comment, then programs.
fn differences() -> Result<HashMap<String, String>> {
    let mut known = HashMap::new();
    let mut reason = String::new();
    for block in oracles::blocks("differences.txt")? {
        match block.strip_prefix("# ") {
            Some(text) => reason = text.to_owned(),
            None => drop(known.insert(block, reason.clone())),
        }
    }
    Ok(known)
}

#[test]
fn programs_give_what_puppet_gives() -> Result<()> {
    let programs = programs()?;
    let known = differences()?;
    let answers = oracles::ask_puppet(oracles::Puppet::Eight, "evaluate.rb", &json!(programs))?;
    let answers = answers.as_array().context("the answer is no list")?;
    assert_eq!(answers.len(), programs.len());
    let mut faults = Vec::new();
    for (program, theirs) in programs.iter().zip(answers) {
        let ours = ours(program);
        match (agree(theirs, &ours), known.get(program)) {
            (true, None) | (false, Some(_)) => {}
            (true, Some(reason)) => {
                faults.push(format!("{program}\n  differs no longer: {reason}"));
            }
            (false, None) => faults.push(format!("{program}\n  Puppet {theirs}\n  ours   {ours}")),
        }
    }
    if !faults.is_empty() {
        bail!(
            "{} of {} programs differ:\n{}",
            faults.len(),
            programs.len(),
            faults.join("\n")
        );
    }
    Ok(())
}
