//! A simulated node and the requests of its rounds. Main type: [`TrafficNode`].
//!
//! Invariant: an answer must be of the release that was live when its request was sent, or of one that became live
//! before the answer was complete.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rustls::ClientConfig;
use serde_json::json;

use super::answer::{AnswerParts, AnswerRelease, CodeIds, examine, read_release};
use super::releases::{
    CATALOG_FILES, CATALOG_MARKERS, FACT_FILES, NUMBER_FILE, PLUGIN_FILES, Releases,
};
use super::report::{RequestKind, TrafficReport};
use crate::agent_requests;
use crate::https_connection::HttpsConnection;
use crate::installation::Installation;

const ENVIRONMENT: &str = "production";
/// The query of requests for metadata, as agents send it.
const METADATA_QUERY: &str =
    "environment=production&links=follow&checksum_type=sha256&source_permissions=ignore";

/// A node that requests all that an agent requests in a run, again and again.
pub(super) struct TrafficNode {
    server: SocketAddr,
    tls: Arc<ClientConfig>,
    releases: Arc<Releases>,
    /// The file of the live version that contains its number.
    live: PathBuf,
    code_ids: CodeIds,
    requests: Vec<PreparedRequest>,
    catalog: Vec<u8>,
}

/// A request without a body, and the parts of its answer.
struct PreparedRequest {
    kind: RequestKind,
    bytes: Vec<u8>,
    expected: AnswerParts,
}

const ONE_MARKER: AnswerParts = AnswerParts {
    markers: 1,
    checksums: 0,
    code_ids: 0,
};

const fn files(checksums: usize) -> AnswerParts {
    AnswerParts {
        markers: 0,
        checksums,
        code_ids: 0,
    }
}

const CATALOG: AnswerParts = AnswerParts {
    markers: CATALOG_MARKERS,
    checksums: CATALOG_FILES,
    // that of the catalog, and its version
    code_ids: 2,
};

// === impl TrafficNode ===

impl TrafficNode {
    pub(super) fn new(
        installation: &Installation,
        releases: Arc<Releases>,
        certname: &str,
    ) -> Result<Self> {
        let tls = installation.client_tls(certname)?;
        let facts = json!({"kernel": "Linux", "os": {"family": "Debian"}});
        let catalog = agent_requests::catalog_as_text(certname, ENVIRONMENT, &facts);
        let environments = installation.code_dir().join("environments");
        Ok(Self {
            server: SocketAddr::from((Ipv4Addr::LOCALHOST, installation.puppet_api_port())),
            tls,
            releases,
            live: environments.join(ENVIRONMENT).join(NUMBER_FILE),
            code_ids: CodeIds::new(installation.root().join("versions/versions")),
            requests: prepared_requests(),
            catalog: catalog.into_bytes(),
        })
    }

    /// Opens a connection for the requests of the node.
    pub(super) async fn connect(&self) -> Result<HttpsConnection> {
        let from = IpAddr::from(Ipv4Addr::LOCALHOST);
        HttpsConnection::open(self.server, from, Arc::clone(&self.tls)).await
    }

    /// Requests plugins, a catalog, and files, in the order of an agent.
    pub(super) async fn round(
        &mut self,
        connection: &mut HttpsConnection,
        report: &mut TrafficReport,
    ) -> Result<()> {
        let requests = std::mem::take(&mut self.requests);
        for request in &requests {
            let asked = self.ask(
                connection,
                request.kind,
                &request.bytes,
                request.expected,
                report,
            );
            asked.await?;
        }
        self.requests = requests;
        let bytes = std::mem::take(&mut self.catalog);
        let asked = self.ask(connection, RequestKind::Catalog, &bytes, CATALOG, report);
        let catalog = asked.await?;
        self.catalog = bytes;
        for hash in &catalog.hashes {
            self.content(connection, catalog.release, hash, report)
                .await?;
        }
        Ok(())
    }

    /// Sends a request and checks that its answer is of one release, which was live meanwhile.
    async fn ask(
        &mut self,
        connection: &mut HttpsConnection,
        kind: RequestKind,
        request: &[u8],
        expected: AnswerParts,
        report: &mut TrafficReport,
    ) -> Result<AnswerRelease> {
        let before = read_release(&self.live)?;
        let since = Instant::now();
        connection.ask(request).await?;
        report.add_time(kind, since.elapsed());
        let after = read_release(&self.live)?;
        let answer = examine(
            connection.body(),
            expected,
            &self.releases,
            &mut self.code_ids,
        );
        let answer = answer.with_context(|| {
            let body = String::from_utf8_lossy(connection.body());
            format!("{kind:?}, while {before} to {after} were live: {body}")
        })?;
        check_age(answer.release, before, after).with_context(|| format!("{kind:?}"))?;
        report.add_release(kind, answer.release);
        Ok(answer)
    }

    /// Requests a content that a catalog names, which is of the release of the catalog.
    async fn content(
        &self,
        connection: &mut HttpsConnection,
        release: u32,
        hash: &str,
        report: &mut TrafficReport,
    ) -> Result<()> {
        let path = format!(
            "/puppet/v3/static_file_content/by-hash/sha256/{hash}?environment={ENVIRONMENT}"
        );
        let kind = RequestKind::ContentByHash;
        let since = Instant::now();
        connection
            .ask(agent_requests::get(&path).as_bytes())
            .await?;
        report.add_time(kind, since.elapsed());
        let found = super::releases::hash(connection.body());
        ensure!(found == hash, "the content of {hash} has the hash {found}");
        report.add_release(kind, release);
        Ok(())
    }
}

/// The requests before that for the catalog: plugins, and files by their names.
fn prepared_requests() -> Vec<PreparedRequest> {
    let prepare = |kind, path: String, expected| PreparedRequest {
        kind,
        bytes: agent_requests::get(&path).into_bytes(),
        expected,
    };
    let metadata = |mount: &str, expected| {
        let path = format!("/puppet/v3/file_metadatas/{mount}?recurse=true&{METADATA_QUERY}");
        prepare(RequestKind::Metadata, path, expected)
    };
    let content = |path: &str| {
        let path = format!("/puppet/v3/file_content/{path}?environment={ENVIRONMENT}");
        prepare(RequestKind::Content, path, ONE_MARKER)
    };
    vec![
        metadata("pluginfacts", files(FACT_FILES)),
        metadata("plugins", files(PLUGIN_FILES)),
        metadata("modules/demo/tree", files(2)),
        prepare(
            RequestKind::Metadata,
            format!("/puppet/v3/file_metadata/modules/demo/sourced?{METADATA_QUERY}"),
            files(1),
        ),
        content("plugins/facter/a.rb"),
        content("modules/demo/sourced"),
    ]
}

/// Fails if a release was live neither when a request was sent nor when its answer was complete, nor between.
fn check_age(release: u32, before: u32, after: u32) -> Result<()> {
    ensure!(
        release >= before,
        "an answer of release {release} is stale: {before} was live before the request"
    );
    ensure!(
        release <= after,
        "an answer of release {release} came while {after} was live"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_that_was_not_live_is_found() {
        assert!(check_age(4, 4, 4).is_ok());
        assert!(check_age(4, 4, 5).is_ok());
        assert!(check_age(5, 4, 5).is_ok());
        let stale = check_age(3, 4, 5).unwrap_err().to_string();
        assert!(stale.contains("release 3 is stale"), "{stale}");
        assert!(check_age(6, 4, 5).is_err());
    }
}
