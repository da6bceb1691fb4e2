//! Measures deployments, compared with r10k and g10k if they are installed:
//! `cargo run --release -p code-deployments --example deploy_speed -- TUTTI MODULES [--smallest]`.
//!
//! Ten environments with the same modules of Debian, each in its own repository. Each tool runs as
//! a process, as a user calls it. Prints JSON: seconds of wall clock and of processor time,
//! including git's.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures stops where something is wrong, and prints what it found"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use code_deployments::Deployer;
use code_settings::R10kSettings;
use code_store::gc::{GcOptions, RetentionSettings};
use code_store::version::VersionSignature;
use environments::EnvironmentName;
use serde_json::{Value, json};

/// The sizes of the measurement; of runs and switches the median is printed.
#[derive(Clone, Copy)]
struct Size {
    environments: usize,
    modules: usize,
    /// Runs without changes.
    repeats: usize,
    /// Runs with one module changed.
    changes: usize,
    switches: usize,
    /// Garbage collections that are interrupted.
    cuts: u64,
}

const FULL: Size = Size {
    environments: 10,
    modules: 20,
    repeats: 9,
    changes: 3,
    switches: 1_001,
    cuts: 20,
};

const SMALLEST: Size = Size {
    environments: 2,
    modules: 2,
    repeats: 1,
    changes: 1,
    switches: 3,
    cuts: 1,
};

/// A call of a tool with its settings.
type Call<'c> = dyn Fn(&Path) -> Command + 'c;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (tutti, modules) = (arguments.next().unwrap(), arguments.next().unwrap());
    let is_smallest = arguments
        .next()
        .is_some_and(|argument| argument == "--smallest");
    let size = if is_smallest { SMALLEST } else { FULL };
    let root = tempfile::tempdir().unwrap();
    let files = repositories(root.path(), Path::new(&modules), size);
    let ours = |config: &Path| {
        let mut command = Command::new(&tutti);
        command.args(["code", "deploy", "--all", "--local", "--r10k-config"]);
        let directory = config.with_extension("d");
        command.arg(config).arg("--directory").arg(directory);
        command
    };
    let r10k = |config: &Path| {
        let mut command = Command::new("r10k");
        command.args(["deploy", "environment", "-p", "-c"]);
        command.arg(config);
        command
    };
    let g10k = |config: &Path| {
        let mut command = Command::new("g10k");
        command.arg("-config").arg(config);
        command
    };
    let mut told = json!({
        "environments": size.environments, "modules": size.modules, "files_of_one": files,
        "tutti": tool(root.path(), "tutti", &ours, size),
        "switch_us": switch(root.path(), size.switches),
        "room": room(root.path(), size.cuts),
    });
    let others: [(&str, &Call<'_>); 2] = [("r10k", &r10k), ("g10k", &g10k)];
    for (name, call) in others {
        let silent = Command::new(name)
            .arg("version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if silent.is_ok() {
            told[name] = tool(root.path(), name, call, size);
        }
    }
    println!("{told:#}");
}

/// Creates the modules and a control repository with a branch for each environment; returns the
/// number of files of one.
fn repositories(root: &Path, modules: &Path, size: Size) -> usize {
    let mut names: Vec<PathBuf> = std::fs::read_dir(modules)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.join("metadata.json").exists())
        .collect();
    names.sort();
    names.truncate(size.modules);
    let control = root.join("control");
    let mut puppetfile = String::new();
    for from in &names {
        let name = from.file_name().unwrap().to_str().unwrap();
        let repository = root.join("repositories").join(name);
        std::fs::create_dir_all(&repository).unwrap();
        let from = format!("{}/.", from.display());
        output(root, "cp", &["-rL", &from, repository.to_str().unwrap()]);
        commit(&repository, "main");
        let place = repository.display();
        // The form that g10k also parses.
        puppetfile.push_str(&["mod '", name, "',\n  :git => '", &place.to_string()].concat());
        puppetfile.push_str("',\n  :branch => 'main'\n");
    }
    std::fs::create_dir_all(control.join("manifests")).unwrap();
    std::fs::write(control.join("Puppetfile"), puppetfile).unwrap();
    std::fs::write(control.join("manifests/site.pp"), "node default { }\n").unwrap();
    commit(&control, "production");
    for number in 1..size.environments {
        git(&control, &["branch", &format!("env_{number}")]);
    }
    let files = ["repositories", "-type", "f", "-not", "-path", "*/.git/*"];
    output(root, "find", &files).lines().count() + 2
}

fn tool(root: &Path, name: &str, call: &Call<'_>, size: Size) -> Value {
    let config = root.join(format!("{name}.yaml"));
    let (control, basedir) = (root.join("control"), root.join(name));
    let cache = root.join(format!("{name}-cache"));
    let text = format!(
        "---\ncachedir: {}\nsources:\n  main:\n    remote: {}\n    basedir: {}\n",
        cache.display(),
        control.display(),
        basedir.display()
    );
    std::fs::write(&config, text).unwrap();
    let measured = || {
        let (began, cpu) = (Instant::now(), children_seconds());
        let ran = call(&config).stdout(Stdio::null()).status();
        assert!(ran.unwrap().success(), "{name}");
        (began.elapsed().as_secs_f64(), children_seconds() - cpu)
    };
    let cold = measured();
    let places = [basedir, cache, config.with_extension("d")];
    let disk_mb = || disk_bytes(root, &places) / 1_000_000;
    let disk_cold_mb = disk_mb();
    let nothing = median((0..size.repeats).map(|_| measured()).collect());
    let module = first_module(root);
    let changed = (0..size.changes).map(|number| {
        std::fs::write(module.join("CHANGED"), format!("{name} {number}")).unwrap();
        commit(&module, "main");
        measured()
    });
    let changed = median(changed.collect());
    let shown = |(wall, cpu): (f64, f64)| json!({"wall_s": wall, "cpu_s": cpu});
    json!({
        "cold": shown(cold),
        "nothing_changed": shown(nothing),
        "one_module_changed": shown(changed),
        "disk_cold_mb": disk_cold_mb,
        "disk_mb": disk_mb(),
    })
}

