//! An environment whose code does not change: [`CompilerEnvironment`].
//!
//! All compilations of one version of an environment share it: parsed manifests, classes and defined
//! types by name, resource types, Hiera data. Everything is read at its first use.
//!
//! Invariant: the result of a compilation does not depend on other compilations of the same
//! environment, so definitions are found by their names alone.

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use evaluator::{
    CatalogBody, CodeModule, CodeOwner, CodeReadError, CodeSource, EvalResult, Evaluator, Manifest,
    ManifestMapping, NodeHost, ParseCache, SharedUnits, SourceFile,
};
use lookup::{DataFileCache, HieraSettings, LookupFiles};
use native_ruby::{ErbTemplate, RubyFunction, TypedRubyFunction};
use partial_debug::partial_debug;
use pcore::Value;

use crate::interrupt::CompileInterrupt;
use crate::name_cache::NameCache;
use crate::names::definition_name;
use crate::native_types;
use crate::ruby::SharedRuby;
use resource_types::ResourceType;
use syntax::ModuleLocation;

/// Code of an environment, shared by threads.
pub trait CompilerSource: CodeSource + LookupFiles + Send + Sync {
    /// The source itself, as the evaluator takes it.
    fn as_code(&self) -> &dyn CodeSource;

    /// The source itself, as lookups take it.
    fn as_files(&self) -> &dyn LookupFiles;

    /// The files of the site manifest, in the order in which Puppet reads them.
    fn site_manifests(&self) -> Result<Vec<SourceFile>, CodeReadError>;

    /// Directory of the environment, as messages show it.
    fn directory(&self) -> String;
}

/// The parts from which an environment is made.
#[derive(Debug)]
pub struct EnvironmentSettings {
    pub name: String,
    pub hiera: HieraSettings,
    /// The variables `$settings::…`, by name.
    pub settings: Vec<(String, Value)>,
    /// True if resources may be exported and collected.
    pub storeconfigs: bool,
    /// Ruby for functions and templates; `None` refuses them.
    pub ruby: Option<SharedRuby>,
    /// Code that environments with equal files share; `None` to share none.
    pub shared_units: Option<Arc<SharedUnits>>,
    /// True if manifests may define applications (`applications = true` in `environment.conf`).
    pub applications: bool,
}

/// An environment, ready for compilations on many threads.
pub struct CompilerEnvironment {
    pub(crate) settings: EnvironmentSettings,
    pub(crate) code: Box<dyn CompilerSource>,
    pub(crate) parsed: Arc<ParseCache>,
    pub(crate) data: Arc<DataFileCache>,
    /// Definitions of module manifests, by module and path without extension.
    module_manifests: NameCache<Arc<ManifestDefinitions>>,
    site: RwLock<Option<Arc<[Arc<ManifestDefinitions>]>>>,
    resource_types: NameCache<Arc<ResourceType>>,
    /// Files by module, `/` and path; those of the environment have no module.
    files: NameCache<SourceFile>,
    modules: NameCache<CodeModule>,
    /// ERB templates by path; `None` for those that need Ruby.
    erb_templates: NameCache<Arc<ErbTemplate>>,
    /// Functions in Ruby by name; `None` for those that need Ruby.
    ruby_functions: NameCache<Arc<TypedRubyFunction>>,
    /// Built-in functions of stdlib by name, and whether they are used.
    builtins: NameCache<bool>,
}

/// A class.
#[derive(Debug)]
pub(crate) struct ClassDefinition {
    /// Name in lower case.
    pub(crate) name: Arc<str>,
    /// Name of the class that it inherits, in lower case.
    pub(crate) parent: Option<Arc<str>>,
    /// The same as written, for messages.
    pub(crate) written_parent: Arc<str>,
    pub(crate) code: CatalogBody,
    /// Module of the manifest; empty for the site manifest.
    pub(crate) module: Arc<str>,
}

/// A defined type, an application or a capability.
#[derive(Debug)]
pub(crate) struct DefinedType {
    pub(crate) name: Arc<str>,
    pub(crate) role: DefinedTypeRole,
    pub(crate) code: CatalogBody,
    pub(crate) module: Arc<str>,
}

/// The word with which a type is defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefinedTypeRole {
    /// `define`
    Resource,
    /// `application`
    Application,
    /// `capability`, whose resources have no code.
    Capability,
}

/// A node block, or a site, which has no hosts.
#[derive(Debug)]
pub(crate) struct NodeDefinition {
    pub(crate) hosts: Box<[NodeHost]>,
    pub(crate) code: CatalogBody,
}

