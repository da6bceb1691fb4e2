//! Lookups for programs: [`Lookup`].

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{Eval, Evaluator, LogLevel, SourceLocation, VariableScope, raise};
use hiera::{Cache, FileIdentity, Request, Session, Settings, Trail};
use pcore::{Hash, Value};

use crate::Files;
use crate::active::Active;
use crate::asked::Asked;
use crate::context::Asking;
use crate::keys::Keys;
use crate::world::{World, settled};

/// The options of a [`Lookup`].
#[derive(Debug, Clone)]
pub struct Options {
    pub settings: Settings,
    /// The environment's name, as backends see it.
    pub environment: String,
    /// True if it is an error when data refer to an undefined variable.
    pub strict_variables: bool,
}

/// The lookups of one compilation or plan, of all its stacks.
#[derive(Debug)]
pub struct Lookup {
    pub(crate) session: Session,
    pub(crate) environment: Arc<str>,
    pub(crate) strict_variables: bool,
    pub(crate) keys: Keys,
    pub(crate) active: Active,
    /// The cached values and answers of backends, by the place from which they were called.
    kept: RefCell<HashMap<Arc<Asking>, Kept>>,
    /// The results of backends for files, by path and file state.
    pub(crate) file_data: RefCell<HashMap<PathBuf, (FileIdentity, Value)>>,
    /// Functions for which a warning was already logged.
    warned: RefCell<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct Kept {
    cache: Hash,
    answers: Hash,
}

impl Lookup {
    #[must_use]
    pub fn new(options: Options, cache: Arc<Cache>) -> Self {
        Self {
            session: Session::new(options.settings, cache),
            environment: options.environment.into(),
            strict_variables: options.strict_variables,
            keys: Keys::default(),
            active: Active::default(),
            kept: RefCell::default(),
            file_data: RefCell::default(),
            warned: RefCell::default(),
        }
    }

    /// Executes `lookup`, `hiera`, `hiera_array` or `hiera_hash`: for `Host::lookup`.
    pub fn call(
        &self,
        files: &dyn Files,
        evaluator: &mut Evaluator<'_>,
        call: &mut CallArguments<'_>,
    ) -> Eval {
        let (scope, place) = (call.scope(), call.place());
        let is_old = call.name != "lookup";
        let asked = match is_old {
            true => Asked::hiera(call),
            false => Asked::lookup(call),
        };
        let mut request = asked.request(call.block.is_some());
        if is_old {
            self.deprecated(evaluator, call);
            request.global_only = self.global_only(files, evaluator, (&scope, &place), &asked)?;
        }
        let trail = Rc::new(Trail::new());
        let found = self.found(files, evaluator, &scope, (&request, &trail, &place))?;
        if let Some(value) = found {
            return Ok(value);
        }
        let Some(block) = call.block else {
            return Err(settled(request.not_found(), &place));
        };
        let value = evaluator.call_block_with(block, vec![asked.name.clone()])?;
        let Some(ty) = &asked.value_type else {
            return Ok(value);
        };
        match pcore::assert_instance("Value returned from default block", ty, &value) {
            Ok(()) => Ok(value),
            Err(mismatch) => raise(mismatch.to_string()),
        }
    }

    /// Performs a lookup with the variables of a scope; `None` if nothing was found and there is no
    /// default. Within another lookup of the same stack, the trail of that lookup is used.
    pub fn find(
        &self,
        files: &dyn Files,
        evaluator: &mut Evaluator<'_>,
        scope: &VariableScope,
        (request, trail): (&Request<'_>, &Rc<Trail>),
    ) -> Eval<Option<Value>> {
        let nowhere = SourceLocation::default();
        self.found(files, evaluator, scope, (request, trail, &nowhere))
    }

    fn found(
        &self,
        files: &dyn Files,
        evaluator: &mut Evaluator<'_>,
        scope: &VariableScope,
        (request, trail, place): (&Request<'_>, &Rc<Trail>, &SourceLocation),
    ) -> Eval<Option<Value>> {
        let outer = self.active.on(evaluator);
        let trail = outer.as_ref().map_or(trail, |outer| &outer.trail);
        let mut request = request.clone();
        request.global_only |= outer.as_ref().is_some_and(|outer| outer.global_only);
        let lookup = self
            .active
            .begin(evaluator, Rc::clone(trail), scope.clone(), &request);
        let mut world = World::new(self, files, evaluator, scope);
        let found = self.session.lookup(&mut world, &request, trail);
        let found = world.done(found, place);
        self.active.end(&lookup);
        found
    }

    /// Hiera 3 has the global layer only; so do its functions if the environment's configuration is
    /// not of version 5.
    fn global_only(
        &self,
        files: &dyn Files,
        evaluator: &mut Evaluator<'_>,
        (scope, place): (&VariableScope, &SourceLocation),
        asked: &Asked,
    ) -> Eval<bool> {
        let mut world = World::new(self, files, evaluator, scope);
        let versions = self.session.versions(&mut world);
        let (global, environment) = world.done(versions, place)?;
        if asked.has_paths && global == Some(3) {
            return raise(
                "the third argument of hiera() is not supported with a configuration of version 3: \
                 name the paths in the hierarchy",
            );
        }
        Ok(environment.is_none_or(|version| version < 5))
    }

    fn deprecated(&self, evaluator: &Evaluator<'_>, call: &CallArguments<'_>) {
        if self.warned.borrow_mut().insert(call.name.to_owned()) {
            let name = call.name;
            let text = format!("The function '{name}' is deprecated in favor of using 'lookup'.");
            evaluator
                .host()
                .log(LogLevel::Warning, &text, &call.place());
        }
    }

    /// Runs a function on the cached values of a backend.
    pub(crate) fn keep<T>(&self, asking: &Arc<Asking>, change: impl FnOnce(&mut Hash) -> T) -> T {
        let mut kept = self.kept.borrow_mut();
        change(&mut kept.entry(Arc::clone(asking)).or_default().cache)
    }

    /// The cached answer of a backend; `None` if it was not called for this key.
    pub(crate) fn answer(&self, asking: &Arc<Asking>, key: &Value) -> Option<Value> {
        self.kept.borrow().get(asking)?.answers.get(key).cloned()
    }

    pub(crate) fn answered(&self, asking: &Arc<Asking>, key: Value, value: Value) {
        let mut kept = self.kept.borrow_mut();
        let kept = kept.entry(Arc::clone(asking)).or_default();
        kept.answers.insert(key, value);
    }
}
