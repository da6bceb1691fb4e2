//! Modules and control repositories in Subversion.

use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use code_deployments::DeploymentError;
use code_settings::DeploymentSettings;
use code_sources::source::{EnvironmentSource, SourceKind};
use code_sources::svn::SvnLogin;
use code_store::version_lock::{ControlKind, ModuleOrigin};

use crate::world::{World, name};

/// A repository with `trunk`, `branches` and `tags`, and a work tree of all three.
struct Subversion {
    path: PathBuf,
}

impl Subversion {
    fn new(world: &World) -> Self {
        let repository = Self {
            path: world.path().join("svn"),
        };
        run("svnadmin", &["create", &repository.text()]);
        let (url, tree) = (repository.url(""), repository.tree());
        run(
            "svn",
            &["checkout", "--quiet", &url, &tree.display().to_string()],
        );
        for directory in ["trunk", "branches", "tags"] {
            std::fs::create_dir(tree.join(directory)).unwrap();
        }
        repository.commit();
        repository
    }

    fn text(&self) -> String {
        self.path.display().to_string()
    }

    fn url(&self, path: &str) -> String {
        format!("file://{}{path}", self.text())
    }

    fn tree(&self) -> PathBuf {
        self.path.with_extension("tree")
    }

    fn write(&self, path: &str, content: &str) -> &Self {
        let path = self.tree().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content.replace("SVN", &self.url(""))).unwrap();
        self
    }

    fn svn(&self, arguments: &[&str]) {
        let output = Command::new("svn")
            .current_dir(self.tree())
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "svn {arguments:?}: {said}");
    }

    /// Commits all written files.
    fn commit(&self) {
        self.svn(&["add", "--quiet", "--force", "."]);
        self.svn(&["commit", "--quiet", "--message=change"]);
        self.svn(&["update", "--quiet"]);
    }
}

fn run(program: &str, arguments: &[&str]) {
    let status = Command::new(program).args(arguments).status().unwrap();
    assert!(status.success(), "{program} {arguments:?}");
}

fn module(world: &World, more: &str) {
    world.puppetfile(&format!("mod 'apt', svn: 'file://DIR/svn/trunk'{more}"));
}

#[tokio::test]
async fn a_module_is_what_a_revision_has() {
    let mut world = World::new();
    let svn = Subversion::new(&world);
    svn.write("trunk/VERSION", "1")
        .write("trunk/spec/x", "x")
        .write("trunk/run me@home.sh", "#!/bin/sh\n")
        .write("trunk/ä/x", "x");
    let script = svn.tree().join("trunk/run me@home.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("../VERSION", svn.tree().join("trunk/ä/link")).unwrap();
    svn.commit();
    svn.write("trunk/VERSION", "2").commit();
    module(&world, ", rev: '2'");
    let built = world.deploy("production").await.unwrap();
    let files = world.files("production");
    let modules = files
        .keys()
        .filter_map(|path| path.strip_prefix("modules/apt/"));
    let modules: Vec<&str> = modules.collect();
    assert_eq!(modules, ["VERSION", "run me@home.sh", "ä/link", "ä/x"]);
    assert_eq!(files["modules/apt/VERSION"], "1");
    assert_eq!(files["modules/apt/ä/link"], "-> ../VERSION");
    let ran = world.live("production").join("modules/apt/run me@home.sh");
    assert_eq!(
        std::fs::metadata(ran).unwrap().permissions().mode() & 0o777,
        0o555
    );
    let expected = ModuleOrigin::Svn {
        remote: svn.url("/trunk"),
        revision: 2,
    };
    assert_eq!(built.lock.modules[0].origin, expected);
    // A stored revision with a number needs no request.
    std::fs::rename(&svn.path, svn.path.with_extension("away")).unwrap();
    world.restart();
    world.control().write("x", "1").commit();
    world.deploy("production").await.unwrap();
    std::fs::rename(svn.path.with_extension("away"), &svn.path).unwrap();
    module(&world, "");
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "2");
}

#[tokio::test]
async fn what_others_change_makes_no_version() {
    let world = World::new();
    let svn = Subversion::new(&world);
    svn.write("trunk/VERSION", "1").commit();
    module(&world, ", revision: 'HEAD'");
    let first = world.deploy("production").await.unwrap();
    svn.write("tags/x", "1").commit();
    let again = world.deploy("production").await.unwrap();
    assert_eq!(
        (again.existed_before, &again.signature),
        (true, &first.signature)
    );
    svn.write("trunk/VERSION", "2").commit();
    let other = world.deploy("production").await.unwrap();
    assert_ne!(other.signature, first.signature);
    // The directory is moved within the repository, without changes of its files.
    svn.svn(&["move", "--quiet", "trunk", "tags/trunk"]);
    svn.commit();
    world.puppetfile("mod 'apt', type: 'svn', source: 'file://DIR/svn/tags/trunk'");
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "2");
}

