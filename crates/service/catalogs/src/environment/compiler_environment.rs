//! An environment on disk as input of the compiler: [`CompilerOptions`].
//!
//! Invariant: an environment has Ruby workers of its own name and version only.

use std::sync::Arc;

use compiler::{CompilerEnvironment, EnvironmentSettings, RubyProvider};
use evaluator::SharedUnits;
use lookup::HieraSettings;
use ruby_workers::{HiddenPaths, RubyEnvironment, RubyWorkers};

use super::{EnvironmentFiles, EnvironmentOnDisk, OutsideFiles};
use crate::ruby::RubyWorkerProvider;

/// Options for the compilations of an environment.
#[derive(Debug, Clone, Default)]
pub struct CompilerOptions {
    /// Name of the code version. Ruby workers of one version are never used for another one.
    pub version: String,
    /// Ruby for functions, templates and types; `None` refuses them.
    pub ruby: Option<RubyWorkers>,
    /// True if resources may be exported and collected.
    pub storeconfigs: bool,
    /// Code that environments with equal files share; `None` to share none.
    pub shared_units: Option<Arc<SharedUnits>>,
    /// Files of the server that no path of the environment may lead to.
    pub hidden_paths: HiddenPaths,
    /// Takes note of the files that are read outside of the environment.
    pub outside_files: Arc<OutsideFiles>,
}

impl EnvironmentOnDisk {
    /// The environment as Ruby workers know it.
    #[must_use]
    pub(crate) fn ruby_environment(&self, version: String) -> RubyEnvironment {
        RubyEnvironment {
            name: self.name.clone(),
            version,
            directory: self.root.clone(),
            module_directories: self.modulepath.clone(),
        }
    }

    /// The environment, ready for compilations. Its files are read when a compilation needs them.
    #[must_use]
    pub fn into_compiler(self, options: CompilerOptions) -> CompilerEnvironment {
        let CompilerOptions {
            version,
            ruby,
            storeconfigs,
            shared_units,
            hidden_paths,
            outside_files,
        } = options;
        let ruby = ruby.map(|workers| {
            let environment = self.ruby_environment(version);
            Arc::new(RubyWorkerProvider::new(workers, environment)) as Arc<dyn RubyProvider>
        });
        let applications = self.has_applications();
        let settings = EnvironmentSettings {
            name: self.name.clone(),
            hiera: HieraSettings {
                global_config: Some(self.hiera_config.clone()),
                environment_root: Some(self.root.clone()),
                plan: false,
                strict: true,
                has_classifier_data: true,
            },
            settings: Vec::new(),
            storeconfigs,
            ruby,
            shared_units,
            applications,
        };
        CompilerEnvironment::new(
            settings,
            Box::new(EnvironmentFiles::new(self, hidden_paths).noting(outside_files)),
        )
    }
}
