//! Requests for a commit status in the form of each kind of forge: [`StatusRequest`]. Without I/O.
//!
//! Routes, according to the forges' documents: GitHub and Gitea `statuses/{sha}` of a repository,
//! GitLab `statuses/{sha}` of a project, Bitbucket `statuses/build`, Bitbucket Server
//! `build-status/1.0`, Azure DevOps `commits/{sha}/statuses`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use environments::EnvironmentName;
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{RequestBuilder, Url};
use serde_json::{Value, json};

use super::CommitState;
use super::forge_repository::ForgeRepository;
use crate::incoming_webhooks::ForgeKind;

/// Status of a commit, independent of the forge.
#[derive(Clone, Copy, Debug)]
pub(super) struct StatusReport<'a> {
    pub(super) state: CommitState,
    pub(super) environment: &'a EnvironmentName,
    pub(super) commit: &'a str,
    pub(super) description: &'a str,
}

/// A request without its token.
#[derive(Clone, Debug)]
pub(super) struct StatusRequest {
    pub(super) url: Url,
    pub(super) body: Value,
    pub(super) token_scheme: TokenScheme,
}

/// Form in which a token is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenScheme {
    Bearer,
    /// `Authorization: token …`.
    Token,
    /// `PRIVATE-TOKEN`.
    Private,
    /// Basic authentication with an empty user name.
    Password,
}

// === impl StatusRequest ===

impl StatusRequest {
    pub(super) fn new(
        host: ForgeKind,
        place: &ForgeRepository,
        link: Option<&Url>,
        status: &StatusReport<'_>,
    ) -> Self {
        let name = format!("tutti/{}", status.environment);
        let (description, link) = (status.description, link.map(Url::as_str));
        let repository = place.segments();
        let commit = status.commit;
        let (url, body, proof) = match host {
            ForgeKind::GitHub | ForgeKind::Gitea => {
                let mut path = vec!["repos"];
                path.extend(repository);
                path.extend(["statuses", commit]);
                let body = json!({"state": state_name(status.state, ["pending", "success", "failure"]),
                    "context": name, "description": description, "target_url": link});
                let proof = match host {
                    ForgeKind::GitHub => TokenScheme::Bearer,
                    _ => TokenScheme::Token,
                };
                (place.api_url(&path), body, proof)
            }
            ForgeKind::GitLab => {
                let path = ["projects", &place.repository, "statuses", commit];
                let body = json!({"state": state_name(status.state, ["running", "success", "failed"]),
                    "name": name, "description": description, "target_url": link});
                (place.api_url(&path), body, TokenScheme::Private)
            }
            ForgeKind::Bitbucket => {
                let mut path = vec!["repositories"];
                path.extend(repository);
                path.extend(["commit", commit, "statuses", "build"]);
                (
                    place.api_url(&path),
                    bitbucket_body(&name, place, link, status),
                    TokenScheme::Bearer,
                )
            }
            ForgeKind::BitbucketServer => {
                let path = ["rest", "build-status", "1.0", "commits", commit];
                (
                    place.api_url(&path),
                    bitbucket_body(&name, place, link, status),
                    TokenScheme::Bearer,
                )
            }
            ForgeKind::Azure => {
                let (project, name_there) = place.repository.rsplit_once('/').unwrap_or_default();
                let mut path: Vec<&str> = project.split('/').collect();
                path.extend(["_apis", "git", "repositories", name_there]);
                path.extend(["commits", commit, "statuses"]);
                let mut url = place.api_url(&path);
                url.query_pairs_mut().append_pair("api-version", "7.0");
                let context = json!({"genre": "tutti", "name": status.environment.as_str()});
                let body = json!({"state": state_name(status.state, ["pending", "succeeded", "failed"]),
                    "context": context, "description": description, "targetUrl": link});
                (url, body, TokenScheme::Password)
            }
        };
        Self {
            url,
            body: without_nulls(body),
            token_scheme: proof,
        }
    }
}

/// Body for Bitbucket and Bitbucket Server. Both require a link; the default is the repository's
/// address.
fn bitbucket_body(
    name: &str,
    place: &ForgeRepository,
    link: Option<&str>,
    status: &StatusReport<'_>,
) -> Value {
    json!({"state": state_name(status.state, ["INPROGRESS", "SUCCESSFUL", "FAILED"]), "key": name,
        "name": name, "url": link.unwrap_or(place.web.as_str()), "description": status.description})
}

