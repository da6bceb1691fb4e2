//! Diagnosis of an installation: `tutti doctor` and `tutti-agent doctor`. Main types: [`Finding`], [`Report`], [`Check`].
//!
//! The invariant: gathering does I/O and decides nothing, judging is pure and does no I/O. A check that hangs, panics or
//! may not look is a finding like any other, and the others go on.
//!
//! | module | looks at |
//! |---|---|
//! | [`files`] | owners and modes, as the service's account meets them |
//! | [`accounts`] | accounts of this machine |
//! | [`certificates`] | ends of certificates and revocation lists |
//! | [`clock`] | the clock beside those of others |
//! | [`disk`] | free space and inodes |
//! | [`ports`] | listening sockets and their processes |
//! | [`unit`] | the unit of systemd, and paths that it may write |

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

pub use finding::{Finding, Severity};
pub use report::{EXIT_PROBLEMS, Paint, Report};
pub use run::{Check, run};
