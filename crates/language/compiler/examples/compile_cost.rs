//! Times of compilations: `compile_cost [--smallest] [DIRECTORY MODULES NODE FACTS]`.
//!
//! Without a directory it compiles generated manifests: files that are written out, and a defined
//! type in a loop. With one it compiles that environment, cold and warm, on one thread and on all.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark prints its figures"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use compiler::{
    CompileRequest, CompilerEnvironment, DocumentForm, EnvironmentCode, EnvironmentSettings,
};
use evaluator::{CodeModule, CodeOwner, CodeReadError, CodeSource, SourceFile};
use lookup::{DirectoryEntry, FileIdentity, HieraSettings, HostError, LookupFiles};
use pcore::{Hash, Value};
use zeroize::Zeroizing;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [] => generated(1_000, 3_000, 50),
        [one] if one == "--smallest" => generated(10, 10, 1),
        [directory, modules, node, facts] => site(directory, modules, node, facts),
        _ => Err("usage: compile_cost [--smallest | DIRECTORY MODULES NODE FACTS]".to_owned()),
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
        &Directory::of_text(written),
        &request("web1", Hash::new()),
        rounds,
    )?;
    let looped = format!(
        "define d($n) {{ notify {{ \"d $n\": message => \"m $n\" }} }}\n\
         Integer[1, {defined}].each |$i| {{ d {{ \"x$i\": n => $i }} }}\n"
    );
    let request = request("web1", Hash::new());
    measure(
        "a defined type in a loop",
        &Directory::of_text(looped),
        &request,
        rounds,
    )
}

fn site(directory: &str, modules: &str, node: &str, facts: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(facts).map_err(|error| format!("{facts}: {error}"))?;
    let facts: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| format!("{facts}: {error}"))?;
    let facts = match Value::from_json(&facts) {
        Value::Hash(facts) => Hash::clone(&facts),
        _ => return Err("the facts are no object".to_owned()),
    };
    let code = Directory {
        root: directory.into(),
        modules: modules.split(':').map(PathBuf::from).collect(),
        manifest: None,
    };
    measure(directory, &code, &request(node, facts), 50)
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
    code: &Directory,
    request: &CompileRequest,
    rounds: usize,
) -> Result<(), String> {
    let since = Instant::now();
    let environment = environment(code.clone());
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

fn environment(code: Directory) -> CompilerEnvironment {
    let settings = EnvironmentSettings {
        name: "production".to_owned(),
        hiera: HieraSettings {
            environment_root: Some(code.root.clone()),
            strict: true,
            ..HieraSettings::default()
        },
        settings: Vec::new(),
        storeconfigs: false,
        ruby: None,
    };
    CompilerEnvironment::new(settings, Box::new(code))
}

/// An environment in a directory, or a text as its manifest.
#[derive(Clone)]
struct Directory {
    root: PathBuf,
    modules: Vec<PathBuf>,
    manifest: Option<Arc<[u8]>>,
}

impl Directory {
    fn of_text(text: String) -> Self {
        Self {
            root: "/nonexistent".into(),
            modules: Vec::new(),
            manifest: Some(text.into_bytes().into()),
        }
    }
}

fn source(path: &Path) -> Option<SourceFile> {
    Some(SourceFile {
        bytes: std::fs::read(path).ok()?.into(),
        path: path.to_string_lossy().into(),
    })
}

impl CodeSource for Directory {
    fn module(&self, name: &str) -> Option<CodeModule> {
        let path = self.module_root(name)?;
        Some(CodeModule {
            name: name.into(),
            path: path.to_string_lossy().into(),
            dependencies: None,
        })
    }

    fn modules(&self) -> Vec<Arc<str>> {
        let entries = self.modules.iter().flat_map(|path| self.entries(path));
        entries.map(|entry| entry.name.into()).collect()
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        let root = match owner {
            CodeOwner::Environment => Some(self.root.clone()),
            CodeOwner::Module(name) => self.module_root(name),
        };
        Ok(root.and_then(|root| source(&root.join(path))))
    }
}

impl LookupFiles for Directory {
    fn identity(&self, path: &Path) -> Option<FileIdentity> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(FileIdentity {
            device: 0,
            inode: 0,
            size: metadata.len(),
            changed_nanoseconds: 0,
        })
    }

    fn read(&self, path: &Path) -> Result<String, HostError> {
        std::fs::read_to_string(path).map_err(|error| HostError::text(error.to_string()))
    }

    fn entries(&self, directory: &Path) -> Vec<DirectoryEntry> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries
            .map(|entry| DirectoryEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_directory: entry.path().is_dir(),
            })
            .collect()
    }

    fn module_root(&self, module: &str) -> Option<PathBuf> {
        let mut roots = self.modules.iter().map(|path| path.join(module));
        roots.find(|root| root.is_dir())
    }

    fn key(&self, path: &Path) -> Result<Zeroizing<String>, HostError> {
        LookupFiles::read(self, path).map(Zeroizing::new)
    }
}

impl EnvironmentCode for Directory {
    fn as_code(&self) -> &dyn CodeSource {
        self
    }

    fn as_files(&self) -> &dyn LookupFiles {
        self
    }

    fn site_manifests(&self) -> Result<Vec<SourceFile>, CodeReadError> {
        Ok(match &self.manifest {
            Some(bytes) => vec![SourceFile {
                path: "site.pp".into(),
                bytes: Arc::clone(bytes),
            }],
            None => source(&self.root.join("manifests/site.pp"))
                .into_iter()
                .collect(),
        })
    }

    fn directory(&self) -> String {
        self.root.display().to_string()
    }
}
