//! `GET /orchestrator` and the `OpenAPI` document.

use std::sync::LazyLock;

use api_types::root::{Info, License};
use api_types::{Root, openapi};
use axum::Json;
use axum::http::header;
use axum::response::IntoResponse;

use crate::base::Base;

pub(crate) async fn root(base: Base) -> Json<Root> {
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
    let command = |name: &str| base.named(name, &format!("command/{name}"));
    Json(Root {
        info,
        status: base.named("status", "status"),
        collections: ["inventory", "jobs", "tasks"]
            .map(|name| base.named(name, name))
            .to_vec(),
        commands: ["ping", "stop", "task"].map(command).to_vec(),
    })
}

pub(crate) async fn swagger() -> impl IntoResponse {
    static DOCUMENT: LazyLock<String> = LazyLock::new(openapi::document_json);
    (
        [(header::CONTENT_TYPE, "application/json")],
        DOCUMENT.as_str(),
    )
}
