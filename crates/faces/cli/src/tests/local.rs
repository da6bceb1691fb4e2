//! Deployments on this machine: from lists of environments, and what runs when they are over.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::fake::{Fake, Ran};

/// A repository with one file.
fn repository(path: &Path, version: &str) {
    std::fs::create_dir_all(path).unwrap();
    std::fs::write(path.join("VERSION"), version).unwrap();
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
        assert!(status.unwrap().success(), "git {arguments:?}");
    }
}

/// Two environments of modules only, and what runs when a deployment is over.
async fn here(postrun: &str) -> Fake {
    let fake = Fake::start(Vec::new()).await;
    let root = fake.path("");
    repository(&root.join("apt"), "1");
    let git = format!("{{git: {}, branch: main}}", root.join("apt").display());
    let list = format!(
        "one: {{type: plain, modules: {{apt: {git}}}}}\ntwo: {{type: plain, modules: {{ntp: {git}}}}}\n"
    );
    let list = fake.file("list.yaml", &list);
    let basedir = root.join("environments");
    let settings = format!(
        "sources:\n  main: {{type: yaml, config: {list}, basedir: {}}}\npostrun: {postrun}\n",
        basedir.display()
    );
    fake.file("r10k.yaml", &settings);
    fake
}

async fn deploy(fake: &Fake, words: &[&str]) -> Ran {
    let settings = fake.path("r10k.yaml").display().to_string();
    let directory = fake.path("tutti").display().to_string();
    let first = [
        "tutti",
        "code",
        "deploy",
        "--local",
        "--r10k-config",
        &settings,
    ];
    let all = [&first[..], &["--directory", &directory], words].concat();
    fake.run_alone(&all).await
}

fn version(fake: &Fake, module: &str) -> String {
    let path: PathBuf = fake.path("environments").join(module).join("VERSION");
    std::fs::read_to_string(path).unwrap()
}

#[tokio::test]
async fn one_module_is_deployed_alone_and_postrun_is_told_where() {
    let fake = here("[sh, -c, 'echo \"$1\" > \"$0\"', TOLD, 'now: $modifiedenvs']").await;
    let told = fake.path("told");
    let settings = std::fs::read_to_string(fake.path("r10k.yaml")).unwrap();
    let settings = settings.replace("TOLD", &told.display().to_string());
    fake.file("r10k.yaml", &settings);
    let said = || std::fs::read_to_string(&told).unwrap_or_default();
    let ran = deploy(&fake, &["--all", "--dry-run"]).await;
    assert_eq!((ran.code, said().as_str()), (0, ""));
    let ran = deploy(&fake, &["--all"]).await;
    assert_eq!((ran.code, said().as_str()), (0, "now: one two\n"));
    repository(&fake.path("apt"), "2");
    let ran = deploy(&fake, &["--module", "apt"]).await;
    assert_eq!((ran.code, said().as_str()), (0, "now: one\n"));
    assert_eq!(ran.printed.lines().count(), 1, "{}", ran.printed);
    assert_eq!(version(&fake, "one/modules/apt"), "2");
    assert_eq!(version(&fake, "two/modules/ntp"), "1");
    // Nothing is new, so nobody is told.
    std::fs::remove_file(&told).unwrap();
    let ran = deploy(&fake, &["one", "--module", "apt"]).await;
    assert_eq!((ran.code, said().as_str()), (0, ""));
    let ran = deploy(&fake, &["two", "--module", "apt"]).await;
    assert_eq!(ran.code, 1);
    assert!(
        ran.printed.contains("it has no module apt"),
        "{}",
        ran.printed
    );
    let ran = deploy(&fake, &["--module", "nothing"]).await;
    assert!(
        ran.error
            .contains("no environment that is live has the module nothing")
    );
}

#[tokio::test]
async fn a_postrun_that_fails_undoes_nothing() {
    let fake = here("[sh, -c, 'exit 3']").await;
    let ran = deploy(&fake, &["--all"]).await;
    assert_eq!(ran.code, 1);
    assert_eq!(version(&fake, "one/modules/apt"), "1");
}

#[tokio::test]
async fn a_postrun_may_deploy_itself() {
    // It would wait for ever if the deployment still had the directory.
    let fake = here("[flock, LOCK, 'true']").await;
    let lock = fake.path("tutti/lock");
    let settings = std::fs::read_to_string(fake.path("r10k.yaml")).unwrap();
    let settings = settings.replace("LOCK", &lock.display().to_string());
    fake.file("r10k.yaml", &settings);
    let ran = deploy(&fake, &["--all"]).await;
    assert_eq!(ran.code, 0, "{}", ran.printed);
}
