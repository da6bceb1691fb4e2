//! Checks of owners and modes of the server's files. Main function: [`check`].

use std::path::{Path, PathBuf};

use doctor::defaults::DIRECTORY_ENTRIES;
use doctor::files::{CheckedService, CheckedTree, PathExpectation, examine_path, judge};
use doctor::{DiagnosisFinding, FindingSeverity};

use super::installation::DiagnosedInstallation;
use super::role::ServiceRole;
use crate::config::Config;

/// Checks every file that the server writes or that is configured.
pub(super) fn check(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let service = CheckedService {
        account: installation.account(),
        unit: installation
            .role
            .unit_name()
            .unwrap_or("the service")
            .to_owned(),
    };
    let expected = expected_files(&installation.config, &installation.config_file);
    let looked: Vec<_> = expected
        .into_iter()
        .map(|expected| {
            let facts = examine_path(&expected.path);
            (expected, facts)
        })
        .collect();
    let mut findings = judge(&looked, &service, &installation.accounts);
    findings.extend(check_token_file(installation));
    findings
}

/// Finding if other users can read the token file of the calling user.
fn check_token_file(installation: &DiagnosedInstallation) -> Option<DiagnosisFinding> {
    let path = cli::doctor::token_file(&installation.connection)?;
    let facts = examine_path(&path);
    let expected = CheckedTree::own(path.parent()?).read(&path).secret();
    let service = CheckedService {
        account: installation
            .accounts
            .account_of(rustix::process::geteuid().as_raw()),
        unit: "tutti".to_owned(),
    };
    let found = judge(&[(expected, facts)], &service, &installation.accounts);
    found
        .into_iter()
        .find(|it| it.severity == FindingSeverity::Problem)
}

/// Requirements on all files.
fn expected_files(config: &Config, config_file: &Path) -> Vec<PathExpectation> {
    let mut expected = Vec::new();
    if ServiceRole::from_config(config) == ServiceRole::Server {
        expected.extend(own_files(config));
    }
    if ServiceRole::from_config(config) == ServiceRole::Server && config.ca.enabled {
        expected.extend(ca_files(config));
    }
    expected.extend(named_files(config, config_file));
    expected
}

/// Files that the server creates in its `data_dir`.
fn own_files(config: &Config) -> Vec<PathExpectation> {
    let data = CheckedTree::own(&config.data_dir);
    let mut expected = vec![
        data.write("").required(),
        data.read("seal.key").with_owner_only(),
        data.write("history"),
        data.write("clock.json"),
        data.read("admin-password").secret(),
        data.write("blobs"),
        data.write("modules"),
        data.write("downloads"),
        data.write("withdrawn"),
    ];
    if let Some(database) = config.store_url().strip_prefix("sqlite:") {
        let files = ["", "-wal", "-shm", ".lock"];
        let files = files.map(|suffix| format!("{database}{suffix}"));
        expected.extend(files.map(|file| data.write(file).secret()));
    }
    if config.tls.is_none() {
        let files = config.tls_files();
        expected.push(data.read(files.key).secret());
        expected.push(data.read(files.cert));
        expected.push(data.read(files.ca));
    }
    expected
}

/// Files of the certificate authority, with those of every certificate and request.
fn ca_files(config: &Config) -> Vec<PathExpectation> {
    let dir = config.ca_dir();
    let ca = CheckedTree::own(&dir);
    let mut expected = vec![
        ca.write(""),
        ca.read("ca_key.pem").secret(),
        ca.read("ca_crt.pem"),
    ];
    let changed = [
        "ca_crl.pem",
        "serial",
        "inventory.txt",
        "tutti.lock",
        "signed",
        "requests",
    ];
    expected.extend(changed.map(|name| ca.write(name)));
    for directory in ["signed", "requests"] {
        expected.extend(entries(&dir.join(directory)).map(|path| ca.read(path)));
    }
    expected
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.take(DIRECTORY_ENTRIES).map(|entry| entry.path())
}

/// Files named in the configuration, which others manage, and the configuration itself.
fn named_files(config: &Config, config_file: &Path) -> Vec<PathExpectation> {
    let of = |path: &Path| {
        let directory = path.parent().unwrap_or(Path::new("/"));
        CheckedTree::foreign(directory).read(path)
    };
    let has_password = config.store_url().contains('@');
    let mut expected = vec![match has_password {
        true => of(config_file).secret(),
        false => of(config_file),
    }];
    if let Some(tls) = &config.tls {
        expected.push(of(&tls.key).secret().required());
        let others = [Some(&tls.cert), Some(&tls.ca), tls.crl.as_ref()];
        expected.extend(others.into_iter().flatten().map(|path| of(path).required()));
    }
    let secrets = [config.code.webhook_secret_file.as_ref()];
    expected.extend(
        secrets
            .into_iter()
            .flatten()
            .map(|path| of(path).secret().required()),
    );
    let read = [
        config.code.r10k_config.as_ref(),
        config.broker.authorization.as_ref(),
    ];
    expected.extend(read.into_iter().flatten().map(|path| of(path).required()));
    expected
}
