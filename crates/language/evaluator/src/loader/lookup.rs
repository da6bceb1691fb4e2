//! Functions and types of a name, which are parsed and evaluated at their first use: methods of
//! [`DefinitionLoader`].

use std::sync::Arc;

use pcore::Type;

use super::{AliasState, DefinitionLoader, LoadedFunction, LocatedFile, PostponedAlias};
use crate::Evaluator;
use crate::code::{DefinitionCode, LoweredDefinition, LoweredUnit};
use crate::error::{EvalResult, raise};
use crate::eval_context::EvalContext;

impl DefinitionLoader {
    /// Finds a function by its name, as seen from the code of `caller`.
    pub(crate) fn function(
        &self,
        evaluator: &mut Evaluator<'_>,
        caller: &LoweredUnit,
        name: &str,
    ) -> EvalResult<Option<LoadedFunction>> {
        let host = evaluator.host;
        if let Some((module, _)) = name.split_once("::")
            && !self.sees(host.code(), caller, module)
        {
            return Ok(None);
        }
        if let Some(known) = self.functions.borrow().get(name) {
            return Ok(known.clone());
        }
        let found = match self.read(host.code(), name, "functions")? {
            Some(file) => Some(self.function_in(evaluator, name, &file)?),
            None => None,
        };
        self.functions
            .borrow_mut()
            .insert(name.into(), found.clone());
        Ok(found)
    }

    fn function_in(
        &self,
        evaluator: &mut Evaluator<'_>,
        name: &str,
        located: &LocatedFile,
    ) -> EvalResult<LoadedFunction> {
        let path = &located.file.path;
        let unit = self.parse(located, evaluator)?;
        let definition = match unit.definitions.as_slice() {
            [] => {
                return raise(format!(
                    "The code loaded from {path} does not define the function '{name}' - it is empty."
                ));
            }
            [only] => only,
            _ => {
                return raise(format!(
                    "The code loaded from {path} must contain only the function '{name}' - it has additional definitions."
                ));
            }
        };
        let DefinitionCode::Function { code } = definition.what else {
            return raise(format!(
                "The code loaded from {path} does not define the function '{name}' - no function found."
            ));
        };
        if *definition.name != *name {
            return raise(format!(
                "The code loaded from {path} produced function with the wrong name, expected {name}, actual {}",
                definition.name
            ));
        }
        if !unit.is_only_a_definition() {
            return raise(format!(
                "The code loaded from {path} contains additional logic - can only contain the function {name}"
            ));
        }
        Ok(LoadedFunction { unit, code })
    }

    /// Finds a type alias by its name, as seen from the code of `caller`.
    pub(crate) fn alias(
        &self,
        evaluator: &mut Evaluator<'_>,
        caller: &LoweredUnit,
        name: &str,
    ) -> EvalResult<Option<Type>> {
        let host = evaluator.host;
        let lower = name.to_lowercase();
        if let Some((module, _)) = lower.split_once("::")
            && !self.sees(host.code(), caller, module)
        {
            return Ok(None);
        }
        let known = self.types.borrow().get(lower.as_str()).cloned();
        match known {
            Some(Some(AliasState::Ready(ty))) => return Ok(Some(ty)),
            Some(Some(AliasState::Declared(alias))) => return Ok(Some(Type::from(alias))),
            Some(Some(AliasState::Defined(unit, index))) => {
                return self
                    .define_alias(evaluator, &unit, &unit.definitions[index])
                    .map(Some);
            }
            Some(None) => return Ok(None),
            None => {}
        }
        let Some(located) = self.read(host.code(), &lower, "types")? else {
            self.types.borrow_mut().insert(lower.into(), None);
            return Ok(None);
        };
        let unit = self.parse(&located, evaluator)?;
        let path = &located.file.path;
        let definition = unit
            .definitions
            .iter()
            .find(|it| matches!(it.what, DefinitionCode::Alias { .. }))
            .filter(|_| unit.definitions.len() == 1);
        let Some(definition) = definition else {
            return raise(format!(
                "The code loaded from {path} does not define the type '{name}'"
            ));
        };
        if !definition.name.eq_ignore_ascii_case(name) {
            return raise(format!(
                "The code loaded from {path} produced type with the wrong name, expected {name}, actual {}",
                definition.name
            ));
        }
        self.define_alias(evaluator, &unit, definition).map(Some)
    }

    /// Evaluates an alias. Meanwhile the name refers to the alias itself, so that it may be
    /// recursive.
    fn define_alias(
        &self,
        evaluator: &mut Evaluator<'_>,
        unit: &Arc<LoweredUnit>,
        definition: &LoweredDefinition,
    ) -> EvalResult<Type> {
        let DefinitionCode::Alias { body: body_id } = definition.what else {
            return raise("not an alias");
        };
        let key: Arc<str> = definition.name.to_lowercase().into();
        let alias = pcore::NamedTypeAlias::declare(Arc::clone(&definition.name));
        let before = self.set_type(&key, Some(AliasState::Declared(Arc::clone(&alias))));
        let cx = EvalContext { unit, frame: None };
        self.resolving.set(self.resolving.get() + 1);
        let body = evaluator.type_of_node(cx, body_id);
        self.resolving.set(self.resolving.get() - 1);
        match body {
            Ok(body) => self.resolve(PostponedAlias {
                key,
                alias,
                body,
                before,
            }),
            Err(unwind) => {
                self.set_type(&key, before);
                if self.resolving.get() == 0 {
                    self.forget_postponed();
                }
                Err(unwind)
            }
        }
    }

    fn parse(
        &self,
        located: &LocatedFile,
        evaluator: &Evaluator<'_>,
    ) -> EvalResult<Arc<LoweredUnit>> {
        let location = located.location.as_ref();
        self.parsed
            .parse_file(&located.file, self.language, location, evaluator.stack)
    }
}
