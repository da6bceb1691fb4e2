//! Classes, defined types and native types by their names, loaded from modules when they are
//! needed.
//!
//! `a::b::c` is looked for in the site manifest, then in `b/c.pp`, `b.pp` and `init.pp` of module
//! `a`, as in Puppet.

use std::collections::HashMap;
use std::sync::Arc;

use evaluator::{EvalResult, Evaluator, NodeHost, SourceLocation};
use resource_types::ResourceType;

use crate::catalog::ResourceKind;
use crate::compilation::Compilation;
use crate::environment::{ClassDefinition, DefinedType, ManifestDefinitions};
use crate::error::{fail_at, location_text};
use crate::names::{definition_name, reference_name};

impl Compilation<'_> {
    /// The class with this name; `None` if there is none.
    pub(crate) fn find_class(
        &self,
        evaluator: &mut Evaluator<'_>,
        name: &str,
    ) -> EvalResult<Option<Arc<ClassDefinition>>> {
        let name = definition_name(name);
        if let Some(known) = self.state().known_classes.get(&name) {
            return Ok(known.clone());
        }
        let class = |manifest: &ManifestDefinitions| {
            let mut classes = manifest.classes.iter();
            classes.find(|class| *class.name == *name).cloned()
        };
        let found = self.find_definition(evaluator, &name, class)?;
        self.state().known_classes.insert(name, found.clone());
        Ok(found)
    }

    /// The defined type with this name; `None` if there is none.
    pub(crate) fn find_defined_type(
        &self,
        evaluator: &mut Evaluator<'_>,
        name: &str,
    ) -> EvalResult<Option<Arc<DefinedType>>> {
        let name = definition_name(name);
        if let Some(known) = self.state().known_defined_types.get(&name) {
            return Ok(known.clone());
        }
        let defined = |manifest: &ManifestDefinitions| {
            let mut types = manifest.defined_types.iter();
            types.find(|defined| *defined.name == *name).cloned()
        };
        let found = self.find_definition(evaluator, &name, defined)?;
        self.state().known_defined_types.insert(name, found.clone());
        Ok(found)
    }

    /// The native resource type with this name in lower case.
    pub(crate) fn native_type(&self, name: &str) -> EvalResult<Option<Arc<ResourceType>>> {
        let interrupt = self.request.interrupt.as_ref();
        let found = self.environment.native_type(name, interrupt);
        if found.is_err() {
            // the reason of an interruption is better than what it did to Ruby
            self.check_interrupt()?;
        }
        found
    }

    /// The native or defined type with this name; `None` if there is none.
    pub(crate) fn find_type(
        &self,
        evaluator: &mut Evaluator<'_>,
        name: &str,
    ) -> EvalResult<Option<ResourceKind>> {
        // names of native types have no leading colons
        let is_native = !name.starts_with("::");
        let name = definition_name(name);
        if is_native && let Some(native) = self.native_type(&name)? {
            return Ok(Some(ResourceKind::Native(native)));
        }
        let defined = self.find_defined_type(evaluator, &name)?;
        Ok(defined.map(ResourceKind::DefinedType))
    }

    /// The type of a declaration, with the name that references show. It is searched once for each
    /// spelling of its name.
    pub(crate) fn find_declared_type(
        &self,
        evaluator: &mut Evaluator<'_>,
        name: &Arc<str>,
    ) -> EvalResult<Option<(Arc<str>, ResourceKind)>> {
        if let Some(known) = self.state().declared_types.get(name) {
            return Ok(Some(known.clone()));
        }
        let Some(kind) = self.find_type(evaluator, name)? else {
            return Ok(None);
        };
        let declared = (reference_name(name), kind);
        let mut state = self.state();
        state
            .declared_types
            .insert(Arc::clone(name), declared.clone());
        Ok(Some(declared))
    }

    fn find_definition<T>(
        &self,
        evaluator: &mut Evaluator<'_>,
        name: &str,
        pick: impl Fn(&ManifestDefinitions) -> Option<T>,
    ) -> EvalResult<Option<T>> {
        let site = Arc::clone(&self.state().site);
        if let Some(found) = site.iter().find_map(|manifest| pick(manifest)) {
            return Ok(Some(found));
        }
        let mut path = match name.split_once("::") {
            Some((_, rest)) => rest.replace("::", "/"),
            None => String::new(),
        };
        let module = name.split("::").next().unwrap_or_default();
        if module.is_empty() || !is_name(name) {
            return Ok(None);
        }
        loop {
            let file = if path.is_empty() { "init" } else { &path };
            let manifest = self.environment.module_manifest(evaluator, module, file)?;
            if let Some(manifest) = manifest {
                self.register(evaluator, &manifest)?;
                if let Some(found) = pick(&manifest) {
                    return Ok(Some(found));
                }
            }
            if path.is_empty() {
                return Ok(None);
            }
            path.truncate(path.rfind('/').unwrap_or(0));
        }
    }

    /// Makes the functions and type aliases of a module's manifest known, once.
    fn register(
        &self,
        evaluator: &mut Evaluator<'_>,
        manifest: &Arc<ManifestDefinitions>,
    ) -> EvalResult<()> {
        let key = Arc::as_ptr(manifest).addr();
        if !self.state().registered_manifests.insert(key) {
            return Ok(());
        }
        self.state().applications.add_mappings(&manifest.mappings);
        evaluator.register_manifest(&manifest.manifest, manifest.module.as_deref())
    }

    /// Refuses classes, defined types and node blocks that the site manifest, or a block, defines twice.
    pub(crate) fn check_definitions_unique(
        &self,
        site: &[Arc<ManifestDefinitions>],
    ) -> EvalResult<()> {
        let mut seen: HashMap<String, (SourceLocation, bool)> = HashMap::new();
        for manifest in site {
            let classes = manifest.classes.iter().map(|it| (true, &it.name, &it.code));
            let types = manifest.defined_types.iter();
            let types = types.map(|it| (false, &it.name, &it.code));
            for (is_class, name, code) in classes.chain(types) {
                let known = seen.insert(name.to_string(), (code.location(), is_class));
                let Some((first, was_class)) = known else {
                    continue;
                };
                let place = location_text(&first);
                let text = match (is_class, was_class) {
                    (true, true) => {
                        format!("Class '{name}' is already defined {place}; cannot redefine")
                    }
                    (false, false) => {
                        format!("Definition '{name}' is already defined {place}; cannot redefine")
                    }
                    (false, true) => format!(
                        "'{name}' is already defined {place} as a class; cannot redefine as a definition"
                    ),
                    (true, false) => format!(
                        "'{name}' is already defined {place} as a definition; cannot redefine as a class"
                    ),
                };
                return fail_at(text, &code.location());
            }
        }
        self.check_nodes_unique(site)
    }

    fn check_nodes_unique(&self, site: &[Arc<ManifestDefinitions>]) -> EvalResult<()> {
        let mut seen: HashMap<String, SourceLocation> = HashMap::new();
        for node in site.iter().flat_map(|manifest| &manifest.nodes) {
            for host in &node.hosts {
                let name = match host {
                    NodeHost::Name(name) => name.to_string(),
                    NodeHost::Default => "default".to_owned(),
                    NodeHost::Pattern(_) => continue,
                };
                let location = node.code.location();
                if let Some(first) = seen.insert(name.clone(), location.clone()) {
                    let place = location_text(&first);
                    let text = format!("Node '{name}' is already defined {place}; cannot redefine");
                    return fail_at(text, &location);
                }
            }
        }
        Ok(())
    }
}

/// True for names that may become paths.
fn is_name(name: &str) -> bool {
    name.split("::").all(|segment| {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        !segment.is_empty() && segment.chars().all(is_word)
    })
}
