//! `docs/functions.md`, generated from the tables of the built-in functions.

use std::collections::HashMap;
use std::fmt::Write as _;

use evaluator::function::{ExampleOutcome, FunctionDoc, FunctionSpec};

const INTRODUCTION: &str = "\
# Built-in functions

`cargo xtask functions` writes this page from the tables of the functions; a test evaluates the examples.

Signatures have Puppet's types. Square brackets enclose what a call may leave out. `*` precedes a parameter that takes any
number of arguments, `+` one that takes at least one, and `&` the block. What follows `>>` is the type of the value.
";

/// Functions of one crate.
struct Origin {
    title: &'static str,
    introduction: &'static str,
    functions: HashMap<&'static str, &'static FunctionSpec>,
    docs: &'static [FunctionDoc],
}

impl Origin {
    fn new(
        title: &'static str,
        introduction: &'static str,
        functions: impl Iterator<Item = &'static FunctionSpec>,
        docs: &'static [FunctionDoc],
    ) -> Self {
        Self {
            title,
            introduction,
            functions: functions.map(|it| (it.name, it)).collect(),
            docs,
        }
    }

    fn section(&self) -> String {
        let mut section = format!("\n## {}\n\n{}\n", self.title, self.introduction);
        for doc in self.docs {
            let title = doc.names.join(", ");
            let _ = write!(section, "\n### {title}\n\n{}\n", doc.sentence);
            let _ = write!(section, "\n```puppet\n{}\n```\n", example(doc));
            let _ = write!(section, "\n```\n{}\n```\n", self.signatures(doc));
        }
        section
    }

    /// The signatures of a function, those of further names only where they differ, and the types in
    /// them that only this function has.
    fn signatures(&self, doc: &FunctionDoc) -> String {
        let mut lines = Vec::new();
        for name in doc.names {
            let function = self.functions[name];
            for signature in function.signatures() {
                let parameters = &signature[name.len()..];
                if !lines.iter().any(|line: &String| line.ends_with(parameters)) {
                    lines.push(signature);
                }
            }
            let of_function = function.local_types.iter();
            for (alias, ty) in of_function.filter(|(alias, _)| !alias.contains("::")) {
                let line = format!("type {alias} = {ty}");
                if !lines.contains(&line) {
                    lines.push(line);
                }
            }
        }
        lines.join("\n")
    }
}

fn example(doc: &FunctionDoc) -> String {
    let outcome = match doc.outcome {
        ExampleOutcome::Value(value) => value.to_owned(),
        ExampleOutcome::Error(message) => format!("error: {message}"),
        ExampleOutcome::NotRun(reason) => format!("not run by tests: {reason}"),
    };
    let separator = if doc.example.contains('\n') {
        "\n"
    } else {
        "  "
    };
    format!("{}{separator}# {outcome}", doc.example)
}

fn page() -> String {
    let origins = [Origin::new(
        "Puppet",
        "The functions that Puppet itself has.",
        evaluator::function::core_functions(),
        evaluator::function::core_docs(),
    )];
    let mut page = INTRODUCTION.to_owned();
    page.extend(origins.iter().map(Origin::section));
    page
}

/// `cargo xtask functions` runs this test with `UPDATE_FUNCTIONS=1`.
#[test]
fn the_page_of_functions_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/functions.md");
    let current = page();
    if std::env::var_os("UPDATE_FUNCTIONS").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        kept == current,
        "docs/functions.md is old; `cargo xtask functions` writes it anew"
    );
}
