//! Repositories that tests write to, and a deployer that uses them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use code_deployments::{BuiltVersion, Deployer, DeploymentError, SourcesError};
use code_settings::DeploymentSettings;
use code_sources::git::GitProgram;
use code_sources::source::{EnvironmentSource, FoundEnvironment};
use code_store::version_lock::LOCK_FILE;
use environments::EnvironmentName;

pub(crate) struct World {
    directory: tempfile::TempDir,
    deployer: Option<Deployer>,
    change: Box<dyn Fn(&mut DeploymentSettings)>,
}

/// A repository with a work tree, from which deployments fetch.
pub(crate) struct Repository {
    pub(crate) path: PathBuf,
}

/// Returns the error of listing a control repository that does not exist.
pub(crate) async fn source_error(git: &GitProgram, remote: &str) -> SourcesError {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut settings = DeploymentSettings::new(root.join("d"), root.join("environments"));
    settings.sources = vec![Arc::new(EnvironmentSource::new("main", remote))];
    let deployer = Deployer::open(settings, git.clone()).unwrap();
    deployer
        .list_environments(&deployer.start_round())
        .await
        .unwrap_err()
}

// === impl World ===

impl World {
    /// Creates a world with a control repository `control` without any branch.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl Fn(&mut DeploymentSettings) + 'static) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let control = Repository::init(&directory.path().join("control"));
        let deployer = open(directory.path(), &control, &change);
        Self {
            directory,
            deployer: Some(deployer),
            change: Box::new(change),
        }
    }

    /// Simulates a restart of the server.
    pub(crate) fn restart(&mut self) {
        // Only one deployer at a time can lock the directory.
        self.stop();
        self.deployer = Some(open(self.path(), &self.control(), &self.change));
    }

    /// Closes the deployer, so that another process may deploy.
    pub(crate) fn stop(&mut self) {
        drop(self.deployer.take());
    }

    pub(crate) fn deployer(&self) -> &Deployer {
        self.deployer.as_ref().unwrap()
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn control(&self) -> Repository {
        self.at("control")
    }

    /// Creates the repository of a module.
    pub(crate) fn module(&self, name: &str) -> Repository {
        Repository::init(&self.path().join(name))
    }

    /// Creates the modules `m0`, `m1`, … and a Puppetfile that names them.
    pub(crate) fn add_modules(&self, count: usize) {
        let mut puppetfile = String::new();
        for number in 0..count {
            let repository = self.module(&format!("m{number}"));
            let path = repository.path.display();
            let line = format!("mod 'm{number}', git: '{path}', branch: 'production'\n");
            puppetfile.push_str(&line);
        }
        self.control().write("Puppetfile", &puppetfile);
    }

    pub(crate) fn at(&self, name: &str) -> Repository {
        Repository {
            path: self.path().join(name),
        }
    }

    pub(crate) fn live(&self, environment: &str) -> PathBuf {
        self.path().join("code/environments").join(environment)
    }

    pub(crate) async fn found(&self, environment: &str) -> FoundEnvironment {
        let round = self.deployer().start_round();
        let environments = self.deployer().list_environments(&round).await.unwrap();
        environments.by_name[&name(environment)].clone()
    }

    pub(crate) async fn build(&self, environment: &str) -> Result<BuiltVersion, DeploymentError> {
        let round = self.deployer().start_round();
        let environments = self.deployer().list_environments(&round).await.unwrap();
        self.deployer()
            .build(&environments.by_name[&name(environment)], &round)
            .await
    }

    /// Writes the Puppetfile of the control repository.
    pub(crate) fn puppetfile(&self, text: &str) {
        let text = text.replace("DIR", &self.path().display().to_string());
        self.control().write("Puppetfile", &text).commit();
    }

    /// Builds a version and switches to it.
    pub(crate) async fn deploy(&self, environment: &str) -> Result<BuiltVersion, DeploymentError> {
        let built = self.build(environment).await?;
        self.deployer()
            .switch(&built.environment, &built.signature)
            .await?;
        Ok(built)
    }

    /// Returns the files of an environment with their contents, except Tutti's own.
    pub(crate) fn files(&self, environment: &str) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        read(&self.live(environment), "", &mut files);
        files.retain(|path, _| ![".r10k-deploy.json", LOCK_FILE].contains(&path.as_str()));
        files
    }
}

fn open(
    directory: &Path,
    control: &Repository,
    change: &dyn Fn(&mut DeploymentSettings),
) -> Deployer {
    let environments = directory.join("code/environments");
    let mut settings = DeploymentSettings::new(directory.join("deploys"), environments);
    settings.sources = vec![Arc::new(EnvironmentSource::new("main", control.address()))];
    change(&mut settings);
    Deployer::open(settings, GitProgram::default()).unwrap()
}

/// Opens a deployer in a world that another process created.
pub(crate) fn at(directory: &Path) -> Deployer {
    let path = directory.join("control");
    open(directory, &Repository { path }, &|_| {})
}

pub(crate) fn name(text: &str) -> EnvironmentName {
    text.parse().unwrap()
}

fn read(directory: &Path, before: &str, files: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{before}{}", entry.file_name().to_str().unwrap());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            read(&entry.path(), &format!("{path}/"), files);
        } else if kind.is_symlink() {
            let target = std::fs::read_link(entry.path()).unwrap();
            files.insert(path, format!("-> {}", target.display()));
        } else {
            let bytes = std::fs::read(entry.path()).unwrap();
            files.insert(path, String::from_utf8_lossy(&bytes).into_owned());
        }
    }
}

// === impl Repository ===

impl Repository {
    fn init(path: &Path) -> Self {
        std::fs::create_dir_all(path).unwrap();
        let repository = Self {
            path: path.to_owned(),
        };
        repository.git(&["init", "--quiet", "--initial-branch=production"]);
        repository
    }

    pub(crate) fn address(&self) -> String {
        self.path.display().to_string()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(&self.path)
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(arguments)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn write(&self, path: &str, content: &str) -> &Self {
        let path = self.path.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Commits all written files; returns the commit.
    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=change"]);
        self.git(&["rev-parse", "HEAD"])
    }
}
