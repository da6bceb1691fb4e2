//! The classes, transports and applications of environments, read once for each version.

use std::sync::Arc;

use environments::EnvironmentName;
use tokio::sync::OnceCell;

use super::{Catalogs, CatalogsInner, OpenEnvironment};
use crate::engine::CatalogError;
use crate::environment::{
    ApplicationDefinition, EnvironmentFiles, EnvironmentListing, EnvironmentListingError,
    EnvironmentOnDisk, module_directories,
};

type ReadListing = fn(&EnvironmentFiles) -> Result<EnvironmentListing, EnvironmentListingError>;

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
        self.listing(&opened, &opened.classes, EnvironmentListing::of_classes)
            .await
    }

    /// The transports of the modules of the live version, read as the classes are.
    ///
    /// # Errors
    /// The environment does not exist, or a schema cannot be read without running it.
    pub async fn transports(
        &self,
        environment: &EnvironmentName,
    ) -> Result<Arc<EnvironmentListing>, CatalogError> {
        let opened = self.environment(environment, None).await?;
        let read = EnvironmentListing::of_transports;
        self.listing(&opened, &opened.transports, read).await
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
            let reading = tokio::task::spawn_blocking(move || inner.read_listing(&on_thread, read));
            match reading.await {
                Ok(listing) => listing.map(Arc::new),
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            }
        });
        listing.await.cloned()
    }
}

impl CatalogsInner {
    fn read_listing(
        &self,
        opened: &OpenEnvironment,
        read: ReadListing,
    ) -> Result<EnvironmentListing, CatalogError> {
        let files = self.files_of(opened)?;
        read(&files).map_err(|source| CatalogError::Listing {
            environment: opened.environment.clone(),
            source,
        })
    }

    fn read_applications(
        &self,
        opened: &OpenEnvironment,
    ) -> Result<Vec<ApplicationDefinition>, CatalogError> {
        let found = self.files_of(opened)?.applications();
        found.map_err(|source| CatalogError::Listing {
            environment: opened.environment.clone(),
            source: EnvironmentListingError::Manifests(source),
        })
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
