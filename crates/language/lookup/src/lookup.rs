//! Lookups for programs: [`Lookup`].

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use evaluator::function::CallArguments;
use evaluator::{EvalResult, Evaluator, LogLevel, SourceLocation, VariableScope, raise};
use hiera::{
    DataFileCache, FileIdentity, HieraSettings, LookupRequest, LookupSession, LookupTrail,
};
use pcore::{Hash, Value};

use crate::LookupFiles;
use crate::active_lookups::ActiveLookups;
use crate::arguments::LookupArguments;
use crate::context::FunctionCallSite;
use crate::evaluator_host::{EvaluatorLookupHost, settled_error};
use crate::keys::EyamlKeyCache;

/// The options of a [`Lookup`].
#[derive(Debug, Clone)]
pub struct LookupSettings {
    pub settings: HieraSettings,
    /// The environment's name, as backends see it.
    pub environment: String,
    /// True if it is an error when data refer to an undefined variable.
    pub strict_variables: bool,
}

/// The lookups of one compilation or plan, of all its stacks.
#[derive(Debug)]
pub struct Lookup {
    pub(crate) session: LookupSession,
    pub(crate) environment: Arc<str>,
    pub(crate) strict_variables: bool,
    pub(crate) keys: EyamlKeyCache,
    pub(crate) active: ActiveLookups,
    /// The cached values and answers of backends, by the place from which they were called.
    cached_answers: RefCell<HashMap<Arc<FunctionCallSite>, CachedAnswers>>,
    /// The results of backends for files, by path and file state.
    pub(crate) file_data: RefCell<HashMap<PathBuf, (FileIdentity, Value)>>,
    /// Functions for which a warning was already logged.
    warned: RefCell<BTreeSet<String>>,
}

#[derive(Debug, Default)]
struct CachedAnswers {
    cache: Hash,
    answers: Hash,
}

impl Lookup {
    #[must_use]
    pub fn new(options: LookupSettings, cache: Arc<DataFileCache>) -> Self {
        Self {
            session: LookupSession::new(options.settings, cache),
            environment: options.environment.into(),
            strict_variables: options.strict_variables,
            keys: EyamlKeyCache::default(),
            active: ActiveLookups::default(),
            cached_answers: RefCell::default(),
            file_data: RefCell::default(),
            warned: RefCell::default(),
        }
    }

    /// The keys for which lookups have found values until now.
    #[must_use]
    pub fn found_keys(&self) -> Vec<String> {
        self.session.found_keys()
    }

    /// Executes `lookup`, `hiera`, `hiera_array` or `hiera_hash`: for `EvaluationHost::lookup`.
    pub fn call(
        &self,
        files: &dyn LookupFiles,
        evaluator: &mut Evaluator<'_>,
        call: &mut CallArguments<'_>,
    ) -> EvalResult {
        let (scope, place) = (call.scope(), call.location());
        let is_old = call.name != "lookup";
        let asked = match is_old {
            true => LookupArguments::hiera(call),
            false => LookupArguments::lookup(call),
        };
        let mut request = asked.request(call.block.is_some());
        if is_old {
            self.warn_deprecated(evaluator, call);
            request.global_only =
                self.is_global_only(files, evaluator, (&scope, &place), &asked)?;
        }
        let trail = Rc::new(LookupTrail::new());
        let found = self.look_up(files, evaluator, &scope, (&request, &trail, &place))?;
        if let Some(value) = found {
            return Ok(value);
        }
        let Some(block) = call.block else {
            return Err(settled_error(request.not_found(), &place));
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
        files: &dyn LookupFiles,
        evaluator: &mut Evaluator<'_>,
        scope: &VariableScope,
        (request, trail): (&LookupRequest<'_>, &Rc<LookupTrail>),
    ) -> EvalResult<Option<Value>> {
        let nowhere = SourceLocation::default();
        self.look_up(files, evaluator, scope, (request, trail, &nowhere))
    }

    fn look_up(
        &self,
        files: &dyn LookupFiles,
        evaluator: &mut Evaluator<'_>,
        scope: &VariableScope,
        (request, trail, place): (&LookupRequest<'_>, &Rc<LookupTrail>, &SourceLocation),
    ) -> EvalResult<Option<Value>> {
        let outer = self.active.current(evaluator);
        let trail = outer.as_ref().map_or(trail, |outer| &outer.trail);
        let mut request = request.clone();
        request.global_only |= outer.as_ref().is_some_and(|outer| outer.global_only);
        let lookup = self
            .active
            .begin(evaluator, Rc::clone(trail), scope.clone(), &request);
        let mut world = EvaluatorLookupHost::new(self, files, evaluator, scope);
        let found = self.session.lookup(&mut world, &request, trail);
        let found = world.finish(found, place);
        self.active.end(&lookup);
        found
    }

    /// Hiera 3 has the global layer only; so do its functions if the environment's configuration is
    /// not of version 5.
    fn is_global_only(
        &self,
        files: &dyn LookupFiles,
        evaluator: &mut Evaluator<'_>,
        (scope, place): (&VariableScope, &SourceLocation),
        asked: &LookupArguments,
    ) -> EvalResult<bool> {
        let mut world = EvaluatorLookupHost::new(self, files, evaluator, scope);
        let versions = self.session.versions(&mut world);
        let (global, environment) = world.finish(versions, place)?;
        if asked.has_paths && global == Some(3) {
            return raise(
                "the third argument of hiera() is not supported with a configuration of version 3: \
                 name the paths in the hierarchy",
            );
        }
        Ok(environment.is_none_or(|version| version < 5))
    }

    fn warn_deprecated(&self, evaluator: &Evaluator<'_>, call: &CallArguments<'_>) {
        if self.warned.borrow_mut().insert(call.name.to_owned()) {
            let name = call.name;
            let text = format!("The function '{name}' is deprecated in favor of using 'lookup'.");
            evaluator
                .host()
                .log(LogLevel::Warning, &text, &call.location());
        }
    }

    /// Runs a function on the cached values of a backend.
    pub(crate) fn change_cache<T>(
        &self,
        asking: &Arc<FunctionCallSite>,
        change: impl FnOnce(&mut Hash) -> T,
    ) -> T {
        let mut kept = self.cached_answers.borrow_mut();
        change(&mut kept.entry(Arc::clone(asking)).or_default().cache)
    }

    /// The cached answer of a backend; `None` if it was not called for this key.
    pub(crate) fn cached_answer(
        &self,
        asking: &Arc<FunctionCallSite>,
        key: &Value,
    ) -> Option<Value> {
        self.cached_answers
            .borrow()
            .get(asking)?
            .answers
            .get(key)
            .cloned()
    }

    pub(crate) fn store_answer(&self, asking: &Arc<FunctionCallSite>, key: Value, value: Value) {
        let mut kept = self.cached_answers.borrow_mut();
        let kept = kept.entry(Arc::clone(asking)).or_default();
        kept.answers.insert(key, value);
    }
}
