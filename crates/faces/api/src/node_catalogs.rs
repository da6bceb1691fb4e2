//! Catalogs of agents: `GET /tutti/v1/catalogs/{node}` and `GET /tutti/v1/catalogs/{node}/history`.
//!
//! Invariant: the content of a catalog, which may be secret, is not shown here; compiling it needs a
//! permission of its own.

use agent_catalogs::{CompileCause, KeptCatalogRecord, RecordedCompilation};
use api_types::{
    ApiError, CatalogCompilationItem, CatalogHistory, CompileCauseItem, KeptCatalogItem,
    NodeCatalogDocument, PreciseTimestamp, kinds,
};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use pcp::Certname;
use serde_json::json;

use crate::SharedApiContext;
use crate::failure::ApiFailure;
use crate::large_reply::large_reply;
use crate::request_parameters::PathVariables;

pub(crate) async fn show(
    State(api): State<SharedApiContext>,
    PathVariables(node): PathVariables<String>,
) -> Result<Response, ApiFailure> {
    let certname = certname(&node)?;
    let record = Box::pin(api.agent_catalogs.node_catalog(&certname)).await?;
    let record = record.ok_or_else(|| no_catalog(&certname))?;
    large_reply(NodeCatalogDocument {
        node,
        compilation: compilation(record.compilation),
        kept: record.kept.map(kept),
    })
    .await
}

pub(crate) async fn history(
    State(api): State<SharedApiContext>,
    PathVariables(node): PathVariables<String>,
) -> Result<Json<CatalogHistory>, ApiFailure> {
    let certname = certname(&node)?;
    let compilations = api.agent_catalogs.compilations(&certname).await?;
    if compilations.is_empty() {
        return Err(no_catalog(&certname));
    }
    let items = compilations.into_iter().map(compilation).collect();
    Ok(Json(CatalogHistory { node, items }))
}

fn certname(node: &str) -> Result<Certname, ApiFailure> {
    let certname = node.parse();
    certname.map_err(|_| ApiError::invalid("node", format!("{node:?} is no certname")).into())
}

fn no_catalog(certname: &Certname) -> ApiFailure {
    let text = format!(
        "no compilation for {certname} is recorded; its agent gets catalogs here if it uses this server as its Puppet \
         server"
    );
    ApiError::new(kinds::NO_CATALOG, text)
        .with("node", json!(certname.as_str()))
        .into()
}

fn time(milliseconds: i64) -> PreciseTimestamp {
    PreciseTimestamp(Timestamp::from_millisecond(milliseconds).unwrap_or_default())
}

fn compilation(recorded: RecordedCompilation) -> CatalogCompilationItem {
    let compilation = recorded.compilation;
    CatalogCompilationItem {
        catalog_uuid: compilation.catalog_uuid,
        environment: compilation.environment,
        code_id: compilation.code_id,
        time: time(recorded.at_ms),
        milliseconds: compilation.milliseconds,
        bytes: compilation.bytes,
        volatile: compilation.volatile,
        ahead: compilation.ahead,
        causes: compilation.causes.iter().map(cause).collect(),
    }
}

fn cause(cause: &CompileCause) -> CompileCauseItem {
    let names = cause.names();
    CompileCauseItem {
        kind: cause.kind().to_owned(),
        text: cause.to_string(),
        names: names.names,
        further: names.further as u64,
    }
}

fn kept(record: KeptCatalogRecord) -> KeptCatalogItem {
    KeptCatalogItem {
        used: record.used_ms.map(time),
        compressed_bytes: record.compressed_bytes,
        contents: record.contents,
        facts: record.facts,
        hiera_keys: record.hiera_keys,
        queries: record.queries,
        outside_files: record.outside_files,
    }
}
