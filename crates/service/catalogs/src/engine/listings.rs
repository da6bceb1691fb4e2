//! The classes, transports and applications of environments, read once for each version.

use std::sync::Arc;

use environments::EnvironmentName;
use tokio::sync::OnceCell;

use super::{Catalogs, CatalogsInner, OpenEnvironment};
use crate::engine::CatalogError;
use crate::environment::{
    ApplicationDefinition, EnvironmentFiles, EnvironmentListing, EnvironmentListingError,
    EnvironmentOnDisk, TransportRuby, module_directories,
};

type ReadListing = fn(&CatalogsInner, &OpenEnvironment) -> Result<EnvironmentListing, CatalogError>;

impl Catalogs {
    /// The classes of the live version of an environment, with their parameters. They are read once for each
    /// version, and for each call if the environment has none.
    ///
    /// # Errors
    /// The environment does not exist, or its manifests cannot be found.
    pub async fn classes(
        &self,
        environment: &EnvironmentName,
    ) -> Result<Arc<EnvironmentListing>, CatalogError> {
        let opened = self.environment(environment, None).await?;
        self.listing(&opened, &opened.classes, CatalogsInner::read_classes)
            .await
    }

    /// The transports of the modules of the live version, read as the classes are. They are read again if a schema was
    /// left out that may be there the next time.
    ///
    /// # Errors
    /// The environment does not exist, or a schema must be run and there is no Ruby.
    pub async fn transports(
        &self,
        environment: &EnvironmentName,
    ) -> Result<Arc<EnvironmentListing>, CatalogError> {
        let opened = self.environment(environment, None).await?;
        self.listing(&opened, &opened.transports, CatalogsInner::read_transports)
            .await
    }

    /// The applications that the manifests of the live version define. Other manifests are not evaluated, so
    /// they may have errors. They are read as the classes are.
    ///
    /// # Errors
    /// The environment does not exist, or its manifests cannot be found.
    pub async fn applications(
        &self,
        environment: &EnvironmentName,
    ) -> Result<Arc<[ApplicationDefinition]>, CatalogError> {
        let opened = self.environment(environment, None).await?;
        if !opened.compiler.has_applications() {
            return Ok(Arc::default());
        }
        let found = opened.applications.get_or_try_init(|| async {
            let (inner, on_thread) = (Arc::clone(&self.inner), Arc::clone(&opened));
            let reading = tokio::task::spawn_blocking(move || inner.read_applications(&on_thread));
            match reading.await {
                Ok(found) => found.map(Arc::from),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        });
        found.await.cloned()
    }

    async fn listing(
        &self,
        opened: &Arc<OpenEnvironment>,
        known: &OnceCell<Arc<EnvironmentListing>>,
        read: ReadListing,
    ) -> Result<Arc<EnvironmentListing>, CatalogError> {
        let listing = known.get_or_try_init(|| async {
            let (inner, on_thread) = (Arc::clone(&self.inner), Arc::clone(opened));
            let reading = tokio::task::spawn_blocking(move || read(&inner, &on_thread));
            let listing = match reading.await {
                Ok(listing) => Arc::new(listing.map_err(Err)?),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            };
            match listing.is_lasting {
                true => Ok(listing),
                // an error is not kept
                false => Err(Ok(listing)),
            }
        });
        listing.await.cloned().or_else(|passing| passing)
    }
}

impl CatalogsInner {
    fn read_classes(&self, opened: &OpenEnvironment) -> Result<EnvironmentListing, CatalogError> {
        let files = self.files_of(opened)?;
        EnvironmentListing::of_classes(&files).map_err(|source| listing_error(opened, source))
    }

    fn read_transports(
        &self,
        opened: &OpenEnvironment,
    ) -> Result<EnvironmentListing, CatalogError> {
        let files = self.files_of(opened)?;
        let ruby = self.settings.ruby.clone().map(|workers| TransportRuby {
            workers,
            environment: opened.ruby_environment.clone(),
        });
        let listing = EnvironmentListing::of_transports(&files, ruby.as_ref());
        if let (None, Some(ruby)) = (&opened.code_id, ruby) {
            // the environment was opened for this request alone
            ruby.workers.forget(&ruby.environment);
        }
        listing.map_err(|source| listing_error(opened, source))
    }

    fn read_applications(
        &self,
        opened: &OpenEnvironment,
    ) -> Result<Vec<ApplicationDefinition>, CatalogError> {
        let found = self.files_of(opened)?.applications();
        found.map_err(|error| listing_error(opened, EnvironmentListingError::Manifests(error)))
    }

    fn files_of(&self, opened: &OpenEnvironment) -> Result<EnvironmentFiles, CatalogError> {
        let (environment, root) = (&opened.environment, &opened.directory);
        let settings = &self.settings;
        let modulepath = module_directories(root, &settings.codedir, &settings.base_modules);
        let modulepath = modulepath.map_err(|source| CatalogError::Environment {
            environment: environment.clone(),
            source,
        })?;
        let on_disk = EnvironmentOnDisk {
            name: environment.to_string(),
            root: root.clone(),
            modulepath,
            hiera_config: settings.hiera_config.clone(),
        };
        let files = EnvironmentFiles::new(on_disk, settings.hidden_paths.clone());
        Ok(files.noting(Arc::clone(&opened.outside_files)))
    }
}

fn listing_error(opened: &OpenEnvironment, source: EnvironmentListingError) -> CatalogError {
    CatalogError::Listing {
        environment: opened.environment.clone(),
        source,
    }
}
