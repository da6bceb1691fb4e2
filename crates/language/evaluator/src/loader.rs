//! Functions and types of the environment and of modules, by their names. Main type:
//! [`DefinitionLoader`].
//!
//! `functions/x.pp` of the environment is the function `x`, `functions/b.pp` of module `a` is
//! `a::b`, `types/b.pp` is `A::B`. Files of the environment are global: `environment::x` is only
//! looked for in `functions/environment/x.pp`, as in Puppet. A module sees itself, the
//! environment's files and the modules that its metadata names; without metadata it sees all.
//!
//! Invariant: once a name is resolved, it has the same meaning for the rest of the evaluation.

mod lookup;

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use pcore::{FastHashMap, Type};
use syntax::ModuleLocation;

use crate::code::{DefinitionCode, LoweredDefinition, LoweredUnit};
use crate::code_source::{CodeOwner, CodeReadError, CodeSource, SourceFile};
use crate::error::{EvalError, EvalResult, RUNTIME_ERROR, raise};
use crate::parse_cache::ParseCache;
use crate::source_language::SourceLanguage;

/// Functions and types loaded for one evaluation.
#[derive(Debug)]
pub(crate) struct DefinitionLoader {
    parsed: Arc<ParseCache>,
    language: SourceLanguage,
    functions: RefCell<FastHashMap<Arc<str>, Option<LoadedFunction>>>,
    types: RefCell<FastHashMap<Arc<str>, Option<AliasState>>>,
    /// Number of nested alias evaluations in progress.
    resolving: Cell<u32>,
    postponed: RefCell<Vec<PostponedAlias>>,
    /// Module that owns a file, by the path of the file; `None` for files of the environment.
    owners: RefCell<FastHashMap<Arc<str>, Option<Arc<str>>>>,
}

/// A function written in Puppet, by its unit and code index.
#[derive(Debug, Clone)]
pub(crate) struct LoadedFunction {
    pub(crate) unit: Arc<LoweredUnit>,
    pub(crate) code: u32,
}

/// A file of code and the names that it may define.
#[derive(Debug)]
pub(crate) struct LocatedFile {
    pub(crate) file: SourceFile,
    /// Location within a module; `None` for files of the environment.
    pub(crate) location: Option<ModuleLocation>,
    owner: Option<Arc<str>>,
}

#[derive(Debug, Clone)]
enum AliasState {
    /// Defined by a program: the unit and the index of the definition. It is evaluated at first
    /// use.
    Defined(Arc<LoweredUnit>, usize),
    /// The alias is being evaluated and has no type yet.
    Declared(Arc<pcore::NamedTypeAlias>),
    Ready(Type),
}

/// An alias whose body refers to another alias that has no type yet.
#[derive(Debug)]
struct PostponedAlias {
    key: Arc<str>,
    alias: Arc<pcore::NamedTypeAlias>,
    body: Type,
    /// State of the name before the evaluation of the alias.
    before: Option<AliasState>,
}

impl LocatedFile {
    fn of_environment(file: SourceFile) -> Self {
        Self {
            file,
            location: None,
            owner: None,
        }
    }
}

impl DefinitionLoader {
    pub(crate) fn new(parsed: Arc<ParseCache>, language: SourceLanguage) -> Self {
        Self {
            parsed,
            language,
            functions: RefCell::default(),
            types: RefCell::default(),
            resolving: Cell::new(0),
            postponed: RefCell::default(),
            owners: RefCell::default(),
        }
    }

    /// Language of the files that are loaded.
    pub(crate) fn language(&self) -> SourceLanguage {
        self.language
    }

    pub(crate) fn parsed(&self) -> &Arc<ParseCache> {
        &self.parsed
    }

