//! Programs that look up give what they give in real Puppet, in the site under `lookups`: functions in
//! Puppet as backends, hiera-eyaml, conversions, all forms of `lookup` and `hiera`. And what their
//! backends explain is explained.
//!
//! Programs that differ stand in [`DIFFERENT`], each with its reason.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use evaluator::function::CallArguments;
use evaluator::{
    CodeBlock, CodeModule, CodeOwner, CodeReadError, CodeSource, EvalResult, EvaluationHost,
    EvaluationLimits, Evaluator, LogLevel, ParseCache, SourceFile, SourceLocation, VariableScope,
};
use lookup::{
    DataFileCache, DirectoryEntry, FileIdentity, HieraSettings, HostError, Lookup, LookupExplainer,
    LookupFiles, LookupRequest, LookupSettings, LookupTrail, context_type,
};
use oracles::{Puppet, ask_puppet};
use pcore::{Type, Value};
use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use crate::site;

/// Programs whose answers differ, and why.
const CRASH: &str = "Puppet crashes; the form is there and is taken";
const NO_CATALOG: &str = "it is said at once that there is no catalog";
const BLOCK: &str = "the block of a function in Rust has no name of its own";
const DIFFERENT: &[(&str, &str)] = &[
    ("hiera(['missing', 'd'])", CRASH),
    ("hiera(['text'])", CRASH),
    ("hiera(1)", BLOCK),
    ("hiera([1])", BLOCK),
    ("hiera_include('classes')", NO_CATALOG),
    ("hiera_include('missing', [])", NO_CATALOG),
    (
        "lookup('all_context')",
        "the type does not name Any as its parent",
    ),
];

/// Texts in which Ruby shows through: there an error of any words will do.
const RUBYS: [&str; 2] = ["undefined method", "no implicit conversion of"];

/// Keys whose explanations are compared.
const EXPLAINED: &[&str] = &[
    "text",
    "merged",
    "list",
    "number",
    "key_explained",
    "asks_text",
    "asks_itself",
    "through_back",
    "fails",
    "dug.a.1",
    "dug.b",
    "all_options",
    "hocon.c.1",
    "secret_list",
    "g_key",
    "g_failing",
    "app::own",
    "app::list",
    "app::number",
    "app::default_only",
    "app::nope",
    "nomodule::x",
    "bad_options::x",
    "key_filled",
    "missing",
];

struct Site {
    root: PathBuf,
    lookup: Lookup,
}

impl Site {
    fn of(root: &Path) -> Self {
        let settings = HieraSettings {
            has_classifier_data: false,
            global_config: Some(root.join("global/hiera.yaml")),
            environment_root: Some(root.join("environments/production")),
            plan: false,
            strict: true,
        };
        let options = LookupSettings {
            settings,
            environment: "production".to_owned(),
            strict_variables: true,
        };
        Self {
            root: root.to_owned(),
            lookup: Lookup::new(options, Arc::new(DataFileCache::default())),
        }
    }

    fn evaluator(&self, question: &Json) -> Evaluator<'_> {
        let evaluator = Evaluator::new(self, EvaluationLimits::default(), ParseCache::new());
        for (name, value) in [
            ("facts", &question["facts"]),
            ("scratch", &question["scratch"]),
            ("trusted", &json!({"authenticated": "local"})),
        ] {
            evaluator.set_global(name, site::from_json(value));
        }
        evaluator
    }
}

impl LookupFiles for Site {
    fn identity(&self, path: &Path) -> Option<FileIdentity> {
        site::identity(path)
    }

    fn read(&self, path: &Path) -> Result<String, HostError> {
        std::fs::read_to_string(path).map_err(|error| HostError(error.into()))
    }

    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry> {
        site::entries(directory)
    }

    fn module_root(&self, module: &str) -> Option<PathBuf> {
        let modules = self.root.join("environments/production/modules");
        let root = modules.join(module);
        (!module.is_empty() && root.is_dir()).then_some(root)
    }

    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError> {
        LookupFiles::read(self, path).map(Zeroizing::new)
    }
}

impl CodeSource for Site {
    fn module(&self, name: &str) -> Option<CodeModule> {
        let path = self.module_root(name)?;
        Some(CodeModule {
            name: name.into(),
            path: path.to_string_lossy().into(),
            dependencies: None,
        })
    }

    fn modules(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        let root = match owner {
            CodeOwner::Environment => Some(self.root.join("environments/production")),
            CodeOwner::Module(name) => self.module_root(name),
        };
        let path = root
            .map(|root| root.join(path))
            .filter(|path| path.exists());
        Ok(path.map(|path| SourceFile {
            path: path.to_string_lossy().into(),
            bytes: std::fs::read(&path).unwrap_or_default().into(),
        }))
    }
}

impl EvaluationHost for Site {
    fn code(&self) -> &dyn CodeSource {
        self
    }

