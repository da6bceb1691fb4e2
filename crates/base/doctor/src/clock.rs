//! The clock of this machine compared with those of other machines: [`judge`].

use jiff::{SignedDuration, Timestamp};

use crate::defaults::{CLOCK_NOTE, CLOCK_PROBLEM};
use crate::finding::DiagnosisFinding;
use crate::program::run_for_output;

/// Name of the check in findings.
pub const CHECK: &str = "clock";

/// Command that turns on time synchronisation over the network.
const REMEDY: &str = "timedatectl set-ntp true";

/// The clock of another machine, from its HTTP response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteClock {
    /// The machine, such as `puppetserver https://puppet:8140`.
    pub machine: String,
    /// Time in its response.
    pub remote_time: Timestamp,
    /// Time of this machine in the middle between request and response.
    pub local_time: Timestamp,
}

/// Facts about the clock of this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockFacts {
    /// True if systemd reports that the clock is synchronised over the network; `None` if unknown.
    pub is_synchronized: Option<bool>,
    /// Clocks of other machines.
    pub others: Vec<RemoteClock>,
}

/// Returns one finding for each clock that differs, or one for all that agree.
pub fn judge(facts: &ClockFacts) -> Vec<DiagnosisFinding> {
    let mut findings: Vec<DiagnosisFinding> =
        facts.others.iter().filter_map(check_difference).collect();
    if !findings.is_empty() {
        return findings;
    }
    if facts.is_synchronized == Some(false) {
        let cause =
            "it is not kept by the network, so it will drift until certificates are refused";
        findings.push(DiagnosisFinding::note(CHECK, "this machine", cause).remedy(REMEDY));
        return findings;
    }
    let places: Vec<&str> = facts.others.iter().map(|it| it.machine.as_str()).collect();
    let cause = match (places.is_empty(), facts.is_synchronized) {
        (false, _) => format!("it agrees with {}", places.join(", ")),
        (true, Some(true)) => "it is kept by the network".to_owned(),
        (true, _) => {
            let cause = "it could not be compared with any other clock";
            return vec![
                DiagnosisFinding::note(CHECK, "this machine", cause).remedy("timedatectl"),
            ];
        }
    };
    vec![DiagnosisFinding::ok(CHECK, "this machine", cause)]
}

fn check_difference(other: &RemoteClock) -> Option<DiagnosisFinding> {
    let ahead = other.local_time.duration_since(other.remote_time);
    let difference = ahead.unsigned_abs();
    if difference < CLOCK_NOTE {
        return None;
    }
    let direction = match ahead > SignedDuration::ZERO {
        true => "ahead of",
        false => "behind",
    };
    let seconds = difference.as_secs();
    let cause = format!("it is {seconds} s {direction} {}", other.machine);
    Some(match difference < CLOCK_PROBLEM {
        true => DiagnosisFinding::note(CHECK, "this machine", cause).remedy(REMEDY),
        false => {
            let cause = format!("{cause}: new certificates and tokens are refused");
            DiagnosisFinding::problem(CHECK, "this machine", cause).remedy(REMEDY)
        }
    })
}

/// True if systemd reports that the clock is synchronised over the network; `None` if unknown.
pub fn is_synchronized() -> Option<bool> {
    let told = run_for_output(
        "timedatectl",
        &["show", "--property=NTPSynchronized", "--value"],
    )
    .ok()?;
    match told.trim() {
        "yes" => Some(true),
        "no" => Some(false),
        _ => None,
    }
}

/// Parses the `Date` header of an HTTP response.
pub fn parse_http_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text.trim())
        .ok()
        .map(|it| it.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FindingSeverity;

    fn clock(seconds_ahead: i64) -> RemoteClock {
        let told = Timestamp::from_second(1_800_000_000).unwrap();
        RemoteClock {
            machine: "puppetserver".to_owned(),
            remote_time: told,
            local_time: told + SignedDuration::from_secs(seconds_ahead),
        }
    }

    #[test]
    fn a_clock_that_breaks_certificates_is_a_problem() {
        for (is_synchronized, ahead, severity, part) in [
            (
                None,
                Some(1),
                FindingSeverity::Ok,
                "agrees with puppetserver",
            ),
            (
                Some(false),
                Some(1),
                FindingSeverity::Note,
                "not kept by the network",
            ),
            (Some(true), None, FindingSeverity::Ok, "kept by the network"),
            (Some(false), None, FindingSeverity::Note, "not kept"),
            (None, None, FindingSeverity::Note, "could not be compared"),
            (
                Some(true),
                Some(30),
                FindingSeverity::Note,
                "30 s ahead of puppetserver",
            ),
            (
                Some(true),
                Some(-400),
                FindingSeverity::Problem,
                "400 s behind puppetserver",
            ),
        ] {
            let facts = ClockFacts {
                is_synchronized,
                others: ahead.map(clock).into_iter().collect(),
            };
            let findings = judge(&facts);
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].severity, severity, "{findings:?}");
            assert!(findings[0].cause.contains(part), "{findings:?}");
        }
    }

    #[test]
    fn the_date_of_an_answer_is_read() {
        let read = parse_http_date("Tue, 24 Nov 2026 06:20:00 GMT").unwrap();
        assert_eq!(read.to_string(), "2026-11-24T06:20:00Z");
        assert_eq!(parse_http_date("now"), None);
    }
}
