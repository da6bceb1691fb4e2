//! Times of compilations of many classes, one after the other, in one environment:
//! `class_cost DIRECTORY MODULES NODE CLASSES ROUNDS` or `class_cost --smallest`.
//!
//! NODE is a JSON file with `certname`, `server_facts`, `facts` and `legacy_facts`. Each line of CLASSES is a
//! class, the facts that its node has (`modern` or `legacy`), and its number of resources or `fails`. The site
//! manifest includes the class. It prints the sum of the times of the first round, in which manifests are
//! read, and the smallest sum of the later ones, with the documents written as JSON.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use catalogs::{CompilerOptions, EnvironmentOnDisk};
use compiler::{CompileRequest, CompilerEnvironment, DocumentForm, RubyCalls};
use pcore::{Hash, Value};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};
use serde_json::{Value as Json, json};

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const USAGE: &str = "usage: class_cost [--smallest | DIRECTORY MODULES NODE CLASSES ROUNDS]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [one] if one == "--smallest" => smallest(),
        [directory, modules, node, classes, rounds] => match rounds.parse() {
            Ok(rounds) => read_node(node).and_then(|node| {
                let classes = read_classes(classes)?;
                let environment = open_environment(Path::new(directory), Path::new(modules))?;
                measure(&environment, &node, &classes, rounds)
            }),
            Err(_) => Err(format!("{rounds} is no number of rounds")),
        },
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// A class that real Puppet compiles.
struct ClassToCompile {
    name: String,
    has_legacy_facts: bool,
}

fn smallest() -> Result<(), String> {
    let directory = std::env::temp_dir().join(format!("class-cost-{}", std::process::id()));
    let result = write_smallest(&directory)
        .map_err(|error| error.to_string())
        .and_then(|()| open_environment(&directory, Path::new("/nonexistent")))
        .and_then(|environment| {
            let node = json!({"certname": "node", "facts": {"kernel": "Linux"}});
            let classes = classes_of("one modern 1 -\ntwo modern fails -\nthree legacy 1 -\n")?;
            measure(&environment, &node, &classes, 1)
        });
    std::fs::remove_dir_all(&directory).map_err(|error| error.to_string())?;
    result
}

fn write_smallest(directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory.join("manifests"))?;
    let site = "class one { notify { $facts['kernel']: } }\nclass three { include one }\n\
                include $class_to_compile\n";
    std::fs::write(directory.join("manifests/site.pp"), site)
}

fn read_node(path: &str) -> Result<Json, String> {
    serde_json::from_str(&read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn read_classes(path: &str) -> Result<Vec<ClassToCompile>, String> {
    classes_of(&read(path)?).map_err(|error| format!("{path}: {error}"))
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))
}

/// The classes of a list that do not fail.
fn classes_of(list: &str) -> Result<Vec<ClassToCompile>, String> {
    let mut classes = Vec::new();
    for line in list.lines() {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (_, _, Some("fails")) => {}
            (Some(name), Some(facts), Some(_)) => classes.push(ClassToCompile {
                name: name.to_owned(),
                has_legacy_facts: facts == "legacy",
            }),
            _ => return Err(format!("broken line: {line}")),
        }
    }
    Ok(classes)
}

fn open_environment(directory: &Path, modules: &Path) -> Result<CompilerEnvironment, String> {
    // Ruby runs in a directory of its own
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| error.to_string());
    let (directory, base) = (absolute(directory)?, [absolute(modules)?]);
    let none = Path::new("/nonexistent");
    let on_disk = EnvironmentOnDisk::open("production", &directory, &base, none);
    let on_disk = on_disk.map_err(|error| error.to_string())?;
    Ok(on_disk.into_compiler(CompilerOptions {
        version: "1".to_owned(),
        ruby: Some(RubyWorkers::new(RubyWorkerSettings::default())),
        ..CompilerOptions::default()
    }))
}