#[tokio::test]
async fn what_is_not_there_is_told() {
    let world = World::new();
    let svn = Subversion::new(&world);
    svn.write("trunk/manifests/init.pp", "class {").commit();
    for (module, said) in [
        (
            "svn: 'file://DIR/svn/nothing'",
            "module apt: svn info of file://",
        ),
        (
            "svn: 'file://DIR/nothing'",
            "module apt: svn info of file://",
        ),
        (
            "svn: 'file://DIR/svn/trunk', rev: '99'",
            "apt: svn export of file://",
        ),
        (
            "svn: 'file://DIR/svn/trunk', rev: 'main'",
            "\"main\" is no revision of file://",
        ),
        ("svn: 'DIR/svn/trunk'", "is no address of Subversion"),
        ("svn: 'svn+sh://x/y'", "is no address of Subversion"),
        (
            "svn: 'svn://x/y', password: 's3cret'",
            "a password is named for svn://x/y, and no username",
        ),
        ("svn: 'file://DIR/svn/trunk'", "manifests that do not parse"),
    ] {
        world.puppetfile(&format!("mod 'apt', {module}"));
        let error = world.deploy("production").await.unwrap_err().to_string();
        assert!(error.contains(said), "{module}: {error}");
        assert!(!world.live("production").exists());
    }
    let left = std::fs::read_dir(world.path().join("deploys/content/incoming")).unwrap();
    assert_eq!(left.count(), 0);
}

async fn refused(prepare: impl FnOnce(&Subversion)) -> Result<World, String> {
    let world = World::new();
    let svn = Subversion::new(&world);
    svn.write("trunk/x", "1");
    prepare(&svn);
    svn.commit();
    module(&world, "");
    match world.deploy("production").await {
        Ok(_) => Ok(world),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn repositories_that_mean_harm() {
    for target in ["/etc/passwd", "../../x", "a/../../x"] {
        let error = refused(|svn| {
            std::os::unix::fs::symlink(target, svn.tree().join("trunk/link")).unwrap();
        });
        let error = error.await.err().unwrap();
        assert!(
            error.contains("link is a link that leaves its tree"),
            "{error}"
        );
    }
    let error = refused(|svn| {
        svn.write("trunk/.GIT/config", "x");
    });
    let error = error.await;
    assert!(error.err().unwrap().contains("git's own directory"));
    // Externals are not fetched.
    let world = refused(|svn| {
        svn.write("tags/other", "x").commit();
        let external = format!("{} external", svn.url("/tags"));
        svn.svn(&["propset", "--quiet", "svn:externals", &external, "trunk"]);
    });
    let world = world.await.ok().unwrap();
    let files = world.files("production");
    assert_eq!(files["modules/apt/x"], "1");
    assert!(
        !files.contains_key("modules/apt/external/other"),
        "{files:?}"
    );
}

/// Creates a world whose environments are branches in Subversion.
fn sourced(change: fn(&mut EnvironmentSource)) -> World {
    World::with(move |settings: &mut DeploymentSettings| {
        let root = settings.directory.parent().unwrap();
        let mut source = EnvironmentSource::new("main", format!("file://{}/svn", root.display()));
        source.kind = SourceKind::Svn { login: None };
        change(&mut source);
        settings.sources = vec![Arc::new(source)];
    })
}

#[tokio::test]
async fn trunk_is_production_and_branches_are_others() {
    let world = sourced(|source| source.ignore_branch_prefixes = vec!["draft".to_owned()]);
    let svn = Subversion::new(&world);
    svn.write(
        "trunk/Puppetfile",
        "mod 'apt', svn: 'SVN/tags/apt'\nmod 'own', local: true",
    )
    .write("trunk/modules/own/x", "1")
    .write("tags/apt/VERSION", "1")
    .write("branches/README", "no branch")
    .commit();
    for branch in ["feature-x", "draft-y"] {
        svn.svn(&["copy", "--quiet", "trunk", &format!("branches/{branch}")]);
    }
    svn.commit();
    let round = world.deployer().start_round();
    let found = world
        .deployer()
        .list_environments(&round)
        .await
        .unwrap()
        .by_name;
    let names: Vec<&str> = found.keys().map(|name| name.as_str()).collect();
    assert_eq!(names, ["feature_x", "production"]);
    let built = world.deploy("production").await.unwrap();
    let control = &built.lock.control;
    assert_eq!(
        (control.kind, control.commit.as_str()),
        (ControlKind::Svn, "2")
    );
    assert_eq!(control.remote, svn.url("/trunk"));
    let files = world.files("production");
    assert_eq!(files["modules/own/x"], "1");
    assert_eq!(files["modules/apt/VERSION"], "1");
    world.deploy("feature_x").await.unwrap();
    // One module is deployed alone, although trunk has changed.
    svn.write("tags/apt/VERSION", "2")
        .write("trunk/more", "1")
        .commit();
    let round = world.deployer().start_round();
    let names = ["apt".to_owned()];
    let built = world
        .deployer()
        .build_modules(&name("production"), &names, &round)
        .await;
    let built = built.unwrap().unwrap();
    assert_eq!(built.lock.control.commit, "2");
    world
        .deployer()
        .switch(&built.environment, &built.signature)
        .await
        .unwrap();
    let files = world.files("production");
    assert_eq!(files["modules/apt/VERSION"], "2");
    assert!(!files.contains_key("more"));
    world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["more"], "1");
}

#[tokio::test]
async fn a_source_that_cannot_be_asked_says_nothing() {
    let world = sourced(|_| {});
    let round = world.deployer().start_round();
    let error = world
        .deployer()
        .list_environments(&round)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the source main: svn list of file://"),
        "{error}"
    );
    run(
        "svnadmin",
        &["create", &world.path().join("svn").display().to_string()],
    );
    let round = world.deployer().start_round();
    let error = world
        .deployer()
        .list_environments(&round)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("has neither trunk nor branches"), "{error}");
}