    /// Registers the definitions of a program. Aliases are evaluated at their first use, so they
    /// may refer to each other in any order.
    pub(crate) fn define(&self, unit: &Arc<LoweredUnit>) -> EvalResult<()> {
        check_unique(unit)?;
        for (index, definition) in unit.definitions.iter().enumerate() {
            match definition.what {
                DefinitionCode::Function { code } => {
                    let found = LoadedFunction {
                        unit: Arc::clone(unit),
                        code,
                    };
                    self.functions
                        .borrow_mut()
                        .insert(Arc::clone(&definition.name), Some(found));
                }
                DefinitionCode::Alias { .. } => {
                    let state = AliasState::Defined(Arc::clone(unit), index);
                    self.types
                        .borrow_mut()
                        .insert(definition.name.to_lowercase().into(), Some(state));
                }
                DefinitionCode::Plan { .. }
                | DefinitionCode::Class { .. }
                | DefinitionCode::DefinedType { .. }
                | DefinitionCode::Application { .. }
                | DefinitionCode::Capability { .. }
                | DefinitionCode::TypeDefinition => {}
            }
        }
        Ok(())
    }

    /// Sets the type of an alias. An alias inside another one may be postponed until the outer one
    /// has a type.
    fn resolve(&self, postponed: PostponedAlias) -> EvalResult<Type> {
        let is_outermost = self.resolving.get() == 0;
        match postponed.alias.resolve(&postponed.body) {
            Ok(()) => {
                let ty = Type::from(postponed.alias);
                self.set_type(&postponed.key, Some(AliasState::Ready(ty.clone())));
                if is_outermost {
                    self.resolve_postponed()?;
                }
                Ok(ty)
            }
            Err(_) if !is_outermost => {
                let ty = Type::from(Arc::clone(&postponed.alias));
                self.postponed.borrow_mut().push(postponed);
                Ok(ty)
            }
            Err(error) => {
                self.set_type(&postponed.key, postponed.before);
                self.forget_postponed();
                raise(error.to_string())
            }
        }
    }

    /// Resolves the postponed aliases in order, since each may refer to those before it.
    fn resolve_postponed(&self) -> EvalResult<()> {
        let mut waiting = VecDeque::from(self.postponed.take());
        while let Some(next) = waiting.pop_front() {
            if let Err(unwind) = self.resolve(next) {
                self.postponed.replace(waiting.into());
                self.forget_postponed();
                return Err(unwind);
            }
        }
        Ok(())
    }

    /// Resets the aliases that depend on an alias that cannot be evaluated to their earlier state.
    fn forget_postponed(&self) {
        for postponed in self.postponed.take() {
            self.set_type(&postponed.key, postponed.before);
        }
    }

    /// Sets the state of a type name and returns the earlier state; `None` means not looked up yet.
    fn set_type(&self, key: &Arc<str>, state: Option<AliasState>) -> Option<AliasState> {
        let mut types = self.types.borrow_mut();
        match state {
            Some(state) => types.insert(Arc::clone(key), Some(state)),
            None => types.remove(key),
        }
        .flatten()
    }

    /// Reads the file that defines a name: from the environment for unqualified names, else from
    /// the module.
    pub(crate) fn read(
        &self,
        code: &dyn CodeSource,
        name: &str,
        folder: &str,
    ) -> EvalResult<Option<LocatedFile>> {
        let Some(path) = path_of(name) else {
            return Ok(None);
        };
        let found = match path.split_once('/') {
            None => {
                let in_environment =
                    code.read(CodeOwner::Environment, &format!("{folder}/{path}.pp"));
                match in_environment {
                    // the module's own name is its `init`
                    Ok(None) if code.module(&path).is_some() => {
                        self.owned(code, &path, &format!("{folder}/init.pp"))
                    }
                    other => other.map(|file| file.map(LocatedFile::of_environment)),
                }
            }
            Some(("environment", rest)) => code
                .read(
                    CodeOwner::Environment,
                    &format!("{folder}/environment/{rest}.pp"),
                )
                .map(|file| file.map(LocatedFile::of_environment)),
            Some((module, rest)) => self.owned(code, module, &format!("{folder}/{rest}.pp")),
        };
        match found {
            Ok(Some(located)) => {
                let path = Arc::clone(&located.file.path);
                self.owners.borrow_mut().insert(path, located.owner.clone());
                Ok(Some(located))
            }
            Ok(None) => Ok(None),
            Err(error) => raise(error.to_string()),
        }
    }

