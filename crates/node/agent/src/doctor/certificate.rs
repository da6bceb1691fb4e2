//! Checks of a node's certificate and of the related files. Main function: [`check`];
//! [`judge`] decides.

use std::path::Path;

use doctor::DiagnosisFinding;
use doctor::certificates::{CHECK, CertificateFile, judge_certificates, judge_lists};
use error_causes::chain;
use jiff::Timestamp;
use pki::validity::{CertificateDates, ListDates, certificate_dates, list_dates};

use super::CheckedNode;
use crate::config::Config;

/// Facts on the files of a node's certificate.
#[derive(Clone, Debug)]
struct NodeCertificateFacts {
    /// Certname requested from the CA, and the host of that CA; `None` if none is configured.
    bootstrap: Option<(String, String)>,
    /// True if the key exists, so that the request was sent.
    has_key: bool,
    own: FileDates<CertificateDates>,
    ca: FileDates<CertificateDates>,
    /// `None`: no list is configured.
    crl: Option<FileDates<ListDates>>,
    /// Reason for which brokers refuse the certificate; `None`: they accept it, or the files could
    /// not be read.
    unusable: Option<String>,
    /// Path of the node's certificate.
    cert: std::path::PathBuf,
}

/// Dates in a file.
#[derive(Clone, Debug)]
enum FileDates<T> {
    Read(std::path::PathBuf, Vec<T>),
    Missing(std::path::PathBuf),
    Unreadable(std::path::PathBuf, String),
}

/// Checks the files of the node's certificate.
pub(super) fn check(node: &CheckedNode) -> Vec<DiagnosisFinding> {
    judge(&facts(&node.config), Timestamp::now())
}

/// True while the node has no certificate of its own.
pub(super) fn is_awaited(config: &Config) -> bool {
    config.bootstrap.is_some() && !config.connection.tls.cert.exists()
}

fn facts(config: &Config) -> NodeCertificateFacts {
    let tls = &config.connection.tls;
    let loaded = match std::fs::File::open(&tls.key) {
        Ok(_) if tls.cert.exists() => pki::verify_own(tls).err(),
        _ => None,
    };
    NodeCertificateFacts {
        bootstrap: config
            .bootstrap
            .as_ref()
            .map(|it| (it.certname.to_string(), it.server.to_string())),
        has_key: tls.key.exists(),
        own: dates(&tls.cert, certificate_dates),
        ca: dates(&tls.ca, certificate_dates),
        crl: tls.crl.as_deref().map(|path| dates(path, list_dates)),
        unusable: loaded.map(|error| chain(&error).to_string()),
        cert: tls.cert.clone(),
    }
}

fn dates<T>(
    path: &Path,
    read: impl FnOnce(&Path) -> Result<Vec<T>, pki::PemFileError>,
) -> FileDates<T> {
    match read(path) {
        Ok(dates) => FileDates::Read(path.to_owned(), dates),
        Err(_)
            if std::fs::metadata(path)
                .is_err_and(|it| it.kind() == std::io::ErrorKind::NotFound) =>
        {
            FileDates::Missing(path.to_owned())
        }
        Err(error) => FileDates::Unreadable(path.to_owned(), chain(&error).to_string()),
    }
}

/// One finding for a certificate that is not signed yet, or one for each file.
fn judge(facts: &NodeCertificateFacts, now: Timestamp) -> Vec<DiagnosisFinding> {
    let place = facts.cert.display().to_string();
    if let (FileDates::Missing(_), Some((certname, server))) = (&facts.own, &facts.bootstrap) {
        let (cause, command) = match facts.has_key {
            true => (
                format!("the request for {certname} waits at {server} to be signed"),
                format!("tutti ca sign {certname}  # on the server"),
            ),
            false => (
                format!("no certificate was asked for yet; the agent asks {server} at its start"),
                "systemctl restart tutti-agent && journalctl -u tutti-agent -n 20".to_owned(),
            ),
        };
        return vec![DiagnosisFinding::problem(CHECK, place, cause).remedy(command)];
    }
    let renewal = match &facts.bootstrap {
        Some((certname, server)) => format!(
            "tutti ca clean {certname}  # on the server, then here: tutti-agent bootstrap --server {server} \
             --certname {certname} --renew"
        ),
        None => "tutti-agent bootstrap --server CA-HOST --renew".to_owned(),
    };
    let of_ca = "tutti-agent bootstrap --server CA-HOST  # fetches the CA and its list again";
    let mut findings = certificates(&facts.own, &renewal, now);
    findings.extend(certificates(&facts.ca, of_ca, now));
    match &facts.crl {
        None => {
            let cause = "no revocation list is configured, so a revoked broker is not recognised";
            findings.push(
                DiagnosisFinding::note(CHECK, "ssl-crl", cause)
                    .remedy("set ca-uri, or name a list in ssl-crl"),
            );
        }
        Some(FileDates::Read(path, lists)) => {
            findings.extend(judge_lists(
                &CertificateFile {
                    path,
                    renewal: of_ca,
                },
                lists,
                now,
            ));
        }
        Some(FileDates::Missing(path) | FileDates::Unreadable(path, _)) => {
            let cause = "the revocation list cannot be read, so no broker is believed";
            findings.push(
                DiagnosisFinding::problem(CHECK, path.display().to_string(), cause).remedy(of_ca),
            );
        }
    }
    let is_told = findings
        .iter()
        .any(|it| it.severity == doctor::FindingSeverity::Problem);
    if let (Some(why), false) = (&facts.unusable, is_told) {
        let cause = format!("it is of no use: {why}");
        findings.push(DiagnosisFinding::problem(CHECK, place, cause).remedy(renewal));
    }
    findings
}