/// Returns the command lines of all processes.
fn command_lines() -> Vec<String> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    lines
        .map(|it| String::from_utf8_lossy(&it).into_owned())
        .collect()
}

/// Serves a repository with a password; sends the command lines of all processes at each
/// connection.
fn serve(repository: &Path) -> (u16, std::sync::mpsc::Receiver<Vec<String>>) {
    let settings = "[general]\nanon-access = none\nauth-access = read\npassword-db = passwd\n";
    std::fs::write(repository.join("conf/svnserve.conf"), settings).unwrap();
    std::fs::write(
        repository.join("conf/passwd"),
        format!("[users]\nme = {PASSWORD}\n"),
    )
    .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (seen, see) = std::sync::mpsc::channel();
    let root = repository.parent().unwrap().to_owned();
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            if seen.send(command_lines()).is_err() {
                return;
            }
            let (input, output) = (
                OwnedFd::from(stream.try_clone().unwrap()),
                OwnedFd::from(stream),
            );
            let served = Command::new("svnserve")
                .args(["--inetd", "--root"])
                .arg(&root)
                .stdin(Stdio::from(input))
                .stdout(Stdio::from(output))
                .stderr(Stdio::null())
                .status();
            drop(served);
        }
    });
    (port, see)
}

const PASSWORD: &str = "s3cret of svn";

#[tokio::test]
async fn passwords_are_in_no_command_line_and_no_message() {
    let world = World::new();
    let svn = Subversion::new(&world);
    svn.write("trunk/VERSION", "1").commit();
    let (port, seen) = serve(&svn.path);
    let module = |password: &str| {
        format!(
            "mod 'apt', svn: 'svn://127.0.0.1:{port}/svn/trunk', username: 'me', password: '{password}'"
        )
    };
    world.puppetfile(&module("wrong s3cret"));
    let error = world.deploy("production").await.unwrap_err();
    assert!(matches!(error, DeploymentError::Resolve(_)), "{error}");
    assert!(
        !format!("{error} {error:?}").contains("s3cret"),
        "{error:?}"
    );
    world.puppetfile(&module(PASSWORD));
    let built = world.deploy("production").await.unwrap();
    assert_eq!(world.files("production")["modules/apt/VERSION"], "1");
    assert!(!format!("{built:?}").contains(PASSWORD));
    let lines: Vec<String> = seen.try_iter().flatten().collect();
    assert!(
        lines.iter().any(|line| line.starts_with("svn\0info")),
        "{lines:?}"
    );
    assert!(
        !lines.iter().any(|line| line.contains("s3cret")),
        "{lines:?}"
    );
    let login = SvnLogin {
        username: "me".to_owned(),
        password: Some(PASSWORD.to_owned().into()),
    };
    assert!(!format!("{login:?}").contains(PASSWORD));
}