/// The definitions of one manifest.
#[derive(Debug)]
pub(crate) struct ManifestDefinitions {
    pub(crate) manifest: Manifest,
    pub(crate) module: Option<Arc<str>>,
    pub(crate) classes: Vec<Arc<ClassDefinition>>,
    pub(crate) defined_types: Vec<Arc<DefinedType>>,
    pub(crate) nodes: Vec<Arc<NodeDefinition>>,
    pub(crate) sites: Vec<CatalogBody>,
    pub(crate) mappings: Vec<Arc<ManifestMapping>>,
}

partial_debug!(CompilerEnvironment { settings });

impl CompilerEnvironment {
    #[must_use]
    pub fn new(settings: EnvironmentSettings, code: Box<dyn CompilerSource>) -> Self {
        let shared = settings.shared_units.clone();
        let parsed = ParseCache::of_environment(shared, settings.applications);
        Self {
            settings,
            code,
            parsed,
            data: Arc::default(),
            module_manifests: NameCache::default(),
            site: RwLock::default(),
            resource_types: NameCache::default(),
            files: NameCache::default(),
            modules: NameCache::default(),
            builtins: NameCache::default(),
            erb_templates: NameCache::default(),
            ruby_functions: NameCache::default(),
        }
    }

    #[must_use]
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// True if the manifests of the environment may define applications.
    #[must_use]
    pub fn has_applications(&self) -> bool {
        self.settings.applications
    }

    /// The ERB template in a file; `None` if it needs Ruby. `bytes` reads the file.
    pub(crate) fn erb_template(
        &self,
        path: &str,
        bytes: impl FnOnce() -> Option<Arc<[u8]>>,
    ) -> Option<Arc<ErbTemplate>> {
        if let Some(known) = self.erb_templates.get(path) {
            return known;
        }
        let text = bytes();
        let text = text.as_deref().and_then(|it| std::str::from_utf8(it).ok());
        let template = text.and_then(|text| ErbTemplate::parse(text).ok());
        let template = template.map(Arc::new);
        self.erb_templates.insert(path.to_owned(), template.clone());
        template
    }

