//! `GET /puppet/v3/static_file_content/{*path}?environment&code_id`: contents that catalogs name.
//!
//! ```text
//! by-hash/sha256/{digits}             a content that one of the caller's last catalogs names
//! {directory}/{module}/files/{path}   a file of a version; also tasks, scripts and lib
//! ```
//!
//! Invariant: a content by hash is served only to nodes whose catalogs name it, since contents may be
//! secret; whatever is served has the requested hash, or is of the requested version.

use std::sync::Arc;

use agent_catalogs::BY_HASH;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use environments::{CodeError, CodeFile, CodeReader, EnvironmentName, FileMount, Sha256};

use super::catalog::catalog_failure;
use super::server_state::{AgentServer, AgentServerState, identify};
use crate::defaults::FILE_READ_WAIT;
use crate::failure::PuppetApiFailure;
use crate::files::{FoundFile, code_failure};
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

/// A content never changes under its hash, but other nodes must not get it from a cache.
const CACHING: HeaderValue = HeaderValue::from_static("private, max-age=31536000, immutable");

pub(super) async fn get(
    State(server): State<AgentServerState>,
    Path(path): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
    headers: HeaderMap,
) -> Result<Response, PuppetApiFailure> {
    let certname = caller.require_certname()?;
    // for hashing the file; sending it takes no thread
    let _turn = server
        .file_turns
        .turn_within(certname, FILE_READ_WAIT)
        .await?;
    let by_hash = path
        .strip_prefix(BY_HASH)
        .and_then(|rest| rest.strip_prefix('/'));
    let file = match by_hash {
        Some(digits) => content(&server.agents, &caller, certname, digits).await?,
        None => {
            let environment = params.environment()?;
            let code_id = params.get("code_id")?.filter(|code_id| !code_id.is_empty());
            let code_id = code_id
                .ok_or_else(|| PuppetApiFailure::bad_request("the parameter code_id is missing"))?;
            let place = VersionFile::parse(&path)?;
            place
                .open(
                    Arc::clone(&server.agents.code),
                    environment,
                    code_id.to_owned(),
                )
                .await?
        }
    };
    let mut response = FoundFile::from(file).respond(&headers);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, CACHING);
    Ok(response)
}

async fn content(
    server: &AgentServer,
    caller: &PuppetApiCaller,
    certname: &str,
    digits: &str,
) -> Result<CodeFile, PuppetApiFailure> {
    let sha256: Sha256 = digits.parse().map_err(|_| {
        PuppetApiFailure::bad_request("the path must end with 64 hexadecimal digits")
    })?;
    let agent = identify(caller, certname)?;
    let found = server.catalogs.content(&agent, sha256).await;
    found.map_err(catalog_failure)?.ok_or_else(|| {
        PuppetApiFailure::not_found(format!(
            "no catalog that {certname} got lately names the content {sha256}; run the agent again"
        ))
    })
}

/// A file of a module in a version.
struct VersionFile {
    /// Directory of modules in the environment: `modules`.
    directory: String,
    mount: FileMount,
    module: String,
    path: String,
}

impl VersionFile {
    fn parse(path: &str) -> Result<Self, PuppetApiFailure> {
        let refused = || {
            PuppetApiFailure::forbidden(
                "only paths of the form <directory>/<module>/<files, tasks, scripts or lib>/<file> are served",
            )
        };
        let mut parts = path.splitn(4, '/');
        let mut next = || parts.next().filter(|part| !part.is_empty());
        let (Some(directory), Some(module), Some(part), Some(path)) =
            (next(), next(), next(), next())
        else {
            return Err(refused());
        };
        Ok(Self {
            directory: directory.to_owned(),
            mount: match part {
                "files" => FileMount::Modules,
                "tasks" => FileMount::Tasks,
                "scripts" => FileMount::Scripts,
                "lib" => FileMount::Plugins,
                _ => return Err(refused()),
            },
            module: module.to_owned(),
            path: path.to_owned(),
        })
    }

    async fn open(
        self,
        code: Arc<dyn CodeReader>,
        environment: EnvironmentName,
        code_id: String,
    ) -> Result<CodeFile, PuppetApiFailure> {
        let opening = tokio::task::spawn_blocking(move || {
            let version = code.version_of(&environment, Some(&code_id))?;
            // a module of another directory has no such path, which rules of an auth.conf may name
            let expected = version.directory().join(&self.directory).join(&self.module);
            let found = version.module(&self.module)?;
            if found.is_none_or(|module| module.directory != expected) {
                return Err(CodeError::UnknownFile { mount: self.mount });
            }
            let module = self.mount.has_modules().then_some(self.module.as_str());
            version.file(self.mount, module, &self.path)
        });
        let opened = opening
            .await
            .map_err(|panic| PuppetApiFailure::internal(&panic))?;
        opened.map_err(code_failure)
    }
}
