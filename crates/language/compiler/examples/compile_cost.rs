//! Times of compilations of generated manifests: `compile_cost [--smallest]`.
//!
//! Files that are written out, and a defined type in a loop; cold and warm, on one thread and on all.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use compiler::{CompileRequest, CompilerEnvironment, DocumentForm};
use pcore::{Hash, Value};

#[allow(
    dead_code,
    clippy::unwrap_used,
    reason = "only a part of the tests' world is used here"
)]
#[path = "../tests/it/world.rs"]
mod world;

/// The allocator of the server.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [] => generated(1_000, 3_000, 50),
        [one] if one == "--smallest" => generated(10, 10, 1),
        _ => Err("usage: compile_cost [--smallest]".to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn generated(files: usize, defined: usize, rounds: usize) -> Result<(), String> {
    let written: String = (0..files)
        .map(|n| {
            format!("file {{ '/tmp/f{n}': ensure => file, mode => '0644', content => 'c{n}' }}\n")
        })
        .collect();
    measure(
        "files written out",
        &written,
        &request("web1", Hash::new()),
        rounds,
    )?;
    let looped = format!(
        "define d($n) {{ notify {{ \"d $n\": message => \"m $n\" }} }}\n\
         Integer[1, {defined}].each |$i| {{ d {{ \"x$i\": n => $i }} }}\n"
    );
    let request = request("web1", Hash::new());
    measure("a defined type in a loop", &looped, &request, rounds)
}

fn request(node: &str, facts: Hash) -> CompileRequest {
    CompileRequest {
        certname: node.to_owned(),
        facts,
        version: Value::Int(1),
        ..CompileRequest::default()
    }
}

fn measure(
    name: &str,
    manifest: &str,
    request: &CompileRequest,
    rounds: usize,
) -> Result<(), String> {
    let since = Instant::now();
    let environment = world::environment(manifest);
    let resources = compile(&environment, request)?;
    let cold = since.elapsed();
    let mut times: Vec<Duration> = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let since = Instant::now();
        compile(&environment, request)?;
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
                    (0..rounds).try_for_each(|_| compile(&environment, request).map(drop))
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    let count = u32::try_from(threads * rounds).unwrap_or(u32::MAX);
    println!(
        "{name}: {resources} resources, cold {:.1} ms, warm {:.2} ms, {:.0} a second on {threads} threads",
        cold.as_secs_f64() * 1e3,
        median.as_secs_f64() * 1e3,
        f64::from(count) / since.elapsed().as_secs_f64()
    );
    Ok(())
}

fn compile(environment: &CompilerEnvironment, request: &CompileRequest) -> Result<usize, String> {
    let compiled = compiler::compile(environment, request).map_err(|error| error.to_string())?;
    let text = compiled.document.to_text(DocumentForm::Rich);
    std::hint::black_box(text.map_err(|error| error.to_string())?);
    Ok(compiled.document.resource_count())
}