    fn method(
        &self,
        evaluator: &mut Evaluator<'_>,
        receiver: &Value,
        name: &str,
        arguments: &[Value],
        block: Option<&CodeBlock>,
    ) -> Option<EvalResult> {
        self.lookup
            .method(self, evaluator, (receiver, name), arguments, block)
    }

    fn named_type(&self, name: &str) -> Option<Type> {
        context_type(name)
    }

    fn log(&self, _: LogLevel, _: &str, _: &SourceLocation) {}

    fn lookup(&self, evaluator: &mut Evaluator<'_>, call: &mut CallArguments<'_>) -> EvalResult {
        self.lookup.call(self, evaluator, call)
    }
}

fn outcome(root: &Path, question: &Json, program: &str) -> Json {
    let site = Site::of(root);
    match site.evaluator(question).evaluate(program, Some("/case.pp")) {
        Ok(value) => json!({
            "value": value.to_program_string(),
            "type": Type::infer_detailed(&value).to_string(),
        }),
        Err(unwind) => match unwind.into_error() {
            Ok(error) => json!({ "error": without_place(&error.message) }),
            Err(_) => json!({ "error": "interrupted" }),
        },
    }
}

/// A text without the place in a backend that may stand at its end, as it is asked of Puppet.
fn without_place(text: &str) -> &str {
    match text.rfind(" (file: ") {
        Some(at) if text.ends_with(')') && text.matches('\n').count() == 0 => &text[..at],
        _ => text,
    }
}

fn explained(root: &Path, question: &Json, key: &str) -> Json {
    let site = Site::of(root);
    let trail = Rc::new(LookupTrail::with_explainer(LookupExplainer::default()));
    let names = [key.to_owned()];
    let request = LookupRequest {
        names: &names,
        ..LookupRequest::default()
    };
    let mut evaluator = site.evaluator(question);
    let scope = VariableScope::default();
    // A lookup that fails is explained as far as it went.
    let _ = site
        .lookup
        .find(&site, &mut evaluator, &scope, (&request, &trail));
    let data = site::to_json(&trail.explanation_data());
    json!({ "text": trail.explanation(), "data": data })
}

fn agree(theirs: &Json, ours: &Json) -> bool {
    if let Some(error) = theirs["error"].as_str() {
        let is_rubys = RUBYS.iter().any(|it| error.contains(it));
        return ours["error"].is_string() && (is_rubys || ours["error"] == theirs["error"]);
    }
    // Ruby's own text of an object says nothing of its value
    let is_rubys = theirs["value"].as_str().is_some_and(|it| it.contains("#<"));
    (is_rubys || theirs["value"] == ours["value"]) && theirs["type"] == ours["type"]
}

#[test]
fn lookups_of_programs_give_what_puppet_gives() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("lookups");
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lookups");
    std::fs::create_dir_all(&scratch)?;
    let programs = oracles::blocks("lookups.txt")?;
    let question = json!({
        "site": root, "scratch": scratch, "programs": programs, "keys": EXPLAINED,
        "facts": {"name": "web1", "os": {"family": "Debian"}, "roles": ["web", "db"]},
    });
    let answer = ask_puppet(Puppet::Seven, "lookup_programs.rb", &question)?;
    let answers = answer["programs"].as_array().context("no answers")?;
    let mut faults = Vec::new();
    for (program, theirs) in programs.iter().zip(answers) {
        let ours = outcome(&root, &question, program);
        let different = DIFFERENT.iter().any(|(it, _)| it == program);
        match (agree(theirs, &ours), different) {
            (true, true) => faults.push(format!("{program}\n  differs no longer")),
            (false, false) => {
                faults.push(format!("{program}\n  Puppet {theirs}\n  ours   {ours}"));
            }
            _ => {}
        }
    }
    let answers = answer["explained"].as_array().context("no explanations")?;
    for (key, theirs) in EXPLAINED.iter().zip(answers) {
        let ours = explained(&root, &question, key);
        if ours["text"] != theirs["text"] {
            faults.push(format!(
                "explanation of {key}\n{}",
                difference(theirs, &ours)
            ));
        } else if ours["data"] != theirs["data"] {
            let (theirs, ours) = (&theirs["data"], &ours["data"]);
            faults.push(format!("data of {key}\n  Puppet {theirs}\n  ours   {ours}"));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let all = programs.len() + EXPLAINED.len();
    bail!("{} of {all} differ:\n{}", faults.len(), faults.join("\n"))
}

/// From the first line that differs.
fn difference(theirs: &Json, ours: &Json) -> String {
    let lines = |text: &Json| -> Vec<String> {
        let text = text["text"].as_str().unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let (theirs, ours) = (lines(theirs), lines(ours));
    let same = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
    let rest = |lines: &[String]| -> String {
        let rest: Vec<&str> = lines
            .iter()
            .skip(same)
            .take(4)
            .map(String::as_str)
            .collect();
        rest.join(" / ")
    };
    format!(
        "  from line {same}\n  Puppet {}\n  ours   {}",
        rest(&theirs),
        rest(&ours)
    )
}
