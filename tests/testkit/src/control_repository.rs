//! A control repository from which an installation deploys environments. Main type: [`ControlRepository`].
//!
//! Invariant: a commit contains exactly the given files, and no configuration of a user takes part.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::client::Client;
use crate::installation::Installation;

/// The usual branch, and the environment that is deployed from it.
pub const PRODUCTION: &str = "production";

/// Ref of commits that are imported before the branch has them.
const IMPORTED: &str = "refs/imported/commits";

/// The files of a commit: paths below the repository, and texts.
pub type CommittedFiles = Vec<(String, String)>;

/// A bare git repository, each branch of which is an environment.
#[derive(Clone, Debug)]
pub struct ControlRepository {
    directory: PathBuf,
    /// The directory with the links to live versions.
    environments: PathBuf,
}

// === impl ControlRepository ===

impl ControlRepository {
    /// Creates an empty repository and configures the server, which is not started yet, to deploy from it.
    pub fn create(installation: &Installation) -> Result<Self> {
        let root = installation.root();
        let environments = installation.code_dir().join("environments");
        let repository = Self {
            directory: root.join("control.git"),
            environments,
        };
        std::fs::create_dir(&repository.directory)?;
        repository.git(&["init", "--quiet", "--bare", "--template="])?;
        let source = json!({"remote": repository.directory, "basedir": repository.environments});
        let sources = json!({ "main": source });
        let settings = json!({ "sources": sources }).to_string();
        std::fs::write(root.join("r10k.yaml"), settings)?;
        let config = root.join("tutti.toml");
        let text = std::fs::read_to_string(&config)?;
        let code = "[code]\ndirectory = \"versions\"\nr10k_config = \"r10k.yaml\"\n";
        ensure!(
            text.contains("[code]\n"),
            "{} has no [code]",
            config.display()
        );
        std::fs::write(&config, text.replacen("[code]\n", code, 1))?;
        Ok(repository)
    }

    /// Stores commits, one after the other, without moving a branch; returns their ids.
    pub fn import(&self, commits: impl IntoIterator<Item = CommittedFiles>) -> Result<Vec<String>> {
        let mut stream = String::new();
        let mut count = 0_usize;
        for files in commits {
            count += 1;
            write_commit(&mut stream, count, &files)?;
        }
        let marks = self.directory.join("marks");
        let mut import = self.command();
        import
            .args(["fast-import", "--quiet", "--force"])
            .arg(format!("--export-marks={}", marks.display()))
            .stdin(Stdio::piped());
        let mut child = import.spawn().context("cannot start git")?;
        let mut stdin = child.stdin.take().context("there is no standard input")?;
        stdin.write_all(stream.as_bytes())?;
        drop(stdin);
        let status = child.wait()?;
        ensure!(status.success(), "git fast-import ended with {status}");
        let text = std::fs::read_to_string(marks)?;
        let mut ids = vec![String::new(); count];
        for line in text.lines() {
            let (mark, id) = line.split_once(' ').context("a mark without a commit")?;
            let mark: usize = mark.trim_start_matches(':').parse()?;
            id.clone_into(&mut ids[mark - 1]);
        }
        Ok(ids)
    }

    /// Moves a branch to a commit.
    pub fn set_branch(&self, branch: &str, commit: &str) -> Result<()> {
        self.git(&["update-ref", &format!("refs/heads/{branch}"), commit])
    }

    /// Stores a commit on the branch `production`.
    pub fn commit(&self, files: CommittedFiles) -> Result<()> {
        let ids = self.import([files])?;
        self.set_branch(PRODUCTION, ids.first().context("nothing was imported")?)
    }

    /// Lets the server deploy a branch, and waits until it is live; returns the code id.
    pub async fn deploy(&self, client: &Client, branch: &str) -> Result<String> {
        let body = json!({"environments": [branch], "wait": true});
        let outcome = client.post("/code-manager/v1/deploys", &body).await?;
        ensure!(outcome[0]["status"] == "complete", "{outcome:#}");
        self.live_code_id(branch)
    }

    /// Code id of the live version of an environment.
    pub fn live_code_id(&self, environment: &str) -> Result<String> {
        let live = self.environments.join(environment);
        let version = std::fs::read_link(&live)
            .with_context(|| format!("{} is no link to a version", live.display()))?;
        let name = version.file_name().and_then(|name| name.to_str());
        let signature = name
            .and_then(|name| name.strip_prefix(environment)?.strip_prefix('_'))
            .with_context(|| format!("{} is no version", version.display()))?;
        Ok(format!("urn:puppet:code-id:1:{signature};{environment}"))
    }

    fn git(&self, arguments: &[&str]) -> Result<()> {
        let status = self.command().args(arguments).status();
        let status = status.context("cannot start git")?;
        ensure!(status.success(), "git {arguments:?} ended with {status}");
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command
            .current_dir(&self.directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", Path::new("/dev/null"))
            .stdin(Stdio::null());
        command
    }
}

/// Writes a commit in the format of `git fast-import`.
fn write_commit(stream: &mut String, mark: usize, files: &CommittedFiles) -> Result<()> {
    let message = format!("Commit {mark}");
    write!(
        stream,
        "commit {IMPORTED}\nmark :{mark}\ncommitter test <test@example.com> {} +0000\ndata {}\n{message}\ndeleteall\n",
        1_700_000_000 + mark,
        message.len()
    )?;
    for (path, text) in files {
        write!(
            stream,
            "M 100644 inline {path}\ndata {}\n{text}\n",
            text.len()
        )?;
    }
    Ok(())
}
