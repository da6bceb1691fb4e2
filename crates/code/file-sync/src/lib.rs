//! File sync: other servers, most of them compilers, replicate the environments of this one. Main
//! types: [`FileSync`], the storage service of the deploying server, and [`Follower`], the client.
//!
//! **A switch in two phases.** A version that is built is *offered*: followers, whose `check-in`
//! waits for that, fetch the list of its files (`manifests/…`) and the contents that they lack
//! (`blobs/sha256/…`), build the same directory with the deployer's code, and report it as
//! *staged*. When all connected followers have done so, or after `code.followers_timeout`, the
//! storage service switches its own link, writes the switch to the database under the next
//! *generation*, and only then announces it. A follower switches when a generation higher than its
//! own is announced, and reports the switch. So followers switch within milliseconds of each other,
//! and each by one rename.
//!
//! **The followers that are waited for.** A follower counts as *living* for a lease after its last
//! check-in; after a restart of the storage service all known followers do. One that is not living,
//! or reported that it cannot use the version, is not waited for; the deployment and the status
//! name it until it has caught up.
//!
//! Invariants:
//! - a follower serves complete versions only, and has hashed every content itself;
//! - a follower switches to announced versions only, and never to a lower generation; if it knows a
//!   higher generation than the storage service (whose database is an old copy then), the storage
//!   service continues from there;
//! - a follower removes an environment only if its removal was announced under a generation of its
//!   own; a storage service that is new, or empty by mistake, removes nothing;
//! - only contents of versions that are announced or offered are served.
//!
//! After the lease has expired, a follower does not know the server's live versions. By default it
//! keeps its own, which are old but complete, and reports that in its log and in `follower.json`:
//! otherwise a storage service that is down would stop every compiler. With
//! [`StaleLeasePolicy::Withdraw`] it removes its environments, so that no old code is compiled;
//! agents then continue with their cached catalogs. Either way it switches to nothing before the
//! next successful check-in.

pub mod defaults;
mod files;
pub mod follower;
mod follower_board;
mod published_files;
mod storage;

pub use follower::{
    FollowedVersion, Follower, FollowerSettings, FollowerStatus, LeaseKnowledge, StaleLeasePolicy,
    SyncState,
};
pub use follower_board::{AnnouncedSwitch, FollowerState};
pub use storage::{CheckInError, FileSync, FileSyncSettings, ServedBlob};

use code_store::version::VersionSignature;

/// One name for all live versions, in the order of the environments.
fn combined_commit<'a>(live: impl Iterator<Item = (&'a str, &'a str)>) -> VersionSignature {
    let mut text = String::from("tutti-code 1\n");
    for (environment, version) in live {
        text.extend([environment, " ", version, "\n"]);
    }
    VersionSignature::of(text.as_bytes())
}
