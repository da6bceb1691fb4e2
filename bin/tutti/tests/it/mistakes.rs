//! Mistakes on the command line against a real server: `mistakes/table.txt` has each with its exit
//! code and message.
//!
//! Invariant: a message names the cause, the place and the next step; changes of the table are
//! reviewed before they are kept.

mod table;

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::json;
use tokio::process::Command;

use self::table::{Entry, Outcome};
use crate::world::{World, until};

const NODE: &str = "anna.example.com";

/// Smallest plausible number of rows.
const ROWS_MIN: usize = 80;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mistakes/table.txt");

#[tokio::test]
async fn every_mistake_is_answered_with_its_cause_its_place_and_the_next_step() {
    let world = World::start(&[NODE]).await;
    let desk = Desk::set(&world).await;
    let text = std::fs::read_to_string(TABLE).unwrap();
    let mut entries = table::read(&text);
    let rows = entries.iter().filter(|entry| entry.is_row()).count();
    assert!(rows >= ROWS_MIN, "{rows} mistakes are too few");
    let mut wrong = Vec::new();
    for entry in &mut entries {
        let Entry::Row(row) = entry else { continue };
        let outcome = desk.type_line(&row.line).await;
        if !row.expected.allows(&outcome) {
            wrong.push(format!("$ {}\n{outcome}", row.line));
            row.expected = outcome;
        }
    }
    if std::env::var("TUTTI_UPDATE").is_ok_and(|what| what == "mistakes") {
        std::fs::write(TABLE, table::written(&entries)).unwrap();
        return;
    }
    world.stop().await;
    assert!(
        wrong.is_empty(),
        "{} of {rows} mistakes are answered otherwise than in the table:\n\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A directory in which a user types, with files for the mistakes.
struct Desk {
    directory: PathBuf,
    environment: Vec<(String, String)>,
    /// Texts that differ from run to run, and their placeholders.
    varying: Vec<(String, &'static str)>,
}

// === impl Desk ===

impl Desk {
    async fn set(world: &World) -> Self {
        let directory = world.root().join("desk");
        write_code(world);
        write_files(&directory);
        let bin = directory.join("bin");
        for name in ["tutti", "puppet-job", "puppet-app"] {
            symlink(env!("CARGO_BIN_EXE_tutti"), bin.join(name)).unwrap();
        }
        let installation = &world.installation;
        let (port, ca) = (installation.api_port(), installation.ca_dir());
        let password = installation.data_dir().join("admin-password");
        std::fs::copy(password, directory.join("password")).unwrap();
        let path = format!("{}:/usr/bin:/bin", bin.display());
        let environment = [
            ("PATH", path),
            ("HOME", directory.display().to_string()),
            ("COLUMNS", "200".to_owned()),
            ("TUTTI_SERVICE_URL", format!("https://localhost:{port}")),
            ("TUTTI_CACERT", ca.join("ca_crt.pem").display().to_string()),
            ("TUTTI_TOKEN_FILE", "tokens/admin".to_owned()),
        ];
        let varying = vec![
            (directory.display().to_string(), "DESK"),
            (world.root().display().to_string(), "ROOT"),
            (port.to_string(), "PORT"),
        ];
        let desk = Self {
            directory,
            environment: environment
                .map(|(name, value)| (name.to_owned(), value))
                .into(),
            varying,
        };
        desk.log_in().await;
        desk
    }

    /// Creates the tokens of an administrator and of a read-only user, one that was revoked and one
    /// that expired.
    async fn log_in(&self) {
        for line in [
            "tutti login admin --password-file password -T tokens/admin",
            "tutti role create Readers --permission orchestrator:view --permission nodes:view_data",
            "tutti user create rita --role Readers --password-file rita",
            "tutti login rita --password-file rita -T tokens/reader",
            "tutti login rita --password-file rita -T tokens/revoked --label old",
            "tutti token revoke --label old -T tokens/revoked",
            "tutti login rita --password-file rita -T tokens/expired --lifetime 1s",
        ] {
            let outcome = self.type_line(line).await;
            assert_eq!(outcome.code, 0, "{line}: {outcome}");
        }
        until("a token expires", || async {
            let tried = self.type_line("tutti task list -T tokens/expired").await;
            tried.code != 0
        })
        .await;
    }

    /// Runs a line in a shell; returns the exit code and the printed text.
    async fn type_line(&self, line: &str) -> Outcome {
        let mut typed = line.to_owned();
        for (text, name) in &self.varying {
            typed = typed.replace(name, text);
        }
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{typed} 2>&1")])
            .current_dir(&self.directory)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(std::process::Stdio::null())
            .kill_on_drop(true);
        let output = bash.output().await.unwrap();
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        for (text, name) in &self.varying {
            printed = printed.replace(text, name);
        }
        Outcome::new(output.status.code().unwrap_or(-1), &printed)
    }
}

/// Tasks and plans of the environment `production`, some of them broken.
fn write_code(world: &World) {
    let modules = world
        .installation
        .code_dir()
        .join("environments/production/modules");
    let parameters = json!({
        "name": {"type": "String[1]"},
        "count": {"type": "Optional[Integer[1,10]]"},
        "colour": {"type": "Optional[Enum[red,green,blue]]"},
        "list": {"type": "Optional[Array[String]]"},
        "flag": {"type": "Optional[Boolean]"},
        "version": {"type": "Optional[Pattern[/\\A\\d+\\.\\d+\\z/]]"},
    });
    let typed = json!({"description": "Takes values of each type", "parameters": parameters});
    let script = "#!/bin/sh\necho done\n";
    let installation = &world.installation;
    let add = |module: &str, file: &str, metadata| {
        installation
            .add_task(module, file, &metadata, script)
            .unwrap();
    };
    add("facts", "init.sh", json!({"description": "Tells facts"}));
    add("typed", "init.sh", typed);
    add("broken", "init.sh", json!({}));
    add("broken", "typo.sh", json!({}));
    add("broken", "twice.sh", json!({}));
    write_all(
        &modules,
        &[
            (
                "broken/tasks/init.json",
                "{\n  \"description\": \"x\",\n  oops\n}\n",
            ),
            (
                "broken/tasks/typo.json",
                r#"{"parameters": {"a": {"type": "Strin"}}}"#,
            ),
            ("broken/tasks/twice.rb", "#!/usr/bin/env ruby\n"),
            ("broken/plans/init.pp", "plan broken {\n  $x =\n}\n"),
            (
                "broken/plans/yaml.yaml",
                "steps:\n  - comand: uptime\n    targets: a\n",
            ),
            (
                "rollout/plans/init.pp",
                "plan rollout(TargetSpec $nodes, Optional[Integer] $count = undef) { }\n",
            ),
        ],
    );
}

/// Files in the directory where the lines are typed.
fn write_files(directory: &Path) {
    for name in ["bin", "tokens"] {
        std::fs::create_dir_all(directory.join(name)).unwrap();
    }
    let other_ca = foreign_ca();
    let server = "certname = \"localhost\"\ndata_dir = \"none\"\n";
    write_all(
        directory,
        &[
            ("motd", "hello\n"),
            ("empty", ""),
            ("rita", "a password of rita\n"),
            ("tokens/odd", "two words\n"),
            (
                "tokens/unknown",
                "0abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTU\n",
            ),
            ("other-ca.pem", &other_ca),
            ("bad.conf", "{\"options\": {\"service-url\": }}\n"),
            (
                "wrong.pp",
                "class web {\n  file { '/etc/motd'\n    mode => '0644',\n  }\n}\n",
            ),
            (
                "plans/wrong.yaml",
                "steps:\n  - comand: uptime\n    targets: a\n",
            ),
            ("syntax.toml", &format!("{server}[api\nlisten = 1\n")),
            (
                "key.toml",
                &format!("{server}[api]\nlistn = \"127.0.0.1:1\"\n"),
            ),
            ("type.toml", &format!("{server}[api]\nlisten = 8143\n")),
            (
                "value.toml",
                &format!("{server}[api]\nlisten = \"everywhere\"\n"),
            ),
        ],
    );
    for secret in ["tokens/odd", "tokens/unknown", "rita"] {
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(directory.join(secret), mode).unwrap();
    }
}

/// The certificate of a CA that none of the servers uses.
fn foreign_ca() -> String {
    let directory = tempfile::tempdir().unwrap();
    let options = pki::ca::InitOptions {
        common_name: "Another CA".to_owned(),
        key_type: pki::KeyType::EcP256,
    };
    let ca = directory.path().join("ca");
    pki::CertificateAuthority::init(&ca, &options).unwrap();
    std::fs::read_to_string(ca.join("ca_crt.pem")).unwrap()
}

fn write_all(directory: &Path, files: &[(&str, &str)]) {
    for (name, content) in files {
        let path = directory.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}
