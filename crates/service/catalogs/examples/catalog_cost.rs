//! Times of compilations of an environment on disk, with Ruby where it is needed:
//! `catalog_cost DIRECTORY MODULES NODE FACTS ROUNDS` or `catalog_cost --smallest`.
//!
//! It prints the first compilation (parse, load, compile), the median of later ones, the number of
//! compilations a second on all cores, the memory, and the calls of Ruby code.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use catalogs::{CompilerOptions, EnvironmentOnDisk};
use compiler::{CompileRequest, CompilerEnvironment, DocumentForm, RubyCalls};
use pcore::{Hash, Value};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const USAGE: &str = "usage: catalog_cost [--smallest | DIRECTORY MODULES NODE FACTS ROUNDS]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [one] if one == "--smallest" => smallest(),
        [directory, modules, node, facts, rounds] => match rounds.parse() {
            Ok(rounds) => read_facts(facts).and_then(|facts| {
                measure(
                    Path::new(directory),
                    Path::new(modules),
                    node,
                    facts,
                    rounds,
                )
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

fn smallest() -> Result<(), String> {
    let directory = std::env::temp_dir().join(format!("catalog-cost-{}", std::process::id()));
    let manifests = directory.join("manifests");
    std::fs::create_dir_all(&manifests).map_err(|error| error.to_string())?;
    let written = std::fs::write(manifests.join("site.pp"), "notify { 'one': }\n");
    let result = written.map_err(|error| error.to_string()).and_then(|()| {
        measure(
            &directory,
            Path::new("/nonexistent"),
            "node",
            Hash::new(),
            1,
        )
    });
    std::fs::remove_dir_all(&directory).map_err(|error| error.to_string())?;
    result
}

fn read_facts(path: &str) -> Result<Hash, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let facts: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
    match Value::from_json(&facts) {
        Value::Hash(facts) => Ok(Hash::clone(&facts)),
        _ => Err(format!("{path} has no facts")),
    }
}

/// `modules` is the base module path; the environment may have modules of its own.
fn measure(
    directory: &Path,
    modules: &Path,
    node: &str,
    facts: Hash,
    rounds: usize,
) -> Result<(), String> {
    // Ruby runs in a directory of its own
    let absolute = |path: &Path| std::path::absolute(path).map_err(|error| error.to_string());
    let (directory, base) = (absolute(directory)?, [absolute(modules)?]);
    let none = Path::new("/nonexistent");
    let on_disk = EnvironmentOnDisk::open("production", &directory, &base, none)
        .map_err(|error| error.to_string())?;
    let request = CompileRequest {
        certname: node.to_owned(),
        facts,
        version: Value::Int(1),
        ..CompileRequest::default()
    };
    let since = Instant::now();
    let environment = on_disk.into_compiler(CompilerOptions {
        version: "1".to_owned(),
        ruby: Some(RubyWorkers::new(RubyWorkerSettings::default())),
        storeconfigs: false,
        shared_units: None,
        ..CompilerOptions::default()
    });
    let (resources, mut ruby_calls) = compile(&environment, &request)?;
    let cold = since.elapsed();
    let mut times: Vec<Duration> = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let since = Instant::now();
        // the calls of the last one, when Ruby and its functions are loaded
        (_, ruby_calls) = compile(&environment, &request)?;
        times.push(since.elapsed());
    }
    times.sort();
    let median = times[times.len() / 2];
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let since = Instant::now();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    (0..rounds).try_for_each(|_| compile(&environment, &request).map(drop))
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    let count = u32::try_from(threads * rounds).unwrap_or(u32::MAX);
    println!(
        "{resources} resources, cold {:.1} ms, warm {:.2} ms, {:.0} a second on {threads} threads, {} kB",
        cold.as_secs_f64() * 1e3,
        median.as_secs_f64() * 1e3,
        f64::from(count) / since.elapsed().as_secs_f64(),
        resident_kilobytes()
    );
    for (name, (calls, time)) in ruby_calls.by_name {
        let each = time.as_secs_f64() * 1e3 / f64::from(u32::try_from(calls).unwrap_or(u32::MAX));
        println!("  {name}: {calls} calls, {each:.2} ms each");
    }
    Ok(())
}

fn compile(
    environment: &CompilerEnvironment,
    request: &CompileRequest,
) -> Result<(usize, RubyCalls), String> {
    let compiled = compiler::compile(environment, request).map_err(|error| error.to_string())?;
    let text = compiled.document.to_text(DocumentForm::Rich);
    std::hint::black_box(text.map_err(|error| error.to_string())?);
    Ok((compiled.document.resource_count(), compiled.ruby_calls))
}

/// Memory of this process in use, without that of Ruby.
fn resident_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|it| it.parse().ok()).unwrap_or_default()
}