fn certificates(
    dates: &FileDates<CertificateDates>,
    renewal: &str,
    now: Timestamp,
) -> Vec<DiagnosisFinding> {
    match dates {
        FileDates::Read(path, dates) => {
            judge_certificates(&CertificateFile { path, renewal }, dates, now)
        }
        FileDates::Missing(path) => {
            vec![
                DiagnosisFinding::problem(CHECK, path.display().to_string(), "it is missing")
                    .remedy(renewal),
            ]
        }
        FileDates::Unreadable(path, why) => {
            vec![
                DiagnosisFinding::note(CHECK, path.display().to_string(), why)
                    .remedy("run this again as root, with sudo"),
            ]
        }
    }
}

#[cfg(test)]
mod tests {
    use doctor::FindingSeverity;

    use super::*;

    const NOW: &str = "2026-06-01T00:00:00Z";

    fn certificate(name: &str, end: &str) -> CertificateDates {
        CertificateDates {
            name: name.to_owned(),
            is_ca: false,
            not_before: "2026-01-01T00:00:00Z".parse().unwrap(),
            not_after: end.parse().unwrap(),
        }
    }

    fn fine() -> NodeCertificateFacts {
        let good = "2031-01-01T00:00:00Z";
        let list = ListDates {
            issuer: "CN=CA".to_owned(),
            this_update: "2026-01-01T00:00:00Z".parse().unwrap(),
            next_update: Some(good.parse().unwrap()),
        };
        NodeCertificateFacts {
            bootstrap: Some((
                "web1.example.com".to_owned(),
                "tutti.example.com:8140".to_owned(),
            )),
            has_key: true,
            own: FileDates::Read("/ssl/web1.pem".into(), vec![certificate("web1", good)]),
            ca: FileDates::Read("/ssl/ca.pem".into(), vec![certificate("CA", good)]),
            crl: Some(FileDates::Read("/ssl/crl.pem".into(), vec![list])),
            unusable: None,
            cert: "/ssl/web1.pem".into(),
        }
    }

    #[test]
    fn each_fault_of_a_nodes_certificate_is_one_line() {
        let missing = || FileDates::Missing("/ssl/web1.pem".into());
        let old = FileDates::Read(
            "/ssl/web1.pem".into(),
            vec![certificate("web1", "2026-05-01T00:00:00Z")],
        );
        for (facts, severity, part) in [
            (
                NodeCertificateFacts {
                    own: missing(),
                    ..fine()
                },
                FindingSeverity::Problem,
                "tutti ca sign web1.example.com",
            ),
            (
                NodeCertificateFacts {
                    own: missing(),
                    has_key: false,
                    ..fine()
                },
                FindingSeverity::Problem,
                "systemctl restart",
            ),
            (
                NodeCertificateFacts {
                    own: missing(),
                    bootstrap: None,
                    ..fine()
                },
                FindingSeverity::Problem,
                "--renew",
            ),
            (
                NodeCertificateFacts { own: old, ..fine() },
                FindingSeverity::Problem,
                "tutti ca clean web1.example.com",
            ),
            (
                NodeCertificateFacts {
                    crl: None,
                    ..fine()
                },
                FindingSeverity::Note,
                "set ca-uri",
            ),
            (
                NodeCertificateFacts {
                    crl: Some(FileDates::Missing("/ssl/crl.pem".into())),
                    ..fine()
                },
                FindingSeverity::Problem,
                "CA-HOST",
            ),
            (
                NodeCertificateFacts {
                    unusable: Some("key does not fit".to_owned()),
                    ..fine()
                },
                FindingSeverity::Problem,
                "--renew",
            ),
        ] {
            let findings = judge(&facts, NOW.parse().unwrap());
            let faults: Vec<_> = findings
                .iter()
                .filter(|it| it.severity != FindingSeverity::Ok)
                .collect();
            assert_eq!(faults.len(), 1, "{findings:#?}");
            assert_eq!(faults[0].severity, severity);
            assert!(
                faults[0].remedy.as_ref().unwrap().contains(part),
                "{faults:?}"
            );
        }
        let well = judge(&fine(), NOW.parse().unwrap());
        assert!(
            well.iter().all(|it| it.severity == FindingSeverity::Ok),
            "{well:#?}"
        );
    }
}
