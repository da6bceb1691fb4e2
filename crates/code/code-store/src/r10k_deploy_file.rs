//! `.r10k-deploy.json`, which r10k writes into an environment and users' `config_version` scripts
//! read. Main function: [`deploy_file`].

use jiff::Timestamp;
use serde_json::json;

use crate::content::{ContentStore, TreeEntry, TreeManifest};
use crate::version_lock::{ModuleOrigin, VersionLock};

/// Name of the file in an environment.
pub const R10K_FILE: &str = ".r10k-deploy.json";

/// Number of hexadecimal digits of a SHA-256 commit.
const COMMIT_DIGITS: usize = 64;

/// Value that r10k writes instead of a commit if there is no control repository.
const PLAIN_SIGNATURE: &str = "plain-default";

/// Ruby's format of a time.
const RUBY_TIME_FORMAT: &str = "%Y-%m-%d %H:%M:%S +0000";

/// Returns the content of the file for a version whose build began at `began` and has finished now.
pub fn deploy_file(lock: &VersionLock, began: Timestamp) -> Vec<u8> {
    let modules = lock.modules.iter().map(|module| {
        let sha = match &module.origin {
            ModuleOrigin::Git { commit, .. } => Some(commit),
            _ => None,
        };
        let name = module.name.rsplit('/').next();
        json!({"name": name, "version": module.origin.version(), "sha": sha})
    });
    let file = json!({
        "name": lock.environment,
        "signature": lock.control.resolved_commit().unwrap_or(PLAIN_SIGNATURE),
        "started_at": began.strftime(RUBY_TIME_FORMAT).to_string(),
        "finished_at": Timestamp::now().strftime(RUBY_TIME_FORMAT).to_string(),
        "deploy_success": true,
        "module_deploys": modules.collect::<Vec<_>>(),
    });
    format!("{file:#}\n").into_bytes()
}

/// Returns the commit that r10k recorded in an environment.
pub fn recorded_commit(content: &ContentStore, manifest: &TreeManifest) -> Option<String> {
    let TreeEntry::File {
        sha256, executable, ..
    } = manifest.get(R10K_FILE.as_bytes())?
    else {
        return None;
    };
    let text = content.read(*sha256, *executable).ok()?;
    let file: serde_json::Value = serde_json::from_slice(&text).ok()?;
    let commit = file["signature"].as_str()?;
    let is_commit = commit.len() <= COMMIT_DIGITS && commit.bytes().all(|b| b.is_ascii_hexdigit());
    is_commit.then(|| commit.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version_lock::{LockedControl, LockedModule};

    #[test]
    fn it_says_what_r10k_says() {
        let git = ModuleOrigin::Git {
            remote: "https://git.example.com/apt.git".to_owned(),
            wanted: "main".to_owned(),
            commit: "1f".repeat(20),
        };
        let module = |name: &str, origin: ModuleOrigin| LockedModule {
            name: name.to_owned(),
            directory: format!("modules/{name}"),
            origin,
            exclude_spec: true,
        };
        let lock = VersionLock {
            environment: "production".to_owned(),
            control: LockedControl {
                remote: String::new(),
                branch: "production".to_owned(),
                commit: "2e".repeat(20),
                ..LockedControl::default()
            },
            modules: vec![
                module("puppetlabs/apt", git),
                module("own", ModuleOrigin::Local),
            ],
            generated_types: false,
        };
        let began = Timestamp::from_second(1_795_000_000).unwrap();
        let text = deploy_file(&lock, began);
        let file: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(file["name"], "production");
        assert_eq!(file["signature"], "2e".repeat(20));
        assert_eq!(file["started_at"], "2026-11-18 11:06:40 +0000");
        assert_eq!(file["deploy_success"], true);
        assert_eq!(file["module_deploys"][0]["name"], "apt");
        assert_eq!(file["module_deploys"][0]["sha"], "1f".repeat(20));
        assert_eq!(file["module_deploys"][1]["sha"], json!(null));
    }
}