fn state_name(state: CommitState, [pending, success, failure]: [&'static str; 3]) -> &'static str {
    match state {
        CommitState::Pending => pending,
        CommitState::Success => success,
        CommitState::Failure => failure,
    }
}

fn without_nulls(mut body: Value) -> Value {
    if let Some(body) = body.as_object_mut() {
        body.retain(|_, value| !value.is_null());
    }
    body
}

// === impl TokenScheme ===

impl TokenScheme {
    /// Adds the token to the request. A token that is no valid header is left out, and the forge
    /// refuses the request.
    pub(super) fn authenticate(self, request: RequestBuilder, token: &str) -> RequestBuilder {
        let (name, text) = match self {
            Self::Bearer => (AUTHORIZATION.as_str(), format!("Bearer {token}")),
            Self::Token => (AUTHORIZATION.as_str(), format!("token {token}")),
            Self::Private => ("private-token", token.to_owned()),
            Self::Password => {
                let pair = STANDARD.encode(format!(":{token}"));
                (AUTHORIZATION.as_str(), format!("Basic {pair}"))
            }
        };
        match HeaderValue::from_str(&text) {
            Ok(mut value) => {
                value.set_sensitive(true);
                request.header(name, value)
            }
            Err(_) => request,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::CommitStatusSettings;
    use optional_feature::Feature;

    use super::*;

    fn of(host: ForgeKind, remote: &str, state: CommitState) -> (String, Value) {
        let settings = CommitStatusSettings {
            host,
            token: Feature::with_value("secret".to_owned().into()),
            api: None,
            repository: None,
            link: None,
        };
        let place = ForgeRepository::from_remote(&settings, remote).unwrap();
        let environment = "production".parse().unwrap();
        let status = StatusReport {
            state,
            environment: &environment,
            commit: "1f2e",
            description: "it is live",
        };
        let message = StatusRequest::new(host, &place, None, &status);
        (message.url.to_string(), message.body)
    }

    #[test]
    fn each_forge_gets_what_it_wants() {
        let (url, body) = of(
            ForgeKind::GitHub,
            "git@github.com:ops/control.git",
            CommitState::Success,
        );
        assert_eq!(
            url,
            "https://api.github.com/repos/ops/control/statuses/1f2e"
        );
        let expected = json!({"state": "success", "context": "tutti/production",
            "description": "it is live"});
        assert_eq!(body, expected);
        let (url, body) = of(
            ForgeKind::GitLab,
            "https://git.example.com/group/sub/control.git",
            CommitState::Pending,
        );
        assert_eq!(
            url,
            "https://git.example.com/api/v4/projects/group%2Fsub%2Fcontrol/statuses/1f2e"
        );
        assert_eq!(body["state"], "running");
        let (url, body) = of(
            ForgeKind::Gitea,
            "https://git.example.com:3000/ops/control",
            CommitState::Failure,
        );
        assert_eq!(
            url,
            "https://git.example.com:3000/api/v1/repos/ops/control/statuses/1f2e"
        );
        assert_eq!(body["state"], "failure");
        let (url, body) = of(
            ForgeKind::Bitbucket,
            "git@bitbucket.org:ops/control.git",
            CommitState::Success,
        );
        assert_eq!(
            url,
            "https://api.bitbucket.org/2.0/repositories/ops/control/commit/1f2e/statuses/build"
        );
        assert_eq!(body["state"], "SUCCESSFUL");
        assert_eq!(body["url"], "https://bitbucket.org/ops/control");
        let (url, _) = of(
            ForgeKind::BitbucketServer,
            "https://git.example.com/bb/scm/ops/control.git",
            CommitState::Success,
        );
        assert_eq!(
            url,
            "https://git.example.com/bb/rest/build-status/1.0/commits/1f2e"
        );
        let (url, body) = of(
            ForgeKind::Azure,
            "https://anna@dev.azure.com/org/My%20Project/_git/control",
            CommitState::Failure,
        );
        assert_eq!(
            url,
            "https://dev.azure.com/org/My%20Project/_apis/git/repositories/control/commits/1f2e/\
             statuses?api-version=7.0"
        );
        assert_eq!(body["context"]["name"], "production");
        assert_eq!(body["state"], "failed");
    }

    #[test]
    fn a_token_is_shown_as_the_forge_wants_it() {
        let http = code_sources::http::client_builder()
            .unwrap()
            .build()
            .unwrap();
        let header = |proof: TokenScheme, name: &str, token: &str| {
            let request = proof.authenticate(http.post("https://git.example.com/"), token);
            let request = request.build().unwrap();
            let value = request.headers().get(name)?;
            Some(value.to_str().unwrap().to_owned())
        };
        let of = |proof, name| header(proof, name, "x").unwrap();
        assert_eq!(of(TokenScheme::Bearer, "authorization"), "Bearer x");
        assert_eq!(of(TokenScheme::Token, "authorization"), "token x");
        assert_eq!(of(TokenScheme::Private, "private-token"), "x");
        assert_eq!(of(TokenScheme::Password, "authorization"), "Basic Ong=");
        assert_eq!(header(TokenScheme::Bearer, "authorization", "a\nb"), None);
    }
}
