//! Entry points for a compiler: manifests, and the bodies of classes, defined types and node blocks.
//!
//! Invariant: parameters are set and checked by the compiler before a body runs.

use std::rc::Rc;
use std::sync::Arc;

use pcore::{Hash, StructElement, Type, Value};
use syntax::{ModuleLocation, SourceText};

use super::closure::catch_return;
use super::{EvalContext, Evaluator};
use crate::budget::StackBudget;
use crate::catalog_code::NodeHost;
use crate::code::{DefinitionCode, LoweredUnit};
use crate::code_source::SourceFile;
use crate::error::{EvalResult, EvalUnwind, SourceLocation, raise};
use crate::frame::{CatalogScopeId, VariableFrame};
use crate::host::ApplyBlock;
use crate::lower::{self, BUILT_IN_VARIABLES};
use crate::parse;
use crate::regex_matches::RegexMatch;
use crate::source_language::{FileScope, SourceLanguage};
use crate::variable_scope::VariableScope;

/// A parsed manifest, which compilations of one environment share.
#[derive(Debug, Clone)]
pub struct Manifest {
    pub(super) unit: Arc<LoweredUnit>,
}

/// Body of a class, a defined type, an application, a capability, a node block or a site, with its
/// parameters.
#[derive(Debug, Clone)]
pub struct CatalogBody {
    pub(super) unit: Arc<LoweredUnit>,
    pub(super) code: u32,
    pub(super) at: u32,
}

/// A class of a manifest.
#[derive(Debug, Clone)]
pub struct ManifestClass {
    /// Name in lower case.
    pub name: Arc<str>,
    /// Name of the class that it inherits, as written.
    pub parent: Option<Arc<str>>,
    pub code: CatalogBody,
}

/// A defined type of a manifest.
#[derive(Debug, Clone)]
pub struct ManifestDefinedType {
    /// Name in lower case.
    pub name: Arc<str>,
    pub code: CatalogBody,
}

/// A node block of a manifest.
#[derive(Debug, Clone)]
pub struct ManifestNode {
    pub hosts: Box<[NodeHost]>,
    pub code: CatalogBody,
}

/// The variables that a class, a resource of a defined type and a node block have besides their
/// parameters.
#[derive(Debug)]
pub struct BuiltInVariables {
    pub title: Value,
    pub name: Value,
    /// `None` outside of modules: the variable is not set.
    pub module_name: Option<Value>,
    pub caller_module_name: Option<Value>,
}

/// The part of a text that is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementsPlace {
    /// All of the text, with its definitions.
    Whole,
    /// The statements that begin at these bytes, where Puppet reports the place of each. They are an `apply`
    /// block of a plan, or all statements of the text.
    Offsets(Vec<u32>),
}

impl Manifest {
    /// Parses statements of a text. `None` if the text has none at this place.
    ///
    /// # Errors
    /// The text has a syntax error, or is nested too deeply for a stack of `stack_bytes` below the caller.
    pub fn parse_place(
        source: &Arc<SourceText>,
        place: &StatementsPlace,
        stack_bytes: usize,
    ) -> EvalResult<Option<Self>> {
        let stack = StackBudget::from_here(stack_bytes);
        let unit = match place {
            StatementsPlace::Whole => {
                let (text, name) = (source.text(), source.name());
                let (name, language) = (name.map(|it| &**it), SourceLanguage::Manifest);
                Some(parse::text_unit(
                    text,
                    name,
                    language,
                    FileScope::Top,
                    stack,
                )?)
            }
            StatementsPlace::Offsets(offsets) => parse::statements_unit(source, offsets, stack)?,
        };
        Ok(unit.map(|unit| Self { unit }))
    }

    /// True if the manifest defines classes, defined types, functions or type aliases.
    #[must_use]
    pub fn has_definitions(&self) -> bool {
        !self.unit.definitions.is_empty()
    }

    /// The classes, in the order of the text; nested ones come before those around them.
    #[must_use]
    pub fn classes(&self) -> Vec<ManifestClass> {
        let definitions = self.unit.definitions.iter();
        definitions
            .filter_map(|definition| match definition.what {
                DefinitionCode::Class { code } => Some(ManifestClass {
                    name: definition.name.to_lowercase().into(),
                    parent: self.parent(definition.index),
                    code: self.code(code, definition.index),
                }),
                _ => None,
            })
            .collect()
    }

