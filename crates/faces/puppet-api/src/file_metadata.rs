//! `GET /puppet/v3/file_metadata/{mount}[/{*path}]` and `…/file_metadatas/{mount}[/{*path}]`: properties
//! of files of modules, for pluginsync and for resources whose files are not described in the catalog.
//!
//! Only holders of a verified client certificate may read.

use agent_catalogs::{ChecksumType, IgnoredNames, MetadataDocument};
use axum::Router;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use environments::{CodeError, EnvironmentName, FileMetadata, FileTreeOptions, LinkHandling};
use serde::Serialize;
use tokio::sync::OwnedSemaphorePermit;

use crate::bounded_body::held_body;
use crate::defaults::{FILE_READ_WAIT, FILE_TREE_MAX};
use crate::failure::PuppetApiFailure;
use crate::file_mounts::FileMounts;
use crate::files::code_failure;
use crate::node_code::NodeCode;
use crate::node_shares::NodeShares;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;
use crate::requested_file::{FileSource, RequestedFile};

/// A parsed request.
struct MetadataRequest {
    environment: EnvironmentName,
    file: RequestedFile,
    checksum_type: ChecksumType,
    links: LinkHandling,
    /// Levels of directories; `None` for all.
    depth_max: Option<usize>,
    files_max: usize,
    ignored: IgnoredNames,
}

/// State of the handlers.
#[derive(Debug, Clone)]
struct MetadataServer {
    code: NodeCode,
    mounts: FileMounts,
    turns: NodeShares,
}

pub(crate) fn router(code: NodeCode, mounts: FileMounts, turns: NodeShares) -> Router {
    Router::new()
        .route("/puppet/v3/file_metadata/{mount}/{*path}", get(single))
        .route("/puppet/v3/file_metadata/{mount}/", get(mount_root))
        .route("/puppet/v3/file_metadata/{mount}", get(mount_root))
        .route("/puppet/v3/file_metadatas/{mount}/{*path}", get(tree))
        .route("/puppet/v3/file_metadatas/{mount}/", get(whole_mount))
        .route("/puppet/v3/file_metadatas/{mount}", get(whole_mount))
        .with_state(MetadataServer {
            code,
            mounts,
            turns,
        })
}

