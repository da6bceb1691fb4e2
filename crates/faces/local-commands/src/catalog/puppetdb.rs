//! A PuppetDB for compilations of local commands: [`PuppetdbConnection`].

use std::sync::Arc;

use catalogs::{CapabilitySources, InventoryQueries, PuppetdbCapabilities, PuppetdbExports};
use cli::CommandFailure;
use compiler::CompileRequest;
use inventory::{Inventory, PuppetDbConfig};
use tokio::runtime::{Builder, Runtime};

use super::client_certificate::ClientCertificateOptions;

/// Exported resources and rows of a PuppetDB, with the runtime of the requests.
#[derive(Debug)]
pub(super) struct PuppetdbConnection {
    exports: Arc<PuppetdbExports>,
    queries: Arc<InventoryQueries>,
    capabilities: CapabilitySources,
    /// Dropped last, when no compilation waits for an answer.
    _runtime: Runtime,
}

impl PuppetdbConnection {
    /// A connection to the server at `url`. No request is sent yet.
    pub(super) fn new(
        url: &str,
        certificate: &ClientCertificateOptions,
    ) -> Result<Self, CommandFailure> {
        let usage = |error: &dyn std::error::Error| CommandFailure::Usage(error.to_string());
        // plain HTTP, which is accepted for this machine only, has no certificate
        let is_plain = url.starts_with("http://");
        let tls = (!is_plain).then(|| certificate.tls_files()).transpose()?;
        let config = PuppetDbConfig::new([url], tls).map_err(|error| usage(&error))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| usage(&error))?;
        let inventory = Inventory::puppetdb(config);
        let handle = runtime.handle().clone();
        Ok(Self {
            exports: Arc::new(PuppetdbExports::new(inventory.clone(), handle.clone())),
            queries: Arc::new(InventoryQueries::new(inventory.clone(), handle.clone())),
            capabilities: CapabilitySources {
                embedded: None,
                puppetdb: Some(PuppetdbCapabilities::new(inventory, handle, None)),
            },
            _runtime: runtime,
        })
    }

    /// Lets a compilation collect and query.
    pub(super) fn serve(&self, request: &mut CompileRequest) {
        request.exports = Some(Arc::clone(&self.exports) as _);
        request.puppetdb_queries = Some(Arc::clone(&self.queries) as _);
        let capabilities = self.capabilities.of_code(request.code_id.as_deref());
        request.capabilities = capabilities.map(|it| Arc::new(it) as _);
    }
}
