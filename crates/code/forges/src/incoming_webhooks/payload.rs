//! Parser of webhook bodies: [`parse_pushes`].
//!
//! Fields according to the forges' documents: GitHub, GitLab and Gitea `ref` and `after`; Bitbucket
//! `push.changes`; Bitbucket Server `changes`; Azure DevOps `resource.refUpdates`.

use serde::Deserialize;

use super::{ForgeKind, ForgePush, HeaderLookup, IncomingWebhookError};
use crate::defaults::PUSHED_BRANCHES;

const HEADS: &str = "refs/heads/";

/// True for the commit id of a deleted branch.
fn is_zero_commit(commit: &str) -> bool {
    !commit.is_empty() && commit.bytes().all(|b| b == b'0')
}

#[derive(Deserialize)]
struct RefPush {
    #[serde(rename = "ref")]
    name: String,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
struct BitbucketPush {
    push: BitbucketChanges,
}

#[derive(Deserialize)]
struct BitbucketChanges {
    changes: Vec<BitbucketChange>,
}

#[derive(Deserialize)]
struct BitbucketChange {
    #[serde(default)]
    new: Option<BitbucketRef>,
    #[serde(default)]
    old: Option<BitbucketRef>,
}

#[derive(Deserialize)]
struct BitbucketRef {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct BitbucketServerPush {
    changes: Vec<BitbucketServerChange>,
}

#[derive(Deserialize)]
struct BitbucketServerChange {
    #[serde(rename = "ref")]
    what: BitbucketServerRef,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct BitbucketServerRef {
    #[serde(rename = "displayId")]
    name: String,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct AzurePush {
    #[serde(rename = "eventType", default)]
    event: String,
    #[serde(default)]
    resource: Option<AzureResource>,
}

#[derive(Deserialize)]
struct AzureResource {
    #[serde(rename = "refUpdates", default)]
    updates: Vec<AzureUpdate>,
}

#[derive(Deserialize)]
struct AzureUpdate {
    name: String,
    #[serde(rename = "newObjectId", default)]
    new: String,
}

/// Parses the pushed branches, each once; none if the webhook is about something else.
pub(super) fn parse_pushes(
    host: ForgeKind,
    header: &HeaderLookup<'_>,
    body: &[u8],
) -> Result<Vec<ForgePush>, IncomingWebhookError> {
    let mut pushes = match host {
        ForgeKind::GitHub | ForgeKind::Gitea | ForgeKind::GitLab => {
            let event = header("x-gitea-event")
                .or_else(|| header("x-forgejo-event"))
                .or_else(|| header("x-github-event"))
                .or_else(|| header("x-gitlab-event"));
            // A sender without event headers, such as a script, sends pushes.
            match event.is_none_or(|event| matches!(event, "push" | "delete" | "Push Hook")) {
                true => ref_pushes(host, &parse::<RefPush>(host, body)?),
                false => Vec::new(),
            }
        }
        ForgeKind::Bitbucket => bitbucket_pushes(parse(host, body)?),
        ForgeKind::BitbucketServer => match header("x-event-key") {
            Some("diagnostics:ping") => Vec::new(),
            _ => bitbucket_server_pushes(parse(host, body)?),
        },
        ForgeKind::Azure => azure_pushes(parse(host, body)?),
    };
    if pushes.len() > PUSHED_BRANCHES {
        return Err(IncomingWebhookError::Body {
            host,
            what: format!("it tells of more than {PUSHED_BRANCHES} branches"),
        });
    }
    pushes.sort_by(|one, other| one.branch.cmp(&other.branch));
    pushes.dedup_by(|later, first| later.branch == first.branch);
    Ok(pushes)
}

fn parse<'b, T: Deserialize<'b>>(
    host: ForgeKind,
    body: &'b [u8],
) -> Result<T, IncomingWebhookError> {
    decode_errors::json::from_slice(body).map_err(|error| IncomingWebhookError::Body {
        host,
        what: error.to_string(),
    })
}

fn ref_pushes(host: ForgeKind, push: &RefPush) -> Vec<ForgePush> {
    let is_gone = push.deleted || push.after.as_deref().is_some_and(is_zero_commit);
    // Gitea's `delete` has the branch without `refs/heads/`.
    let branch = match push.name.strip_prefix(HEADS) {
        Some(branch) => branch,
        None if host == ForgeKind::Gitea && !push.name.starts_with("refs/") => &push.name,
        None => return Vec::new(),
    };
    vec![ForgePush {
        branch: branch.to_owned(),
        is_gone,
    }]
}

fn bitbucket_pushes(told: BitbucketPush) -> Vec<ForgePush> {
    let changes = told.push.changes.into_iter().filter_map(|change| {
        let is_gone = change.new.is_none();
        let what = change.new.or(change.old)?;
        (what.kind == "branch").then_some(ForgePush {
            branch: what.name,
            is_gone,
        })
    });
    changes.collect()
}

fn bitbucket_server_pushes(told: BitbucketServerPush) -> Vec<ForgePush> {
    let branches = told.changes.into_iter();
    branches
        .filter(|change| !change.what.kind.eq_ignore_ascii_case("tag"))
        .map(|change| ForgePush {
            branch: change.what.name,
            is_gone: change.kind.eq_ignore_ascii_case("delete"),
        })
        .collect()
}

fn azure_pushes(told: AzurePush) -> Vec<ForgePush> {
    if !matches!(told.event.as_str(), "" | "git.push") {
        return Vec::new();
    }
    let updates = told.resource.map(|it| it.updates).unwrap_or_default();
    let branches = updates.into_iter().filter_map(|update| {
        Some(ForgePush {
            branch: update.name.strip_prefix(HEADS)?.to_owned(),
            is_gone: is_zero_commit(&update.new),
        })
    });
    branches.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_with(
        host: ForgeKind,
        headers: &[(&str, &'static str)],
        body: &str,
    ) -> Result<Vec<(String, bool)>, IncomingWebhookError> {
        let header = |name: &str| {
            let found = headers.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| *value)
        };
        let pushes = parse_pushes(host, &header, body.as_bytes())?;
        Ok(pushes
            .into_iter()
            .map(|it| (it.branch, it.is_gone))
            .collect())
    }

    fn one(branch: &str, is_gone: bool) -> Vec<(String, bool)> {
        vec![(branch.to_owned(), is_gone)]
    }

    const NONE: &str = "0000000000000000000000000000000000000000";

    #[test]
    fn the_branch_of_each_forge() {
        let github = r#"{"ref": "refs/heads/feature/x", "after": "1f", "commits": []}"#;
        let event = [("x-github-event", "push")];
        assert_eq!(
            read_with(ForgeKind::GitHub, &event, github),
            Ok(one("feature/x", false))
        );
        let gone = format!(r#"{{"ref": "refs/heads/x", "after": "{NONE}", "deleted": true}}"#);
        assert_eq!(
            read_with(ForgeKind::GitHub, &event, &gone),
            Ok(one("x", true))
        );
        let gitlab =
            format!(r#"{{"object_kind": "push", "ref": "refs/heads/x", "after": "{NONE}"}}"#);
        let event = [("x-gitlab-event", "Push Hook")];
        assert_eq!(
            read_with(ForgeKind::GitLab, &event, &gitlab),
            Ok(one("x", true))
        );
        let gitea = r#"{"ref": "x", "ref_type": "branch", "deleted": true}"#;
        let event = [("x-gitea-event", "delete"), ("x-github-event", "delete")];
        assert_eq!(
            read_with(ForgeKind::Gitea, &event, gitea),
            Ok(one("x", true))
        );
        let bitbucket = r#"{"push": {"changes": [
            {"new": {"type": "branch", "name": "b"}, "old": null},
            {"new": null, "old": {"type": "branch", "name": "a"}},
            {"new": {"type": "tag", "name": "v1"}, "old": null}]}}"#;
        let expected = Ok(vec![("a".to_owned(), true), ("b".to_owned(), false)]);
        assert_eq!(read_with(ForgeKind::Bitbucket, &[], bitbucket), expected);
        let server = r#"{"changes": [
            {"ref": {"displayId": "x", "type": "BRANCH"}, "type": "DELETE"},
            {"ref": {"displayId": "v1", "type": "TAG"}, "type": "ADD"}]}"#;
        assert_eq!(
            read_with(ForgeKind::BitbucketServer, &[], server),
            Ok(one("x", true))
        );
        let azure = r#"{"eventType": "git.push", "resource": {"refUpdates": [
            {"name": "refs/heads/x", "newObjectId": "1f"},
            {"name": "refs/tags/v1", "newObjectId": "1f"}]}}"#;
        assert_eq!(read_with(ForgeKind::Azure, &[], azure), Ok(one("x", false)));
    }

    #[test]
    fn other_events_are_none_and_nonsense_is_named() {
        let ping = [("x-github-event", "ping")];
        assert_eq!(
            read_with(ForgeKind::GitHub, &ping, r#"{"zen": "…"}"#),
            Ok(vec![])
        );
        let tag = r#"{"ref": "refs/tags/v1", "after": "1f"}"#;
        assert_eq!(read_with(ForgeKind::GitHub, &[], tag), Ok(vec![]));
        let test = [("x-event-key", "diagnostics:ping")];
        assert_eq!(
            read_with(ForgeKind::BitbucketServer, &test, r#"{"test": true}"#),
            Ok(vec![])
        );
        let hosts = [
            ForgeKind::GitHub,
            ForgeKind::GitLab,
            ForgeKind::Gitea,
            ForgeKind::Bitbucket,
            ForgeKind::BitbucketServer,
            ForgeKind::Azure,
        ];
        for host in hosts {
            for body in [
                "",
                "[]x",
                "{",
                "\u{0}",
                "7",
                r#"{"ref": 7, "changes": 7, "resource": 7}"#,
            ] {
                let refused = read_with(host, &[], body).unwrap_err().to_string();
                assert!(refused.contains(&host.to_string()), "{refused}");
            }
        }
        let updates: Vec<_> = (0..=PUSHED_BRANCHES)
            .map(|number| format!(r#"{{"name": "refs/heads/b{number}"}}"#))
            .collect();
        let body = format!(
            r#"{{"resource": {{"refUpdates": [{}]}}}}"#,
            updates.join(",")
        );
        assert!(read_with(ForgeKind::Azure, &[], &body).is_err());
    }

    #[test]
    fn whose_a_message_is_the_headers_say_if_nobody_else_does() {
        let of = |kind: Option<&str>, name: &'static str, value: &'static str| {
            ForgeKind::detect(kind, &|asked: &str| (asked == name).then_some(value))
        };
        assert_eq!(of(None, "x-github-event", "push"), Ok(ForgeKind::GitHub));
        assert_eq!(
            of(None, "x-gitlab-event", "Push Hook"),
            Ok(ForgeKind::GitLab)
        );
        assert_eq!(
            of(None, "x-event-key", "repo:push"),
            Ok(ForgeKind::Bitbucket)
        );
        assert_eq!(
            of(None, "x-event-key", "repo:refs_changed"),
            Ok(ForgeKind::BitbucketServer)
        );
        assert_eq!(of(Some("stash"), "", ""), Ok(ForgeKind::BitbucketServer));
        assert_eq!(
            of(Some("x"), "x-github-event", "push"),
            Err(IncomingWebhookError::Host)
        );
        assert_eq!(of(None, "", ""), Err(IncomingWebhookError::Host));
        let both =
            |asked: &str| matches!(asked, "x-github-event" | "x-gitea-event").then_some("push");
        assert_eq!(ForgeKind::detect(None, &both), Ok(ForgeKind::Gitea));
    }
}