fn disk_bytes(root: &Path, places: &[PathBuf]) -> u64 {
    let there = places.iter().filter(|path| path.exists());
    let mut arguments = vec!["-s", "-c", "--block-size=1"];
    arguments.extend(there.map(|path| path.to_str().unwrap()));
    let told = output(root, "du", &arguments);
    let total = told.lines().last().unwrap();
    total.split('\t').next().unwrap().parse().unwrap()
}

/// Microseconds of one switch, durable on the disk: the median and the 99th percentile.
fn switch(root: &Path, switches: usize) -> Value {
    let config = root.join("tutti.yaml");
    let read = R10kSettings::parse(&std::fs::read_to_string(&config).unwrap()).unwrap();
    let settings = read.settings(config.with_extension("d"));
    let deployer = Deployer::open(settings, read.git.clone()).unwrap();
    let versions = deployer.versions();
    let production: EnvironmentName = "production".parse().unwrap();
    let all = versions.all_versions().unwrap().into_iter();
    let of: Vec<VersionSignature> = all
        .filter(|(name, _)| *name == production)
        .map(|(_, signature)| signature)
        .collect();
    assert!(of.len() > 1, "there is nothing to switch between");
    let mut times: Vec<u128> = (0..switches)
        .map(|number| {
            let began = Instant::now();
            versions.switch(&production, &of[number % 2]).unwrap();
            began.elapsed().as_micros()
        })
        .collect();
    times.sort_unstable();
    let at = |part: usize| u64::try_from(times[times.len() * part / 100]).unwrap();
    json!({"median": at(50), "p99": at(99)})
}

/// Seconds of a collection that finds nothing, and of one that removes all versions but the live
/// ones; and the time until an interrupted collection has stopped.
fn room(root: &Path, cuts: u64) -> Value {
    let config = root.join("tutti.yaml");
    let read = R10kSettings::parse(&std::fs::read_to_string(&config).unwrap()).unwrap();
    let settings = read.settings(config.with_extension("d"));
    let deployer = Deployer::open(settings, read.git.clone()).unwrap();
    let versions = deployer.versions();
    let kept = |keeps: usize| GcOptions {
        keep: RetentionSettings {
            versions: Some(keeps),
            age: Duration::ZERO,
        },
        ..GcOptions::default()
    };
    let timed = |kept: &GcOptions| {
        let began = Instant::now();
        let collected = deployer.collect(kept, true).unwrap();
        (began.elapsed().as_secs_f64(), collected)
    };
    let (nothing_s, nothing) = timed(&kept(usize::MAX));
    for (environment, signature) in versions.all_versions().unwrap() {
        let path = versions.path(&environment, &signature);
        let then = SystemTime::now() - Duration::from_secs(60 * 60);
        std::fs::File::open(path)
            .unwrap()
            .set_modified(then)
            .unwrap();
    }
    // Each collection is interrupted a little later than the one before.
    let waits = (0..cuts).map(|number| {
        let kept = kept(0);
        let cut = kept.cut.clone();
        std::thread::scope(|scope| {
            let collecting = scope.spawn(|| deployer.collect(&kept, true).unwrap());
            std::thread::sleep(Duration::from_millis(number));
            cut.cancel();
            let began = Instant::now();
            drop(collecting.join().unwrap());
            began.elapsed().as_secs_f64()
        })
    });
    let longest = waits.fold(0.0, f64::max);
    let (removed_s, _) = timed(&kept(0));
    json!({
        "nothing_s": nothing_s, "kept_mb": nothing.left_bytes / 1_000_000,
        "longest_wait_s": longest, "removed_s": removed_s,
    })
}

fn median(mut times: Vec<(f64, f64)>) -> (f64, f64) {
    times.sort_by(|one, other| one.0.total_cmp(&other.0));
    times[times.len() / 2]
}

/// Processor time of child processes that have ended, including their children.
fn children_seconds() -> f64 {
    const TICKS_OF_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap();
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: f64 = ticks.map(|it| it.parse::<f64>().unwrap()).sum();
    ticks / TICKS_OF_A_SECOND
}

fn first_module(root: &Path) -> PathBuf {
    let mut names: Vec<PathBuf> = std::fs::read_dir(root.join("repositories"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    names.remove(0)
}

fn commit(repository: &Path, branch: &str) {
    if !repository.join(".git").exists() {
        let branch = format!("--initial-branch={branch}");
        git(repository, &["init", "--quiet", &branch]);
    }
    git(repository, &["add", "--all", "--force"]);
    git(repository, &["commit", "--quiet", "--message=change"]);
}

fn git(repository: &Path, arguments: &[&str]) {
    let own = ["-c", "user.name=t", "-c", "user.email=t@example.com"];
    output(repository, "git", &[&own, arguments].concat());
}

fn output(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .current_dir(directory)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}
