//! Followers and repositories in the form of Puppet Enterprise's API.

use api_types::{CodeClientStatus, Timestamp, file_sync::REPOSITORY};
use code_deployments::CodeManager;
use file_sync::FollowerState;
use serde_json::{Map, Value, json};

/// All followers; each says if it has the live versions.
pub(crate) fn clients(manager: &CodeManager) -> CodeClientStatus {
    let followers = manager.file_sync().map(|sync| sync.followers());
    let followers = followers.unwrap_or_default();
    let shown = followers
        .iter()
        .map(|it| (it.name.clone(), client(manager, it)));
    CodeClientStatus {
        all_synced: followers.iter().all(|it| it.is_synced && it.is_living),
        file_sync_clients: shown.collect(),
    }
}

fn client(manager: &CodeManager, follower: &FollowerState) -> Value {
    let deployed = follower.live.iter().map(|(of, generation, version)| {
        let lock = manager.versions().read_lock(of, version);
        json!({
            "environment": of.as_str(),
            "deploy-signature": lock.and_then(|lock| lock.control.resolved_commit().map(str::to_owned)),
            "version": version.as_str(),
            "generation": generation,
        })
    });
    let failed = follower.failed.iter();
    let failed = failed.map(|(of, why)| (of.to_string(), json!(why)));
    json!({
        "last_check_in_time": Timestamp::from_ms(follower.heard_ms),
        "is-away": !follower.is_living,
        "synced-with-file-sync-storage": follower.is_synced,
        "deployed": deployed.collect::<Vec<_>>(),
        "errors": failed.collect::<Map<_, _>>(),
    })
}

/// `file-sync-storage-service` and `file-sync-client-service`; names are included at the level
/// `debug` only.
pub(crate) fn services(manager: &CodeManager, level: &str) -> Option<(Value, Value)> {
    let sync = manager.file_sync()?;
    let followers = sync.followers();
    let synced = followers.iter().filter(|it| it.is_synced).count();
    let away = followers.iter().filter(|it| !it.is_living).count();
    if level != "debug" {
        let storage = json!({"clients": followers.len(), "synced": synced, "away": away});
        return Some((storage, json!({})));
    }
    let latest = sync.latest_repository();
    let submodules = latest.submodules.iter().filter_map(|(name, it)| {
        let commit = it.commit.as_ref()?;
        Some((
            name.clone(),
            json!({"latest_commit": {"commit": commit}, "status": "ok"}),
        ))
    });
    let submodules: Map<String, Value> = submodules.collect();
    let repository = json!({
        "latest_commit": {"commit": latest.commit},
        "submodules": submodules,
        "status": "ok",
    });
    let repositories = json!({REPOSITORY: repository});
    let storage = json!({"repos": repositories, "clients": clients(manager).file_sync_clients});
    Some((storage, json!({"repos": repositories})))
}
