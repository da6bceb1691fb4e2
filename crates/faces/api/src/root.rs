//! `GET /orchestrator` and the `OpenAPI` document.

use std::sync::LazyLock;

use api_types::root::{Info, License};
use api_types::{Root, openapi, routes};
use axum::Json;
use axum::http::header;
use axum::response::IntoResponse;

use crate::base_url::BaseUrl;

/// Collections with the paths below `/orchestrator/v1/`.
const COLLECTIONS: &[(&str, &str)] = &[
    ("environments", "environments"),
    ("inventory", "inventory"),
    ("jobs", "jobs"),
    ("plan_jobs", "plan_jobs"),
    ("plans", "plans"),
    ("scheduled_jobs", "scheduled_jobs/environment_jobs"),
    ("task_targets", "scopes/task_targets"),
    ("tasks", "tasks"),
    ("usage", "usage"),
];

/// All commands in the list of routes.
fn commands() -> impl Iterator<Item = &'static str> {
    let mut names: Vec<_> = routes::ALL
        .iter()
        .filter_map(|route| route.path.strip_prefix("/orchestrator/v1/command/"))
        .collect();
    names.sort_unstable();
    names.into_iter()
}

pub(crate) async fn show_root(base: BaseUrl) -> Json<Root> {
    let info = Info {
        title: "Tutti".to_owned(),
        description: "Orchestration for Puppet and OpenVox fleets.".to_owned(),
        warning: String::new(),
        version: "0.1".to_owned(),
        license: License {
            name: "Apache-2.0".to_owned(),
            url: "https://www.apache.org/licenses/LICENSE-2.0".to_owned(),
        },
    };
    let command = |name: &str| base.named_link(name, &format!("command/{name}"));
    Json(Root {
        info,
        status: base.named_link("status", "status"),
        collections: COLLECTIONS
            .iter()
            .map(|(name, path)| base.named_link(name, path))
            .collect(),
        commands: commands().map(command).collect(),
    })
}

pub(crate) async fn swagger() -> impl IntoResponse {
    static DOCUMENT: LazyLock<String> = LazyLock::new(openapi::document_json);
    (
        [(header::CONTENT_TYPE, "application/json")],
        DOCUMENT.as_str(),
    )
}