    fn owned(
        &self,
        code: &dyn CodeSource,
        module: &str,
        path: &str,
    ) -> Result<Option<LocatedFile>, CodeReadError> {
        let file = code.read(CodeOwner::Module(module), path)?;
        Ok(file.map(|file| LocatedFile {
            location: ModuleLocation::in_module(Path::new(&*file.path), module, Path::new(path)),
            file,
            owner: Some(module.into()),
        }))
    }

    /// Records the module that owns a file that was read by other means.
    pub(crate) fn set_file_owner(&self, path: &Arc<str>, module: Option<&str>) {
        self.owners
            .borrow_mut()
            .insert(Arc::clone(path), module.map(Arc::from));
    }

    /// The module that a unit belongs to; `None` for the environment and for texts without a file.
    pub(crate) fn module_of(&self, unit: &LoweredUnit) -> Option<Arc<str>> {
        let path = unit.path()?;
        self.owners.borrow().get(path).cloned().flatten()
    }

    /// True if the code of a unit may refer to functions and types of a module.
    fn sees(&self, code: &dyn CodeSource, caller: &LoweredUnit, module: &str) -> bool {
        // manifests see all modules
        if self.language == SourceLanguage::Manifest {
            return true;
        }
        let Some(own) = self.module_of(caller) else {
            return true;
        };
        if *own == *module || module == "environment" {
            return true;
        }
        match code.module(&own).and_then(|it| it.dependencies) {
            Some(dependencies) => dependencies.iter().any(|it| **it == *module),
            None => true,
        }
    }
}

/// Checks that a program defines each name only once.
fn check_unique(unit: &LoweredUnit) -> EvalResult<()> {
    let mut seen: FastHashMap<(&'static str, String), &LoweredDefinition> = FastHashMap::default();
    for definition in &unit.definitions {
        let kind = match definition.what {
            DefinitionCode::Function { .. } => "function",
            DefinitionCode::Alias { .. } => "type",
            DefinitionCode::Plan { .. }
            | DefinitionCode::Class { .. }
            | DefinitionCode::DefinedType { .. }
            | DefinitionCode::Application { .. }
            | DefinitionCode::Capability { .. }
            | DefinitionCode::TypeDefinition => continue,
        };
        let name = definition.name.to_lowercase();
        let place = |definition: &LoweredDefinition| {
            let written = &unit.ast.definitions()[definition.index];
            let is_alias = matches!(definition.what, DefinitionCode::Alias { .. });
            let span = if is_alias {
                written.name_span
            } else {
                written.span
            };
            unit.location_at(span.start)
        };
        if let Some(first) = seen.insert((kind, name.clone()), definition) {
            let (first, second) = (place(first), place(definition));
            let message = format!(
                "Attempt to redefine entity 'http://puppet.com/2016.1/runtime/{kind}/{name}'. Originally set at \
                 file://{}?line={}&pos={}.",
                first.file.as_deref().unwrap_or_default(),
                first.line,
                first.column
            );
            return Err(EvalError::preformatted(RUNTIME_ERROR, message, second).into());
        }
    }
    Ok(())
}

/// Converts `a::b` to `a/b`; `None` for an invalid name, which could lead outside of the directory.
fn path_of(name: &str) -> Option<String> {
    let segments: Vec<&str> = name.split("::").collect();
    let is_word = |segment: &&str| {
        segment.starts_with(|it: char| it.is_ascii_lowercase() || it == '_')
            && segment
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'_')
    };
    segments.iter().all(is_word).then(|| segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_become_paths() {
        assert_eq!(path_of("a::b").as_deref(), Some("a/b"));
        assert_eq!(path_of("_x").as_deref(), Some("_x"));
        assert_eq!(path_of("a::../etc"), None);
        assert_eq!(path_of("a::"), None);
        assert_eq!(path_of("a/b"), None);
    }
}