    /// The function in Ruby of a module that needs no Ruby; `None` if it needs Ruby.
    pub(crate) fn ruby_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        module: &str,
        name: &str,
    ) -> Option<Arc<TypedRubyFunction>> {
        if let Some(known) = self.ruby_functions.get(name) {
            return known;
        }
        let function = self.read_ruby_function(evaluator, module, name);
        let function = function.map(Arc::new);
        self.ruby_functions
            .insert(name.to_owned(), function.clone());
        function
    }

    fn read_ruby_function(
        &self,
        evaluator: &mut Evaluator<'_>,
        module: &str,
        name: &str,
    ) -> Option<TypedRubyFunction> {
        let [modern, _] = stdlib::RUBY_FUNCTION_DIRECTORIES;
        let path = format!("{modern}/{}.rb", name.replace("::", "/"));
        let file = self.code.as_code().read(CodeOwner::Module(module), &path);
        let file = file.ok().flatten()?;
        let text = std::str::from_utf8(&file.bytes).ok()?;
        let function = RubyFunction::parse(text).ok()?;
        let resolve = &mut |text: &str| evaluator.parse_type(text, &[]);
        let is_named_so = function.name() == name;
        is_named_so
            .then(|| function.with_types(resolve).ok())
            .flatten()
    }

    /// True if a built-in function of stdlib is to be used: the module has the function, and its
    /// file in Ruby is one that the built-in function was compared with, unless there is no Ruby.
    pub(crate) fn uses_builtin(&self, function: &str) -> bool {
        if let Some(Some(known)) = self.builtins.get(function) {
            return known;
        }
        let uses = self.decide_builtin(function);
        self.builtins.insert(function.to_owned(), Some(uses));
        uses
    }

    fn decide_builtin(&self, function: &str) -> bool {
        let path = function.replace("::", "/");
        let own = path.strip_prefix("stdlib/").unwrap_or(&path);
        let in_module = |path: &str| {
            let file = CodeSource::read(self, CodeOwner::Module("stdlib"), path);
            file.ok().flatten()
        };
        let [modern, former] = stdlib::RUBY_FUNCTION_DIRECTORIES;
        for path in [format!("{modern}/{path}.rb"), format!("{former}/{path}.rb")] {
            if let Some(file) = in_module(&path) {
                let is_same = stdlib::replaced_function(&path, &file.bytes).is_none();
                return is_same || self.settings.ruby.is_none();
            }
        }
        in_module(&format!("functions/{own}.pp")).is_some()
    }

    /// The manifests of the site, parsed at the first use.
    pub(crate) fn site(
        &self,
        evaluator: &mut Evaluator<'_>,
    ) -> EvalResult<Arc<[Arc<ManifestDefinitions>]>> {
        let known = self.site.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(site) = &*known {
            return Ok(Arc::clone(site));
        }
        drop(known);
        let files = match self.code.site_manifests() {
            Ok(files) => files,
            Err(error) => return evaluator::raise(error.to_string()),
        };
        let mut site = Vec::with_capacity(files.len());
        for file in &files {
            let manifest = evaluator.parse_manifest(file, None)?;
            site.push(Arc::new(ManifestDefinitions::new(manifest, None)));
        }
        let site: Arc<[_]> = site.into();
        let mut known = self.site.write().unwrap_or_else(PoisonError::into_inner);
        *known = Some(Arc::clone(&site));
        Ok(site)
    }

    /// The definitions of a manifest of a module; `path` is relative to `manifests`, without
    /// extension. `None` if there is no such file.
    pub(crate) fn module_manifest(
        &self,
        evaluator: &mut Evaluator<'_>,
        module: &str,
        path: &str,
    ) -> EvalResult<Option<Arc<ManifestDefinitions>>> {
        let key = format!("{module}/{path}");
        if let Some(known) = self.module_manifests.get(&key) {
            return Ok(known);
        }
        let below = format!("manifests/{path}.pp");
        // not kept as a file, since the definitions are kept
        let file = self.code.as_code().read(CodeOwner::Module(module), &below);
        let found = match file {
            Ok(Some(file)) => {
                let location =
                    ModuleLocation::in_module(Path::new(&*file.path), module, Path::new(&below));
                let manifest = evaluator.parse_manifest(&file, location.as_ref())?;
                Some(Arc::new(ManifestDefinitions::new(
                    manifest,
                    Some(module.into()),
                )))
            }
            Ok(None) => None,
            Err(error) => return evaluator::raise(error.to_string()),
        };
        self.module_manifests.insert(key, found.clone());
        Ok(found)
    }

    /// The native resource type with this name in lower case. `interrupt` ends what Ruby reads.
    pub(crate) fn native_type(
        &self,
        name: &str,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> EvalResult<Option<Arc<ResourceType>>> {
        if let Some(known) = self.resource_types.get(name) {
            return Ok(known);
        }
        let found = native_types::load(self, name, interrupt)?;
        self.resource_types.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}

impl ManifestDefinitions {
    pub(crate) fn new(manifest: Manifest, module: Option<Arc<str>>) -> Self {
        let owner: Arc<str> = module.clone().unwrap_or_default();
        let classes = manifest.classes().into_iter().map(|class| {
            Arc::new(ClassDefinition {
                name: class.name,
                parent: class.parent.as_deref().map(|it| definition_name(it).into()),
                written_parent: class.parent.unwrap_or_default(),
                code: class.code,
                module: Arc::clone(&owner),
            })
        });
        let mut defined_types = Vec::new();
        for (role, types) in [
            (DefinedTypeRole::Resource, manifest.defined_types()),
            (DefinedTypeRole::Application, manifest.applications()),
            (DefinedTypeRole::Capability, manifest.capabilities()),
        ] {
            defined_types.extend(types.into_iter().map(|defined| {
                Arc::new(DefinedType {
                    name: defined.name,
                    role,
                    code: defined.code,
                    module: Arc::clone(&owner),
                })
            }));
        }
        let nodes = manifest.node_blocks().into_iter().map(|node| {
            Arc::new(NodeDefinition {
                hosts: node.hosts,
                code: node.code,
            })
        });
        Self {
            classes: classes.collect(),
            defined_types,
            nodes: nodes.collect(),
            sites: manifest.sites(),
            mappings: manifest.mappings().into_iter().map(Arc::new).collect(),
            module,
            manifest,
        }
    }
}

/// The code as the evaluator sees it: every file and module is read once.
impl CodeSource for CompilerEnvironment {
    fn module(&self, name: &str) -> Option<CodeModule> {
        if let Some(known) = self.modules.get(name) {
            return known;
        }
        let found = self.code.as_code().module(name);
        self.modules.insert(name.to_owned(), found.clone());
        found
    }

    fn modules(&self) -> Vec<Arc<str>> {
        self.code.as_code().modules()
    }

    fn read(&self, owner: CodeOwner<'_>, path: &str) -> Result<Option<SourceFile>, CodeReadError> {
        let module = match owner {
            CodeOwner::Environment => "",
            CodeOwner::Module(name) => name,
        };
        let key = format!("{module}/{path}");
        if let Some(known) = self.files.get(&key) {
            return Ok(known);
        }
        let found = self.code.as_code().read(owner, path)?;
        self.files.insert(key, found.clone());
        Ok(found)
    }
}
