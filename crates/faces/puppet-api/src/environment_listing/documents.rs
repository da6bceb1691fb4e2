//! Documents about environments and their modules.

use std::collections::BTreeMap;
use std::path::PathBuf;

use axum::extract::State;
use axum::response::Response;
use catalogs::{EnvironmentTimeout, ListedSettings, ListedSettingsError};
use environments::{CodeVersion, EnvironmentName};
use serde::Serialize;
use serde_json::Value;

use super::{ListingServer, environment_of};
use crate::failure::PuppetApiFailure;
use crate::files::code_failure;
use crate::peer::PuppetApiCaller;
use crate::query::QueryParams;

#[derive(Serialize)]
pub(super) struct EnvironmentList {
    search_paths: Vec<String>,
    environments: BTreeMap<String, ListedEnvironment>,
}

#[derive(Serialize)]
struct ListedEnvironment {
    settings: SettingsDocument,
}

#[derive(Serialize)]
struct SettingsDocument {
    modulepath: Vec<PathBuf>,
    manifest: PathBuf,
    /// Seconds, or the text `unlimited`.
    environment_timeout: Value,
    config_version: String,
}

#[derive(Serialize)]
pub(super) struct EnvironmentModules {
    modules: Vec<ListedModule>,
    name: String,
}

#[derive(Serialize)]
struct ListedModule {
    name: String,
    version: Option<String>,
}

/// The modules of the environment that the query names, or of all.
pub(super) async fn list_modules(
    State(server): State<ListingServer>,
    caller: PuppetApiCaller,
    params: QueryParams,
) -> Result<Response, PuppetApiFailure> {
    caller.require_certname()?;
    if params.get("environment")?.is_none() {
        return server.answer(&caller, ListingServer::all_modules).await;
    }
    let environment = environment_of(&params)?;
    server
        .answer(&caller, move |server| server.modules(&environment))
        .await
}

impl ListingServer {
    pub(super) fn environments(&self) -> Result<EnvironmentList, PuppetApiFailure> {
        let mut environments = BTreeMap::new();
        for name in self.code.environments().map_err(code_failure)? {
            // one that was removed meanwhile, or whose `environment.conf` cannot be used
            let omit = |error: &(dyn std::error::Error + 'static)| {
                tracing::warn!(environment = %name, error, "an environment is not listed");
            };
            match self.code.version(&name).map(|it| self.settings(&*it)) {
                Ok(Ok(settings)) => {
                    let settings = settings.into();
                    environments.insert(name.to_string(), ListedEnvironment { settings });
                }
                Ok(Err(error)) => omit(&error),
                Err(error) => omit(&error),
            }
        }
        let search_path = self.codedir.join("environments");
        Ok(EnvironmentList {
            search_paths: vec![format!("file://{}", search_path.display())],
            environments,
        })
    }

    fn settings(&self, version: &dyn CodeVersion) -> Result<ListedSettings, ListedSettingsError> {
        let base = [self.codedir.join("modules")];
        let name = version.environment().as_str();
        ListedSettings::read(name, version.directory(), &self.codedir, &base)
    }

    fn modules(
        &self,
        environment: &EnvironmentName,
    ) -> Result<EnvironmentModules, PuppetApiFailure> {
        let version = self.version(environment)?;
        let modules = version.modules().map_err(code_failure)?.into_iter();
        let modules = modules.map(|module| {
            let metadata = version.source(Some(&module.name), "metadata.json");
            let metadata = metadata.map_err(code_failure)?;
            let metadata = metadata.and_then(|it| serde_json::from_slice(&it.content).ok());
            let metadata: Value = metadata.unwrap_or_default();
            Ok(ListedModule {
                name: module.name,
                version: metadata["version"].as_str().map(str::to_owned),
            })
        });
        Ok(EnvironmentModules {
            modules: modules.collect::<Result<_, PuppetApiFailure>>()?,
            name: environment.to_string(),
        })
    }

    fn all_modules(&self) -> Result<Vec<EnvironmentModules>, PuppetApiFailure> {
        let environments = self.code.environments().map_err(code_failure)?;
        environments.iter().map(|it| self.modules(it)).collect()
    }
}

impl From<ListedSettings> for SettingsDocument {
    fn from(settings: ListedSettings) -> Self {
        Self {
            modulepath: settings.modulepath,
            manifest: settings.manifest,
            environment_timeout: match settings.environment_timeout {
                EnvironmentTimeout::Seconds(seconds) => seconds.into(),
                EnvironmentTimeout::Unlimited => "unlimited".into(),
            },
            config_version: settings.config_version,
        }
    }
}
