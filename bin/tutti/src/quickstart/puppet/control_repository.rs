//! The control repository of the demonstration: [`ControlRepository`].
//!
//! Invariant: git reads no configuration of the user, so that no hook, signature or template of the user takes part.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use super::super::layout::QuickstartLayout;

/// Files of the branch `production`. `ROOT` stands for the directory of the quickstart.
const FILES: [(&str, &str); 6] = [
    ("manifests/site.pp", "node default {\n  include motd\n}\n"),
    (
        "hiera.yaml",
        "version: 5\nhierarchy:\n  - name: common\n    path: common.yaml\n",
    ),
    (
        "data/common.yaml",
        "motd::directory: 'ROOT/agents/%{trusted.certname}/managed'\n",
    ),
    (
        "modules/motd/manifests/init.pp",
        r#"# Files that greet the users of a node.
class motd (String $directory) {
  file { $directory:
    ensure => directory,
  }
  file { "${directory}/motd":
    source => 'puppet:///modules/motd/motd',
  }
  file { "${directory}/motd.d":
    ensure  => directory,
    source  => 'puppet:///modules/motd/motd.d',
    recurse => true,
    purge   => true,
  }
  file { "${directory}/system":
    content => "${trusted['certname']} runs ${facts['os']['name']} ${facts['os']['release']['major']}.\n",
  }
}
"#,
    ),
    (
        "modules/motd/files/motd",
        "This node is managed by Puppet.\n",
    ),
    (
        "modules/motd/files/motd.d/10-help",
        "Ask the operators for help.\n",
    ),
];

/// A git repository with one branch.
#[derive(Debug)]
pub(super) struct ControlRepository {
    pub(super) directory: PathBuf,
}

// === impl ControlRepository ===

impl ControlRepository {
    /// Writes the code, commits it, and names the repository in r10k's settings.
    pub(super) async fn create(place: &QuickstartLayout) -> Result<Self> {
        let directory = place.root.join("control");
        let root = place.root.display().to_string();
        for (path, text) in FILES {
            let path = directory.join(path);
            let parent = path.parent().unwrap_or(&directory);
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
            std::fs::write(&path, text.replace("ROOT", &root))?;
        }
        git(&directory, &["init", "--quiet", "--template="]).await?;
        git(
            &directory,
            &["symbolic-ref", "HEAD", "refs/heads/production"],
        )
        .await?;
        git(&directory, &["config", "user.name", "quickstart"]).await?;
        git(
            &directory,
            &["config", "user.email", "quickstart@localhost"],
        )
        .await?;
        git(&directory, &["add", "."]).await?;
        git(
            &directory,
            &["commit", "--quiet", "--message", "Greet the users"],
        )
        .await?;
        let settings = serde_json::json!({
            "sources": {"main": {
                "remote": directory,
                "basedir": place.root.join("code/environments"),
            }},
        });
        // JSON is YAML.
        std::fs::write(place.root.join("r10k.yaml"), format!("{settings:#}\n"))?;
        Ok(Self { directory })
    }
}

/// Succeeds if the program git can be started.
pub(super) async fn check_git() -> Result<()> {
    git(Path::new("/"), &["--version"]).await
}

async fn git(directory: &Path, arguments: &[&str]) -> Result<()> {
    let output = tokio::process::Command::new("git")
        .arg("-C")
        .arg(directory)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("cannot start git, from which code is deployed; install the package git")?;
    ensure!(
        output.status.success(),
        "git {} ended with {}: {}",
        arguments.join(" "),
        output.status,
        String::from_utf8_lossy(&output.stderr).trim_end()
    );
    Ok(())
}