    #[must_use]
    pub fn defined_types(&self) -> Vec<ManifestDefinedType> {
        let definitions = self.unit.definitions.iter();
        definitions
            .filter_map(|definition| match definition.what {
                DefinitionCode::DefinedType { code } => Some(ManifestDefinedType {
                    name: definition.name.to_lowercase().into(),
                    code: self.code(code, definition.index),
                }),
                _ => None,
            })
            .collect()
    }

    #[must_use]
    pub fn node_blocks(&self) -> Vec<ManifestNode> {
        let blocks = self.unit.node_blocks.iter();
        blocks
            .map(|block| ManifestNode {
                hosts: block.hosts.clone(),
                code: CatalogBody {
                    unit: Arc::clone(&self.unit),
                    code: block.code,
                    at: block.at,
                },
            })
            .collect()
    }

    pub(super) fn code(&self, code: u32, definition: usize) -> CatalogBody {
        CatalogBody {
            unit: Arc::clone(&self.unit),
            code,
            at: self.unit.ast.definitions()[definition].span.start,
        }
    }

    fn parent(&self, definition: usize) -> Option<Arc<str>> {
        let ast = &self.unit.ast;
        match ast.definitions()[definition].kind {
            syntax::ast::DefinitionKind::Class(class) => {
                class.parent.map(|it| Arc::clone(ast.text(it)))
            }
            _ => None,
        }
    }
}

impl CatalogBody {
    /// Position of the definition.
    #[must_use]
    pub fn location(&self) -> SourceLocation {
        self.unit.location_at(self.at)
    }

    /// Number of parameters of the class or defined type; 0 for a node block.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        self.unit.code(self.code).parameters.len()
    }

    /// Name of each parameter, and true if it has a default, in order.
    pub fn parameters(&self) -> impl Iterator<Item = (&Arc<str>, bool)> {
        let parameters = self.unit.code(self.code).parameters.iter();
        parameters.map(|it| (&it.name, it.default.is_some()))
    }

    /// Index of a parameter by its name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<usize> {
        let slot = self.unit.code(self.code).slot_of(name)?;
        (slot < self.parameter_count()).then_some(slot)
    }
}

