//! Secrets of a fresh installation: it makes them itself, keeps them to itself, and has them alone.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tokio::process::Command;

/// Files that hold a secret which is no private key.
const SECRET_FILES: [&str; 3] = ["seal.key", "admin-password", "token"];

/// Files that every installation of `tutti quickstart` has: keys of the CA, of the server and of the agents, the seal
/// key, the first password, and the secret of an API client.
const EXPECTED: [&str; 8] = [
    "agents/anna.quickstart/ssl/private_keys/anna.quickstart.pem",
    "agents/ben.quickstart/ssl/private_keys/ben.quickstart.pem",
    "agents/carla.quickstart/ssl/private_keys/carla.quickstart.pem",
    "data/admin-password",
    "data/ca/ca_key.pem",
    "data/seal.key",
    "data/ssl/private_keys/localhost.pem",
    "token",
];

/// Lines shorter than this may be equal by chance: the ends of PEM bodies.
const SHORTEST_SECRET_CHARS: usize = 20;

/// Files with secrets, by their paths below the root, and the secrets themselves.
type Secrets = BTreeMap<PathBuf, BTreeSet<String>>;

async fn quickstart() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_tutti"))
        .args(["quickstart", "--directory"])
        .arg(root.path())
        // Else it builds the agent, as after `cargo run`.
        .env_remove("CARGO")
        .kill_on_drop(true)
        .output();
    let output = output.await.unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    root
}

/// The secrets of an installation; a panic if another user could read one.
fn secrets(root: &Path) -> Secrets {
    let mut secrets = Secrets::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for file in std::fs::read_dir(directory).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                left.push(path);
                continue;
            }
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !SECRET_FILES.contains(&name) && !text.contains("PRIVATE KEY-----") {
                continue;
            }
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o177, 0, "{}: {mode:o}", path.display());
            let lines = text.lines().filter(|line| !line.starts_with("-----"));
            // A seal key has its format before a colon.
            let lines = lines.filter_map(|line| line.rsplit(':').next());
            let lines = lines.filter(|line| line.len() >= SHORTEST_SECRET_CHARS);
            let lines: BTreeSet<String> = lines.map(str::to_owned).collect();
            assert!(!lines.is_empty(), "{}", path.display());
            let below = path.strip_prefix(root).unwrap();
            secrets.insert(below.to_owned(), lines);
        }
    }
    secrets
}

#[tokio::test]
async fn two_installations_share_no_secret_and_the_programs_hold_none() {
    let (one, other) = tokio::join!(quickstart(), quickstart());
    let (one, other) = (secrets(one.path()), secrets(other.path()));
    let expected: Vec<PathBuf> = EXPECTED.iter().map(PathBuf::from).collect();
    for installation in [&one, &other] {
        let files: Vec<PathBuf> = installation.keys().cloned().collect();
        assert_eq!(files, expected);
    }
    let all = |installation: &Secrets| -> BTreeSet<String> {
        installation.values().flatten().cloned().collect()
    };
    let (one, other) = (all(&one), all(&other));
    let shared: Vec<_> = one.intersection(&other).collect();
    assert!(shared.is_empty(), "{shared:?}");
    let tutti = Path::new(env!("CARGO_BIN_EXE_tutti"));
    for program in [tutti.to_owned(), tutti.with_file_name("tutti-agent")] {
        let program = std::fs::read(program).unwrap();
        let program = String::from_utf8_lossy(&program);
        for secret in one.union(&other) {
            assert!(!program.contains(secret.as_str()), "{secret}");
        }
    }
}