fn measure(
    environment: &CompilerEnvironment,
    node: &Json,
    classes: &[ClassToCompile],
    rounds: usize,
) -> Result<(), String> {
    let (first, _) = compile_all(environment, node, classes);
    let later: Vec<_> = (0..rounds)
        .map(|_| compile_all(environment, node, classes))
        .collect();
    let fastest = later.iter().min_by_key(|(time, _)| *time);
    let (later, outcomes) = fastest.ok_or("there is no later round")?;
    println!(
        "{} classes, {} fail; first round {:.2} s, later {:.3} s, of which {} classes with Ruby {:.3} s",
        classes.len(),
        outcomes.failed,
        first.as_secs_f64(),
        later.as_secs_f64(),
        outcomes.with_ruby,
        outcomes.time_with_ruby.as_secs_f64()
    );
    for (name, calls) in &outcomes.ruby_calls {
        println!("  {name}: {calls} calls");
    }
    Ok(())
}

/// Numbers of classes in a round.
#[derive(Default)]
struct ClassOutcomes {
    failed: usize,
    /// Those that call code in Ruby.
    with_ruby: usize,
    time_with_ruby: Duration,
    /// Numbers of calls, by the name of the code.
    ruby_calls: BTreeMap<String, u64>,
}

impl ClassOutcomes {
    fn add_ruby_calls(&mut self, ruby_calls: &RubyCalls, time: Duration) {
        if ruby_calls.by_name.is_empty() {
            return;
        }
        self.with_ruby += 1;
        self.time_with_ruby += time;
        for (name, (calls, _)) in &ruby_calls.by_name {
            *self.ruby_calls.entry(name.clone()).or_default() += calls;
        }
    }
}

/// The sum of the times of all classes, without the preparation of their requests.
fn compile_all(
    environment: &CompilerEnvironment,
    node: &Json,
    classes: &[ClassToCompile],
) -> (Duration, ClassOutcomes) {
    let mut outcomes = ClassOutcomes::default();
    let mut sum = Duration::ZERO;
    for class in classes {
        let request = request_of(node, class);
        let since = Instant::now();
        let ruby_calls = compile(environment, &request);
        let time = since.elapsed();
        sum += time;
        match ruby_calls {
            Ok(ruby_calls) => outcomes.add_ruby_calls(&ruby_calls, time),
            Err(error) => {
                outcomes.failed += 1;
                eprintln!("{}: {error}", class.name);
            }
        }
    }
    (sum, outcomes)
}

fn compile(
    environment: &CompilerEnvironment,
    request: &CompileRequest,
) -> Result<RubyCalls, String> {
    let compiled = compiler::compile(environment, request).map_err(|error| error.to_string())?;
    let text = compiled.document.to_text(DocumentForm::Rich);
    std::hint::black_box(text.map_err(|error| error.to_string())?);
    Ok(compiled.ruby_calls)
}

fn request_of(node: &Json, class: &ClassToCompile) -> CompileRequest {
    let mut facts = hash_of(&node["facts"]);
    if class.has_legacy_facts {
        let legacy = hash_of(&node["legacy_facts"]);
        facts.extend(
            legacy
                .iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        );
    }
    let mut server_facts = hash_of(&node["server_facts"]);
    server_facts.insert("environment", "production");
    let mut parameters = server_facts.clone();
    parameters.insert("class_to_compile", class.name.as_str());
    let certname = node["certname"].as_str().unwrap_or_default();
    let trusted = [
        ("authenticated", Value::from("remote")),
        ("certname", Value::from(certname)),
        ("extensions", Value::hash(Hash::new())),
    ];
    CompileRequest {
        certname: certname.to_owned(),
        facts,
        trusted: trusted.into_iter().collect(),
        server_facts,
        parameters,
        version: Value::Int(1),
        ..CompileRequest::default()
    }
}

fn hash_of(value: &Json) -> Hash {
    match Value::from_json(value) {
        Value::Hash(hash) => Hash::clone(&hash),
        _ => Hash::new(),
    }
}