impl Evaluator<'_> {
    /// Parses a manifest. Compilations may share it. `location` is its place in a module; `None`
    /// for the site manifest.
    pub fn parse_manifest(
        &mut self,
        file: &SourceFile,
        location: Option<&ModuleLocation>,
    ) -> EvalResult<Manifest> {
        let loader = &self.shared.loader;
        let parsed = loader.parsed();
        let unit = parsed.parse_file(file, loader.language(), location, self.stack)?;
        Ok(Manifest { unit })
    }

    /// The statements of an `apply` block of a plan as a manifest, which other evaluations may run.
    pub fn apply_block_manifest(&self, block: &ApplyBlock<'_>) -> EvalResult<Manifest> {
        let ast = Arc::clone(block.ast);
        let unit = lower::apply_block(ast, block.expression, self.stack)?;
        Ok(Manifest { unit })
    }

    /// Parses statements as a manifest without definitions, which other evaluations may run.
    pub fn parse_statements(&self, text: &str, file: Option<&str>) -> EvalResult<Manifest> {
        let language = SourceLanguage::Manifest;
        let unit = parse::text_unit(text, file, language, FileScope::Top, self.stack)?;
        Ok(Manifest { unit })
    }

    /// Makes the functions and type aliases of a manifest known to this evaluation. `module` owns
    /// the file; `None` for the environment.
    pub fn register_manifest(
        &mut self,
        manifest: &Manifest,
        module: Option<&str>,
    ) -> EvalResult<()> {
        let loader = &self.shared.loader;
        if let Some(path) = manifest.unit.path() {
            loader.set_file_owner(path, module);
        }
        loader.define(&manifest.unit)
    }

    /// Evaluates the statements outside of definitions in the top scope.
    pub fn run_statements(&mut self, manifest: &Manifest) -> EvalResult {
        let unit = &manifest.unit;
        let cx = EvalContext { unit, frame: None };
        self.eval(cx, unit.code(unit.main).body)
    }

    /// Makes the scope of a class, a resource of a defined type or a node block. `parent` is the
    /// scope of the inherited class, else of the node block, else the top scope.
    pub fn open_scope(
        &mut self,
        code: &CatalogBody,
        parent: &VariableScope,
        id: CatalogScopeId,
        built_in: BuiltInVariables,
        is_node_block: bool,
    ) -> VariableScope {
        let parent = parent.frame.as_ref();
        let frame =
            VariableFrame::new_catalog_scope(&code.unit, code.code, parent, id, is_node_block);
        let values = [
            Some(built_in.title),
            Some(built_in.name),
            built_in.module_name,
            built_in.caller_module_name,
        ];
        debug_assert_eq!(values.len(), BUILT_IN_VARIABLES.len());
        for (index, value) in (code.parameter_count()..).zip(values) {
            if let (Ok(slot), Some(value)) = (u16::try_from(index), value) {
                frame.set(slot, value);
            }
        }
        VariableScope::new(Some(frame))
    }

    /// Evaluates the default of a parameter; `label` is the class or resource in error texts.
    pub fn parameter_default(
        &mut self,
        code: &CatalogBody,
        scope: &VariableScope,
        index: usize,
        label: &dyn Fn() -> String,
    ) -> EvalResult {
        let body = code.unit.code(code.code);
        let (Some(frame), Some(parameter)) = (&scope.frame, body.parameters.get(index)) else {
            return Ok(Value::Undef);
        };
        let result = self.default_of(&code.unit, frame, parameter);
        result.map_err(|unwind| match *unwind {
            EvalUnwind::Error(mut error) if error.location.is_none() => {
                if let Some(rest) = error.message.strip_prefix(&*body.name) {
                    error.message = format!("{}{rest}", label());
                }
                error.into()
            }
            other => Box::new(other),
        })
    }

    /// Types of the parameters, in order.
    pub fn parameter_types(&mut self, code: &CatalogBody) -> EvalResult<Rc<[Type]>> {
        let key = (Arc::as_ptr(&code.unit).addr(), code.code);
        if let Some((_, types)) = self.shared.parameter_types.borrow().get(&key) {
            return Ok(Rc::clone(types));
        }
        let cx = EvalContext {
            unit: &code.unit,
            frame: None,
        };
        let body = code.unit.code(code.code);
        let mut types = Vec::with_capacity(body.parameters.len());
        for parameter in &body.parameters {
            types.push(match parameter.ty {
                Some(ty) => self.type_of_node(cx, ty)?,
                None => Type::any(),
            });
        }
        let types: Rc<[Type]> = types.into();
        self.shared
            .parameter_types
            .borrow_mut()
            .insert(key, (Arc::clone(&code.unit), Rc::clone(&types)));
        Ok(types)
    }

    /// Error for parameters that a class or defined type does not accept. `given` has no
    /// metaparameters.
    pub fn parameter_mismatch(
        &mut self,
        code: &CatalogBody,
        label: &str,
        given: &Hash,
    ) -> EvalResult<()> {
        self.parameter_mismatch_besides(code, label, given, |_| false)
    }

    /// The same, where the parameters for which `is_optional` is true may be missing even if they
    /// have no default.
    pub fn parameter_mismatch_besides(
        &mut self,
        code: &CatalogBody,
        label: &str,
        given: &Hash,
        is_optional: impl Fn(&str) -> bool,
    ) -> EvalResult<()> {
        let types = self.parameter_types(code)?;
        let body = code.unit.code(code.code);
        let elements: Vec<StructElement> = body
            .parameters
            .iter()
            .zip(types.iter())
            .map(|(it, ty)| {
                let may_miss = it.default.is_some() || is_optional(&it.name);
                StructElement::new(Arc::clone(&it.name), may_miss, ty.clone())
            })
            .collect();
        match pcore::describe_parameters(label, &elements, given, false, |_| false) {
            Ok(()) => Ok(()),
            Err(mismatch) => raise(mismatch.to_string()),
        }
    }

    /// Runs the body of a class, a resource of a defined type or a node block. `matches` are the
    /// groups of the pattern by which a node block was chosen.
    pub fn run_catalog_code(
        &mut self,
        code: &CatalogBody,
        scope: &VariableScope,
        matches: Option<Vec<Option<Arc<str>>>>,
    ) -> EvalResult<()> {
        self.enter_call()?;
        let matches = matches.map(|groups| Rc::new(RegexMatch::from_groups(groups)));
        let saved = std::mem::replace(&mut self.matches, matches);
        let cx = EvalContext {
            unit: &code.unit,
            frame: scope.frame.as_ref(),
        };
        let around = self.enter_region();
        let result = catch_return(self.eval(cx, code.unit.code(code.code).body), true);
        let result = self.leave_region(around, result);
        self.matches = saved;
        self.calls -= 1;
        result.map(drop)
    }
}
