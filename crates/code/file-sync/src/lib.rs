//! File sync: other servers, most of them compilers, follow the environments of this one. Main types:
//! [`FileSync`], the side that deploys, and [`Follower`], the side that follows.
//!
//! **A switch in two phases.** A version that is built is *offered*: followers, whose question
//! (`check-in`) waits for that, get the list of its files (`manifests/…`) and the contents that they lack
//! (`blobs/sha256/…`), build the same directory with the code that the deployer uses, and tell that it is
//! *staged*. When all that are living have, or after `code.followers_timeout`, the storage switches its own
//! link, writes the switch down under the next *generation*, and only then announces it; a follower switches
//! when it is told a generation higher than its own, and tells that. So followers switch within
//! milliseconds of each other, and each by one rename.
//!
//! **Who is waited for.** A follower is *living* for a lease after it was heard, and all that are known are
//! after a restart of the storage. One that is away, or said that it cannot have the version, is not waited
//! for; it is named, in the deployment and in the status, until it has caught up.
//!
//! The rules that must hold:
//! - what a follower serves is one whole version, whose every content it has hashed itself;
//! - a follower switches to what was announced and to nothing else, and never to a lower generation; one
//!   that knows a higher one than the storage (whose database is an old copy, then) makes it count on from there;
//! - what is not announced is not removed: only an environment that was taken away under a generation of its
//!   own is, so that a storage that is new, or empty by mistake, takes nothing from anybody;
//! - only contents of versions that are announced or offered are handed out.
//!
//! A follower whose storage is silent for longer than its lease does not know what is live. It keeps what it
//! has, which is old but whole, says so in its log and in `follower.json`; or takes its environments away, if
//! its settings want that, so that nobody compiles old code: agents then go on with their cached catalogs.
//! Keeping is the default, since a storage that is down would otherwise stop every compiler. Either way it
//! takes nothing up again before it has heard what is live.

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

/// One name for all that is live, by environments in their order.
fn combined_commit<'a>(live: impl Iterator<Item = (&'a str, &'a str)>) -> VersionSignature {
    let mut text = String::from("tutti-code 1\n");
    for (environment, version) in live {
        text.extend([environment, " ", version, "\n"]);
    }
    VersionSignature::of(text.as_bytes())
}
