//! File sync: `/file-sync/v1`.

use crate::route::Method::{Get, Post};
use crate::route::{Policy, Route};
use crate::routes::permissions::DEPLOY_CODE;
use crate::{
    CheckInCommand, CheckedIn, CodeClientStatus, FileSyncCommitCommand, FileSyncCommitsReply,
    FileSyncVersions, ForceSyncCommand,
};

super::group! {
    FILE_SYNC_COMMIT = Route::new(Post, "/file-sync/v1/commit", "file_sync_commit", DEPLOY_CODE,
        "Make live what is in the staging directory").request::<FileSyncCommitCommand>()
        .reply::<FileSyncCommitsReply>(200);
    FILE_SYNC_PUBLISH = Route::new(Post, "/file-sync/v1/publish", "file_sync_publish", DEPLOY_CODE,
        "The same, by another name").request::<FileSyncCommitCommand>()
        .reply::<FileSyncCommitsReply>(200);
    FILE_SYNC_FORCE = Route::new(Post, "/file-sync/v1/force-sync", "file_sync_force", DEPLOY_CODE,
        "Let all followers look once more, and tell what they have")
        .request::<ForceSyncCommand>().reply::<CodeClientStatus>(200).asks_only();
    FILE_SYNC_LATEST = Route::new(Get, "/file-sync/v1/latest-commits", "file_sync_latest",
        Policy::Follower, "What is live").reply::<FileSyncCommitsReply>(200);
    FILE_SYNC_CHECK_IN = Route::new(Post, "/file-sync/v1/check-in", "file_sync_check_in",
        Policy::Follower, "A follower tells what it has, and waits for what it should have")
        .request::<CheckInCommand>().reply::<CheckedIn>(200).asks_only();
    FILE_SYNC_VERSIONS = Route::new(Get, "/file-sync/v1/versions", "file_sync_versions",
        Policy::Follower, "The versions that the server keeps, since followers may still use them")
        .reply::<FileSyncVersions>(200);
    FILE_SYNC_MANIFEST = Route::new(Get, "/file-sync/v1/manifests/{environment}/{version}",
        "file_sync_manifest", Policy::Follower, "The files of a version, with their hashes")
        .text(200, "application/octet-stream");
    FILE_SYNC_BLOB = Route::new(Get, "/file-sync/v1/blobs/sha256/{hash}", "file_sync_blob",
        Policy::Follower, "A file's content").text(200, "application/octet-stream");
}
