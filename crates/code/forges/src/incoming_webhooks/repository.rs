//! The repository of a webhook: [`PushedRepository`], by which modules that come from it are found.
//!
//! Fields according to the forges' documents: GitHub and Gitea `repository`, GitLab `project`,
//! Bitbucket `repository.links`, Azure DevOps `resource.repository`.

use serde_json::Value;

use super::ForgeKind;
use code_sources::git::GitAddress;

/// Name and addresses of the repository of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedRepository {
    name: String,
    addresses: Vec<String>,
}

// === impl PushedRepository ===

impl PushedRepository {
    pub(super) fn parse(host: ForgeKind, body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let (at, name, addresses): (_, _, &[&str]) = match host {
            ForgeKind::GitHub | ForgeKind::Gitea => (
                "/repository",
                "/name",
                &["/clone_url", "/ssh_url", "/git_url", "/html_url"],
            ),
            ForgeKind::GitLab => (
                "/project",
                "/name",
                &["/git_http_url", "/git_ssh_url", "/web_url"],
            ),
            ForgeKind::Bitbucket => ("/repository", "/name", &["/links/html/href"]),
            ForgeKind::BitbucketServer => ("/repository", "/slug", &[]),
            ForgeKind::Azure => ("/resource/repository", "/name", &["/remoteUrl", "/sshUrl"]),
        };
        let told = body.pointer(at)?;
        let text = |path: &str| told.pointer(path).and_then(Value::as_str);
        let addresses = addresses.iter().filter_map(|path| text(path));
        Some(Self {
            name: text(name)?.to_owned(),
            addresses: addresses.map(str::to_owned).collect(),
        })
    }

    /// True if the address of a module is one of this repository.
    pub fn has_remote(&self, remote: &str) -> bool {
        let address = GitAddress::parse(remote);
        self.addresses.iter().any(|it| {
            let other = GitAddress::parse(it);
            let is_same = address.as_ref().zip(other.as_ref());
            it == remote || is_same.is_some_and(|(one, other)| one.is_same(other))
        })
    }

    /// The module's name according to the repository's: the part after the last dash
    /// (`puppetlabs-apt`, `puppet-module-apt`).
    pub fn module_name(&self) -> &str {
        self.name.rsplit('-').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_of_each_forge() {
        let github = r#"{"repository": {"name": "puppetlabs-apt",
            "clone_url": "https://github.com/ops/puppetlabs-apt.git"}}"#;
        let gitlab =
            r#"{"project": {"name": "apt", "git_ssh_url": "git@git.example.com:ops/apt.git"}}"#;
        let bitbucket = r#"{"repository": {"name": "apt",
            "links": {"html": {"href": "https://bitbucket.org/ops/apt"}}}}"#;
        let azure = r#"{"resource": {"repository": {"name": "puppet-apt",
            "remoteUrl": "https://dev.azure.com/org/project/_git/puppet-apt"}}}"#;
        for (host, body, remote) in [
            (
                ForgeKind::GitHub,
                github,
                "git@github.com:ops/puppetlabs-apt",
            ),
            (ForgeKind::GitLab, gitlab, "https://git.example.com/ops/apt"),
            (
                ForgeKind::Bitbucket,
                bitbucket,
                "git@bitbucket.org:ops/apt.git",
            ),
            (
                ForgeKind::Azure,
                azure,
                "https://anna@dev.azure.com/org/project/_git/puppet-apt",
            ),
        ] {
            let repository = host.repository(body.as_bytes()).unwrap();
            assert_eq!(repository.module_name(), "apt", "{host}");
            assert!(repository.has_remote(remote), "{host}");
            assert!(!repository.has_remote("https://git.example.com/other/apt"));
        }
        let server = ForgeKind::BitbucketServer.repository(br#"{"repository": {"slug": "x-apt"}}"#);
        assert_eq!(server.unwrap().module_name(), "apt");
        for body in ["", "7", "{}", r#"{"repository": 7, "project": []}"#] {
            assert_eq!(
                ForgeKind::GitHub.repository(body.as_bytes()),
                None,
                "{body}"
            );
        }
    }
}
