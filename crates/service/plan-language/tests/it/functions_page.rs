//! `docs/functions.md`, generated from the tables of the built-in functions.

use std::collections::HashMap;
use std::fmt::Write as _;

use evaluator::function::{ExampleOutcome, FunctionDoc, FunctionSpec, documentation_faults};
use serde_json::json;

use crate::world::World;

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
        let entries = self.docs.iter().map(|doc| {
            let title = doc.names.join(", ");
            format!("[{title}](#{})", anchor(&title))
        });
        let _ = writeln!(section, "\n{}", entries.collect::<Vec<_>>().join(" · "));
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

/// The anchor that forges give a heading.
fn anchor(title: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-');
    title
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
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
    let origins = [
        Origin::new(
            "Puppet",
            "The functions that Puppet itself has. In the examples the fact `networking.fqdn` is `web1.example.com`, and a \
             module `demo` has the files `files/motd` and `templates/hello.epp`.",
            evaluator::function::core_functions(),
            evaluator::function::core_docs(),
        ),
        Origin::new(
            "stdlib",
            "The functions of puppetlabs-stdlib 8 and 9. Some have two names, with and without `stdlib::`. The examples run \
             on a node with Debian 12 and the address 10.0.0.1, where a module `demo` has some files.",
            stdlib::function_specs(),
            stdlib::function_docs(),
        ),
        Origin::new(
            "Plans",
            "The functions that only plans can call. [Plans](plans.md) explains targets, results and errors. In the examples \
             there are the nodes `db1`, `web1` and `web2` and a module `app`.",
            plan_language::function_specs(),
            plan_language::function_docs(),
        ),
    ];
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

/// Each example is the body of a plan, which runs unattended on nodes in memory.
#[tokio::test]
async fn examples_of_the_documentation_have_their_outcome() {
    let docs = plan_language::function_docs();
    let mut files = vec![
        ("app/files/app.conf".to_owned(), "port=80\n".to_owned()),
        ("app/scripts/check.sh".to_owned(), "#!/bin/sh\n".to_owned()),
        ("app/tasks/restart.sh".to_owned(), "#!/bin/sh\n".to_owned()),
        (
            "app/plans/version.pp".to_owned(),
            "plan app::version(Integer $major) { return \"${major}.0\" }".to_owned(),
        ),
    ];
    files.extend(docs.iter().enumerate().map(|(number, doc)| {
        let (statements, last) = doc.example.rsplit_once('\n').unwrap_or(("", doc.example));
        let plan = format!(
            "plan m::p{number}() {{\n{statements}\n$value = {last}\nreturn String($value, '%p')\n}}"
        );
        (format!("m/plans/p{number}.pp"), plan)
    }));
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (&**path, &**text))
        .collect();
    let mut world = World::with_nodes(&files, &["db1", "web1", "web2"]).await;
    world.is_unattended = true;
    let mut outcomes = HashMap::new();
    for (number, doc) in docs.iter().enumerate() {
        let (state, result) = world.run(&format!("m::p{number}"), json!({})).await;
        let outcome = match state.as_str() {
            "success" => Ok(result.as_str().unwrap_or_default().to_owned()),
            _ => Err(result["msg"].as_str().unwrap_or_default().to_owned()),
        };
        outcomes.insert(doc.example, outcome);
    }
    let functions = plan_language::function_specs();
    let faults = documentation_faults(functions, docs, |example| outcomes[example].clone());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
