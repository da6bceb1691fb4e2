//! Expiry of certificates and revocation lists: [`judge_certificates`], [`judge_lists`].

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use pki::validity::{CertificateDates, ListDates};

use crate::defaults::{EXPIRY_NOTE, EXPIRY_PROBLEM};
use crate::finding::DiagnosisFinding;

/// Name of the check in findings.
pub const CHECK: &str = "certificates";

/// A file with certificates or revocation lists, and the command that renews them.
#[derive(Clone, Debug)]
pub struct CertificateFile<'f> {
    /// Path of the file.
    pub path: &'f Path,
    /// Command that renews the file.
    pub renewal: &'f str,
}

/// Returns one finding for each certificate of a file.
pub fn judge_certificates(
    file: &CertificateFile<'_>,
    dates: &[CertificateDates],
    now: Timestamp,
) -> Vec<DiagnosisFinding> {
    let place = file.path.display().to_string();
    let judged = dates.iter().map(|it| {
        let name = &it.name;
        if now < it.not_before {
            let cause = format!(
                "the certificate of {name} is good from {} on, and the clock of this machine says {now:.0}",
                it.not_before
            );
            return DiagnosisFinding::problem(CHECK, &place, cause).remedy("timedatectl set-ntp true");
        }
        let end = it.not_after;
        match time_left(now, end) {
            ExpiryStatus::Expired => {
                let cause = format!("the certificate of {name} has expired on {end}");
                DiagnosisFinding::problem(CHECK, &place, cause).remedy(file.renewal)
            }
            ExpiryStatus::Days(days, severity) => {
                let cause = format!("the certificate of {name} expires in {days} days, on {end}");
                severity(CHECK, &place, cause).remedy(file.renewal)
            }
            ExpiryStatus::Sufficient => DiagnosisFinding::ok(
                CHECK,
                &place,
                format!("the certificate of {name} is good until {end}"),
            ),
        }
    });
    judged.collect()
}

/// Returns one finding for each revocation list of a file.
pub fn judge_lists(
    file: &CertificateFile<'_>,
    dates: &[ListDates],
    now: Timestamp,
) -> Vec<DiagnosisFinding> {
    let place = file.path.display().to_string();
    let judged = dates.iter().map(|it| {
        let issuer = &it.issuer;
        if now < it.this_update {
            let cause = format!(
                "the revocation list of {issuer} is from {}, which is in the future of this machine's clock",
                it.this_update
            );
            return DiagnosisFinding::problem(CHECK, &place, cause).remedy("timedatectl set-ntp true");
        }
        let Some(end) = it.next_update else {
            let cause = format!("the revocation list of {issuer} never expires");
            return DiagnosisFinding::ok(CHECK, &place, cause);
        };
        match time_left(now, end) {
            ExpiryStatus::Expired => {
                let cause = format!(
                    "the revocation list of {issuer} was due for renewal on {end}: stock agents that check it refuse \
                     every certificate"
                );
                DiagnosisFinding::problem(CHECK, &place, cause).remedy(file.renewal)
            }
            ExpiryStatus::Days(days, severity) => {
                let cause = format!("the revocation list of {issuer} must be renewed in {days} days, by {end}");
                severity(CHECK, &place, cause).remedy(file.renewal)
            }
            ExpiryStatus::Sufficient => DiagnosisFinding::ok(
                CHECK,
                &place,
                format!("the revocation list of {issuer} is from {} and good until {end}", it.this_update),
            ),
        }
    });
    judged.collect()
}

type NewFinding = fn(&'static str, &String, String) -> DiagnosisFinding;

/// Time until the expiry.
enum ExpiryStatus {
    Expired,
    Days(i64, NewFinding),
    Sufficient,
}

fn time_left(now: Timestamp, end: Timestamp) -> ExpiryStatus {
    let left = end.duration_since(now);
    let days = left.as_hours() / 24;
    let limit = |limit: std::time::Duration| SignedDuration::try_from(limit).unwrap_or_default();
    if left <= SignedDuration::ZERO {
        ExpiryStatus::Expired
    } else if left < limit(EXPIRY_PROBLEM) {
        ExpiryStatus::Days(days, |check, place, cause| {
            DiagnosisFinding::problem(check, place, cause)
        })
    } else if left < limit(EXPIRY_NOTE) {
        ExpiryStatus::Days(days, |check, place, cause| {
            DiagnosisFinding::note(check, place, cause)
        })
    } else {
        ExpiryStatus::Sufficient
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingSeverity;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    const FILE: &str = "/ssl/certs/a.pem";

    fn file() -> CertificateFile<'static> {
        CertificateFile {
            path: Path::new(FILE),
            renewal: "renew it",
        }
    }

    #[test]
    fn certificates_are_told_before_they_expire() {
        let dates = [CertificateDates {
            name: "a.example".to_owned(),
            is_ca: false,
            not_before: at("2026-01-01T00:00:00Z"),
            not_after: at("2027-01-01T00:00:00Z"),
        }];
        for (now, severity, part) in [
            ("2025-12-31T23:00:00Z", FindingSeverity::Problem, "clock"),
            (
                "2026-06-01T00:00:00Z",
                FindingSeverity::Ok,
                "good until 2027-01-01",
            ),
            ("2026-12-15T00:00:00Z", FindingSeverity::Note, "in 17 days"),
            (
                "2026-12-28T00:00:00Z",
                FindingSeverity::Problem,
                "in 4 days",
            ),
            (
                "2027-01-01T00:00:00Z",
                FindingSeverity::Problem,
                "has expired",
            ),
        ] {
            let findings = judge_certificates(&file(), &dates, at(now));
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].severity, severity, "{now}: {findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
            assert_eq!(
                findings[0].remedy.is_none(),
                severity == FindingSeverity::Ok
            );
        }
    }

    #[test]
    fn a_list_that_is_due_is_told() {
        let list = |next: Option<&str>| ListDates {
            issuer: "CN=Puppet CA".to_owned(),
            this_update: at("2026-01-01T00:00:00Z"),
            next_update: next.map(at),
        };
        for (next, now, severity, part) in [
            (
                None,
                "2099-01-01T00:00:00Z",
                FindingSeverity::Ok,
                "never expires",
            ),
            (
                Some("2031-01-01T00:00:00Z"),
                "2026-02-01T00:00:00Z",
                FindingSeverity::Ok,
                "good until",
            ),
            (
                Some("2026-02-10T00:00:00Z"),
                "2026-02-01T00:00:00Z",
                FindingSeverity::Note,
                "in 9 days",
            ),
            (
                Some("2026-01-31T00:00:00Z"),
                "2026-02-01T00:00:00Z",
                FindingSeverity::Problem,
                "was due",
            ),
            (
                Some("2031-01-01T00:00:00Z"),
                "2025-02-01T00:00:00Z",
                FindingSeverity::Problem,
                "future",
            ),
        ] {
            let findings = judge_lists(&file(), &[list(next)], at(now));
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].severity, severity, "{now}: {findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
        }
    }
}