async fn single(
    State(server): State<MetadataServer>,
    Path((mount, path)): Path<(String, String)>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, PuppetApiFailure> {
    let certname = caller.require_certname()?;
    let request = MetadataRequest {
        depth_max: Some(0),
        ..MetadataRequest::parse(&mount, &path, (&server.mounts, certname), &params)?
    };
    let (found, share) = server.read(request, certname, false).await?;
    let found = found.into_iter().next();
    let found = found.ok_or_else(|| PuppetApiFailure::not_found("there is no such file"))?;
    respond(&found, share)
}

/// The directory of a mount, for resources whose source is all of it.
async fn mount_root(
    server: State<MetadataServer>,
    Path(mount): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, PuppetApiFailure> {
    single(server, Path((mount, String::new())), caller, params).await
}

async fn whole_mount(
    server: State<MetadataServer>,
    Path(mount): Path<String>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, PuppetApiFailure> {
    tree(server, Path((mount, String::new())), caller, params).await
}

async fn tree(
    State(server): State<MetadataServer>,
    Path((mount, path)): Path<(String, String)>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, PuppetApiFailure> {
    let certname = caller.require_certname()?;
    let request = MetadataRequest::parse(&mount, &path, (&server.mounts, certname), &params)?;
    let (found, share) = server.read(request, certname, true).await?;
    respond(&found, share)
}

/// The documents as JSON. The node's share is held until they are sent.
fn respond(
    documents: &impl Serialize,
    share: OwnedSemaphorePermit,
) -> Result<Response, PuppetApiFailure> {
    let text = serde_json::to_vec(documents);
    let text = text.map_err(|error| PuppetApiFailure::internal(&error))?;
    let media_type = [(header::CONTENT_TYPE, "application/json")];
    let length = [(header::CONTENT_LENGTH, text.len().to_string())];
    Ok((media_type, length, held_body(text.into(), share)).into_response())
}

impl MetadataServer {
    /// The metadata of the requested files, and the node's share; `is_tree` if each tells its path below the
    /// requested one.
    async fn read(
        &self,
        request: MetadataRequest,
        certname: &str,
        is_tree: bool,
    ) -> Result<(Vec<MetadataDocument>, OwnedSemaphorePermit), PuppetApiFailure> {
        let turn = self.turns.turn_within(certname, FILE_READ_WAIT).await?;
        let found = request.read(self.code.clone(), certname, is_tree).await?;
        Ok((found, turn.into_share()))
    }
}

impl MetadataRequest {
    fn parse(
        mount: &str,
        path: &str,
        mounts: (&FileMounts, &str),
        params: &QueryParams,
    ) -> Result<Self, PuppetApiFailure> {
        let checksum_type = params.get("checksum_type")?.unwrap_or("sha256");
        let checksum_type = checksum_type.parse();
        let recurses = !matches!(params.get("recurse")?, None | Some("false" | "0" | ""));
        Ok(Self {
            environment: params.environment()?,
            file: RequestedFile::parse(mount, path, mounts)?,
            checksum_type: checksum_type.map_err(
                |error: agent_catalogs::UnknownChecksumType| {
                    PuppetApiFailure::bad_request(error.to_string())
                },
            )?,
            links: match params.get("links")? {
                Some("follow") => LinkHandling::Follow,
                _ => LinkHandling::Manage,
            },
            depth_max: match recurses {
                true => number(params, "recurselimit")?,
                false => Some(0),
            },
            // -1 and 0 are "no limit" and "only a warning" in Puppet
            files_max: match number(params, "max_files")? {
                Some(limit) if limit > 0 => limit.min(FILE_TREE_MAX),
                _ => FILE_TREE_MAX,
            },
            ignored: IgnoredNames::new(params.all("ignore")),
        })
    }

    /// The metadata of the requested files; `is_tree` if each tells its path below the requested one.
    async fn read(
        self,
        code: NodeCode,
        certname: &str,
        is_tree: bool,
    ) -> Result<Vec<MetadataDocument>, PuppetApiFailure> {
        let certname = certname.to_owned();
        let reading = tokio::task::spawn_blocking(move || {
            let source = self.file.source(&code, &certname, &self.environment);
            let source = source.map_err(code_failure)?;
            self.read_source(&source, is_tree)
        });
        reading
            .await
            .map_err(|panic| PuppetApiFailure::internal(&panic))?
    }

    fn read_source(
        &self,
        source: &FileSource<'_>,
        is_tree: bool,
    ) -> Result<Vec<MetadataDocument>, PuppetApiFailure> {
        let options = FileTreeOptions {
            path: &self.file.path,
            links: self.links,
            depth_max: self.depth_max,
            files_max: self.files_max,
            is_ignored: &|name| self.ignored.contains(name),
        };
        let files = source.tree(options).map_err(tree_failure)?;
        let top = files.first().map(|file| file.path.clone());
        let top = top.unwrap_or_default().to_string_lossy().into_owned();
        let documents = files.into_iter().map(|file| {
            let document = self.document(source, &file)?;
            Ok(match is_tree {
                true => document.below(top.clone(), &file.relative_path),
                false => document,
            })
        });
        documents.collect()
    }

    fn document(
        &self,
        source: &FileSource<'_>,
        file: &FileMetadata,
    ) -> Result<MetadataDocument, PuppetApiFailure> {
        let path = &self.file.path;
        let path = match (path.is_empty(), file.relative_path.is_empty()) {
            (_, true) => path.clone(),
            (true, false) => file.relative_path.clone(),
            (false, false) => format!("{path}/{}", file.relative_path),
        };
        let open = || {
            let opened = source.open(&path);
            opened.map(|it| it.content).map_err(std::io::Error::other)
        };
        let checksum = self.checksum_type.checksum(file, open);
        let checksum = checksum.map_err(|error| PuppetApiFailure::internal(&error))?;
        let (links, checksum_type) = (self.links, self.checksum_type);
        Ok(MetadataDocument::new(file, links, checksum_type, checksum))
    }
}

fn tree_failure(error: CodeError) -> PuppetApiFailure {
    match error {
        CodeError::TooManyFiles { .. } => PuppetApiFailure::bad_request(error.to_string()),
        error => code_failure(error),
    }
}

/// A number that is not negative; `None` for the texts that stand for no limit.
fn number(params: &QueryParams, name: &str) -> Result<Option<usize>, PuppetApiFailure> {
    match params.get(name)? {
        None | Some("" | "-1" | "infinite" | "true") => Ok(None),
        Some(text) => text.parse().map(Some).map_err(|_| {
            PuppetApiFailure::bad_request(format!("the parameter {name} must be a number"))
        }),
    }
}
