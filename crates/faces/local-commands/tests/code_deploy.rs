//! Deployments on this machine: from lists of environments, and the commands that run at their end.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Parser as _;
use cli::local::LocalCommand;
use tempfile::TempDir;

#[derive(Debug, clap::Parser)]
struct DeployLine {
    #[command(flatten)]
    options: cli::code::DeployOptions,
}

/// Result of a deployment.
struct Ran {
    code: u8,
    /// Standard output, without colours.
    printed: String,
    /// Message of the failure; empty if the command ran.
    error: String,
}

/// A directory with repositories and the settings of r10k.
struct Site {
    directory: TempDir,
}

// === impl Site ===

impl Site {
    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).expect("a fixture");
        self.path(name).display().to_string()
    }
}

/// A repository with one file.
fn repository(path: &Path, version: &str) {
    std::fs::create_dir_all(path).expect("a fixture");
    std::fs::write(path.join("VERSION"), version).expect("a fixture");
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message=change"],
    ] {
        let status = Command::new("git")
            .current_dir(path)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments)
            .status();
        assert!(status.expect("a fixture").success(), "git {arguments:?}");
    }
}

/// Two environments of modules only, with this command for the end of a deployment.
fn here(postrun: &str) -> Site {
    let site = Site {
        directory: tempfile::tempdir().expect("a fixture"),
    };
    let root = site.path("");
    repository(&root.join("apt"), "1");
    let git = format!("{{git: {}, branch: main}}", root.join("apt").display());
    let list = format!(
        "one: {{type: plain, modules: {{apt: {git}}}}}\ntwo: {{type: plain, modules: {{ntp: {git}}}}}\n"
    );
    let list = site.file("list.yaml", &list);
    let basedir = root.join("environments");
    let settings = format!(
        "sources:\n  main: {{type: yaml, config: {list}, basedir: {}}}\npostrun: {postrun}\n",
        basedir.display()
    );
    site.file("r10k.yaml", &settings);
    site
}

async fn deploy(site: &Site, words: &[&str]) -> Ran {
    let settings = site.path("r10k.yaml").display().to_string();
    let directory = site.path("tutti").display().to_string();
    let first = ["deploy", "--local", "--r10k-config", &settings];
    let all = [&first[..], &["--directory", &directory], words].concat();
    let DeployLine { options } = DeployLine::parse_from(all);
    cli::say::capture();
    let ended = local_commands::run(LocalCommand::CodeDeploy(options)).await;
    let printed = cli::say::captured();
    let (code, error) = match ended {
        Ok(code) => (code, String::new()),
        Err(failure) => (cli::EXIT_ERROR, failure.to_string()),
    };
    Ran {
        code,
        printed,
        error,
    }
}

fn version(site: &Site, module: &str) -> String {
    let path: PathBuf = site.path("environments").join(module).join("VERSION");
    std::fs::read_to_string(path).expect("a fixture")
}

#[tokio::test]
async fn one_module_is_deployed_alone_and_postrun_is_told_where() {
    let site = here("[sh, -c, 'echo \"$1\" > \"$0\"', TOLD, 'now: $modifiedenvs']");
    let told = site.path("told");
    let settings = std::fs::read_to_string(site.path("r10k.yaml")).expect("a fixture");
    let settings = settings.replace("TOLD", &told.display().to_string());
    site.file("r10k.yaml", &settings);
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    let ran = deploy(&site, &["--all", "--dry-run"]).await;
    assert_eq!((ran.code, said().as_str()), (0, ""));
    let ran = deploy(&site, &["--all"]).await;
    assert_eq!((ran.code, said().as_str()), (0, "now: one two\n"));
    repository(&site.path("apt"), "2");
    let ran = deploy(&site, &["--module", "apt"]).await;
    assert_eq!((ran.code, said().as_str()), (0, "now: one\n"));
    assert_eq!(ran.printed.lines().count(), 1, "{}", ran.printed);
    assert_eq!(version(&site, "one/modules/apt"), "2");
    assert_eq!(version(&site, "two/modules/ntp"), "1");
    // Nothing has changed, so the command is not run.
    std::fs::remove_file(&told).expect("a fixture");
    let ran = deploy(&site, &["one", "--module", "apt"]).await;
    assert_eq!((ran.code, said().as_str()), (0, ""));
    let ran = deploy(&site, &["two", "--module", "apt"]).await;
    assert_eq!(ran.code, 1);
    assert!(
        ran.printed.contains("it has no module apt"),
        "{}",
        ran.printed
    );
    let ran = deploy(&site, &["--module", "nothing"]).await;
    assert!(
        ran.error
            .contains("no environment that is live has the module nothing")
    );
}

#[tokio::test]
async fn a_postrun_that_fails_undoes_nothing() {
    let site = here("[sh, -c, 'exit 3']");
    let ran = deploy(&site, &["--all"]).await;
    assert_eq!(ran.code, 1);
    assert_eq!(version(&site, "one/modules/apt"), "1");
}

#[tokio::test]
async fn a_postrun_may_deploy_itself() {
    // The command would wait forever if the deployment still held the directory.
    let site = here("[flock, LOCK, 'true']");
    let lock = site.path("tutti/lock");
    let settings = std::fs::read_to_string(site.path("r10k.yaml")).expect("a fixture");
    let settings = settings.replace("LOCK", &lock.display().to_string());
    site.file("r10k.yaml", &settings);
    let ran = deploy(&site, &["--all"]).await;
    assert_eq!(ran.code, 0, "{}", ran.printed);
}
