//! Diagnosis of an installation: `tutti doctor` and `tutti-agent doctor`. Main types:
//! [`DiagnosisFinding`], [`DiagnosisReport`], [`DoctorCheck`].
//!
//! Invariant: gathering does I/O and decides nothing; judging is pure and does no I/O. A check that
//! hangs, panics or lacks access is a finding like any other, and the other checks continue.
//!
//! | module | checks |
//! |---|---|
//! | [`files`] | owners and modes, and the access of the service's account |
//! | [`accounts`] | accounts of this machine |
//! | [`certificates`] | expiry of certificates and revocation lists |
//! | [`clock`] | the clock compared with those of other machines |
//! | [`disk`] | free space and inodes |
//! | [`ports`] | listening sockets and their processes |
//! | [`unit`] | the systemd unit, and the paths that it may write |

pub mod accounts;
pub mod certificates;
pub mod clock;
pub mod defaults;
pub mod disk;
pub mod files;
mod finding;
pub mod ports;
pub mod program;
mod report;
mod run;
pub mod unit;

pub use finding::{DiagnosisFinding, FindingSeverity};
pub use report::{DiagnosisReport, EXIT_PROBLEMS, OutputColor};
pub use run::{DoctorCheck, run};
