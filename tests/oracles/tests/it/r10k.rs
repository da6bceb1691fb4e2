//! Environments as r10k deploys them: from the same control repository, file for file.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use code_deployments::Deployer;
use code_settings::R10kSettings;

/// Where Debian's packages put modules.
const MODULES: &str = "/usr/share/puppet/modules.available";
const MODULES_MAX: usize = 12;

/// What a tool notes of its own.
const OWN: &[&str] = &[
    ".git",
    ".svn",
    ".r10k-deploy.json",
    ".g10k-deploy.json",
    ".latest_commit",
    ".tutti-version.json",
];

#[tokio::test]
async fn environments_are_file_for_file_those_of_r10k() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let modules = repositories(root);
    assert!(modules > 5, "only {modules} modules in {MODULES}");
    let source = format!("remote: {}/control", root.display());
    let names = compare(root, &source, 200).await;
    assert_eq!(names, ["feature_ABC_1", "production"]);
}

/// Deploys all environments of a source with both; gives their names. Each is to have so many files.
pub(crate) async fn compare(root: &Path, source: &str, files: usize) -> Vec<String> {
    compare_with(root, source, "", files).await
}

/// With further settings.
pub(crate) async fn compare_with(
    root: &Path,
    source: &str,
    more: &str,
    files: usize,
) -> Vec<String> {
    let both = deploy(root, source, more).await;
    for (name, Both { theirs, ours }) in &both {
        assert!(theirs.len() >= files, "{name}: {}", theirs.len());
        let differ = |path: &&String| theirs.get(*path) != ours.get(*path);
        let differ: Vec<&String> = theirs.keys().chain(ours.keys()).filter(differ).collect();
        assert_eq!(differ, Vec::<&String>::new(), "{name}");
    }
    both.into_keys().collect()
}

/// What both made of an environment.
pub(crate) struct Both {
    pub(crate) theirs: Tree,
    pub(crate) ours: Tree,
}

/// Contents and rights to run, by paths.
pub(crate) type Tree = BTreeMap<String, (bool, Vec<u8>)>;

/// Deploys all environments with both. r10k runs in this thread, so whatever it asks must answer in another. It has
/// one thread of its own: with more, two of them may make the directory of modules, and the later fails.
pub(crate) async fn deploy(root: &Path, source: &str, more: &str) -> BTreeMap<String, Both> {
    let theirs = settings(root, "theirs", source, &format!("{more}pool_size: 1\n"));
    let output = Command::new("r10k")
        .args(["deploy", "environment", "-p", "-c"])
        .arg(&theirs)
        .output()
        .expect("r10k is not installed");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let ours = std::fs::read_to_string(settings(root, "ours", source, more)).unwrap();
    let read = R10kSettings::parse(&ours).unwrap();
    let deployer = Deployer::open(read.settings(root.join("deploys")), read.git.clone()).unwrap();
    let round = deployer.start_round();
    let environments = deployer.list_environments(&round).await.unwrap();
    let mut both = BTreeMap::new();
    for found in environments.by_name.values() {
        let built = deployer.build(found, &round).await.unwrap();
        deployer
            .switch(&built.environment, &built.signature)
            .await
            .unwrap();
        let name = found.environment.as_str();
        let (theirs, ours) = (
            tree(&root.join("theirs").join(name)),
            tree(&root.join("ours").join(name)),
        );
        both.insert(name.to_owned(), Both { theirs, ours });
    }
    let entries = std::fs::read_dir(root.join("theirs")).unwrap();
    let theirs = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let theirs: BTreeSet<String> = theirs.collect();
    assert!(theirs.iter().eq(both.keys()), "{theirs:?}");
    both
}

/// Debian's modules as repositories, and a control repository that names them in all ways; gives how many.
fn repositories(root: &Path) -> usize {
    let mut puppetfile = String::from("moduledir 'thirdparty'\n");
    let mut names: Vec<String> = std::fs::read_dir(MODULES)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names.truncate(MODULES_MAX);
    for (index, name) in names.iter().enumerate() {
        let repository = root.join("repositories").join(name);
        std::fs::create_dir_all(&repository).unwrap();
        let from = format!("{MODULES}/{name}/.");
        run(
            root,
            "cp",
            &["-rL", &from, &repository.display().to_string()],
        );
        let commit = commit(&repository, "main");
        run(&repository, "git", &["tag", "v1"]);
        let reference = match index % 4 {
            0 => "branch: 'main'".to_owned(),
            1 => "tag: 'v1'".to_owned(),
            2 => format!(":commit => '{commit}'"),
            _ => "branch: :control_branch, default_branch: 'main'".to_owned(),
        };
        let path = repository.display();
        let module = name.rsplit('-').next().unwrap();
        let line = format!("mod '{module}', git: '{path}', {reference}\n");
        puppetfile.push_str(&line);
    }
    let control = root.join("control");
    for (path, text) in [
        ("Puppetfile", puppetfile.as_str()),
        (
            "environment.conf",
            "modulepath = site:thirdparty:$basemodulepath\n",
        ),
        ("site/role/manifests/init.pp", "class role { }\n"),
        ("thirdparty/unmanaged/x", "stays"),
        ("scripts/version.sh", "#!/bin/sh\n"),
    ] {
        let path = control.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let script = control.join("scripts/version.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("role", control.join("site/alias")).unwrap();
    commit(&control, "production");
    run(&control, "git", &["branch", "feature/ABC-1"]);
    names.len()
}

/// Commits all that is there; gives the commit.
pub(crate) fn commit(repository: &Path, branch: &str) -> String {
    run(
        repository,
        "git",
        &["init", "--quiet", "--initial-branch", branch],
    );
    run(repository, "git", &["add", "--all", "--force"]);
    let message = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@example.com",
        "commit",
        "--quiet",
        "-mx",
    ];
    run(repository, "git", &message);
    run(repository, "git", &["rev-parse", "HEAD"])
}

pub(crate) fn run(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .current_dir(directory)
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// The same settings for both, but for where it goes.
fn settings(root: &Path, name: &str, source: &str, more: &str) -> std::path::PathBuf {
    let path = root.join(format!("{name}.yaml"));
    let text = format!(
        "cachedir: {root}/cache\nsources:\n  main:\n    {source}\n    basedir: {root}/{name}\n\
         deploy:\n  exclude_spec: true\n  purge_levels: [deployment, puppetfile]\n{more}",
        root = root.display()
    );
    std::fs::write(&path, text).unwrap();
    path
}

pub(crate) fn tree(root: &Path) -> Tree {
    let mut found = BTreeMap::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if OWN.iter().any(|own| path.file_name().unwrap() == *own) {
                continue;
            }
            let metadata = std::fs::symlink_metadata(&path).unwrap();
            let relative = path.strip_prefix(root).unwrap().display().to_string();
            if metadata.is_dir() {
                directories.push(path);
            } else if metadata.is_symlink() {
                let target = std::fs::read_link(&path).unwrap().display().to_string();
                found.insert(relative, (false, target.into_bytes()));
            } else {
                let can_run = metadata.permissions().mode() & 0o100 != 0;
                found.insert(relative, (can_run, std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}
