//! Checks of the certificates, keys and revocation lists of the service. Main function: [`check`].

use std::path::Path;

use doctor::DiagnosisFinding;
use doctor::certificates::{CHECK, CertificateFile, judge_certificates, judge_lists};
use jiff::Timestamp;
use pki::validity::{certificate_dates, list_dates};
use pki::{ClientAuth, PemFileError, ServerTls};

use super::installation::DiagnosedInstallation;
use super::role::ServiceRole;
use crate::config::Config;

/// Checks the dates of all files, and if they match each other.
pub(super) fn check(installation: &DiagnosedInstallation) -> Vec<DiagnosisFinding> {
    let config = &installation.config;
    let files = config.tls_files();
    let is_first_start = config.tls.is_none() && !files.cert.exists();
    if is_first_start && is_searchable(&files.cert) {
        let cause = "it is not there yet: the first start of the server makes it";
        return vec![DiagnosisFinding::note(
            CHECK,
            files.cert.display().to_string(),
            cause,
        )];
    }
    let now = Timestamp::now();
    let renewal = renewal(config);
    let mut findings = certificates(&files.cert, &renewal, now);
    let is_readable = findings.iter().all(|it| it.cause != HIDDEN);
    findings.extend(certificates(&files.ca, &ca_renewal(config), now));
    match &files.crl {
        Some(crl) => findings.extend(check_revocation_list(crl, config, now)),
        None => {
            let cause = "tls.no_crl is set, so revoked certificates are accepted";
            let place = installation.config_file.display().to_string();
            findings.push(
                DiagnosisFinding::note(CHECK, place, cause)
                    .remedy("remove tls.no_crl and name a list in tls.crl"),
            );
        }
    }
    if is_readable && std::fs::File::open(&files.key).is_ok() {
        findings.extend(check_tls_together(config, &files));
    }
    findings
}

/// Cause of a finding on a file that this user may not read.
const HIDDEN: &str = "this user may not read it";

fn is_searchable(path: &Path) -> bool {
    let missing = std::fs::metadata(path).err();
    missing.is_some_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

fn certificates(path: &Path, renewal: &str, now: Timestamp) -> Vec<DiagnosisFinding> {
    match certificate_dates(path) {
        Ok(dates) => judge_certificates(&CertificateFile { path, renewal }, &dates, now),
        Err(error) => vec![unreadable_finding(path, &error, renewal)],
    }
}

fn check_revocation_list(path: &Path, config: &Config, now: Timestamp) -> Vec<DiagnosisFinding> {
    let renewal = match config.ca.enabled {
        true => "tutti ca generate crl-renewal --out /root && tutti ca clean crl-renewal",
        false => {
            "fetch the CA's list again: curl --cacert CA https://CA-SERVER:8140/puppet-ca/v1/certificate_revocation_list/ca"
        }
    };
    match list_dates(path) {
        Ok(dates) => judge_lists(&CertificateFile { path, renewal }, &dates, now),
        Err(error) => vec![unreadable_finding(path, &error, renewal)],
    }
}

fn unreadable_finding(path: &Path, error: &PemFileError, renewal: &str) -> DiagnosisFinding {
    let place = path.display().to_string();
    let source =
        std::error::Error::source(error).and_then(|it| it.downcast_ref::<std::io::Error>());
    match source.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::PermissionDenied) => {
            DiagnosisFinding::note(CHECK, place, HIDDEN).remedy("run this again as root, with sudo")
        }
        _ => {
            let cause = format!("{:#}", anyhow::anyhow!(error.to_string()));
            DiagnosisFinding::problem(CHECK, place, cause).remedy(renewal)
        }
    }
}

/// Finding if key, certificate, CA and list cannot be used together for TLS.
fn check_tls_together(config: &Config, files: &pki::TlsFiles) -> Option<DiagnosisFinding> {
    let error = ServerTls::load(files.clone(), ClientAuth::Optional).err()?;
    let cause = format!(
        "no TLS connection can be made with it: {:#}",
        anyhow::Error::new(error)
    );
    let place = files.key.display().to_string();
    Some(DiagnosisFinding::problem(CHECK, place, cause).remedy(renewal(config)))
}

fn renewal(config: &Config) -> String {
    let name = &config.certname;
    match (
        &config.tls,
        config.ca.enabled,
        ServiceRole::from_config(config),
    ) {
        (None, true, ServiceRole::Server) => {
            let ssl = config.data_dir.join("ssl");
            format!(
                "systemctl stop tutti && tutti ca clean --local {name} && rm -r {} && systemctl start tutti",
                ssl.display()
            )
        }
        _ => format!(
            "puppetserver ca clean --certname {name} && puppetserver ca generate --certname {name}  # on the CA"
        ),
    }
}

fn ca_renewal(config: &Config) -> String {
    match config.ca.enabled {
        true => "tutti ca init --help  # every certificate is made anew with a new CA".to_owned(),
        false => "copy the CA's new certificate here".to_owned(),
    }
}
