//! Ruby workers for the compiler: [`RubyWorkerProvider`].
//!
//! Invariant: a compilation has one session, which is opened at its first call and ends with it.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::sync::Arc;

use compiler::{
    BlockArity, CompileInterrupt, ErbSource, InterruptibleWait, RubyCaller, RubyCode,
    RubyCodeBlock, RubyDataCall, RubyFunctionKind, RubyProvider, ruby_error,
};
use evaluator::{EvalResult, EvalUnwind, raise};
use lookup::LOOKUP_ERROR;
use pcore::{Hash, Value};
use resource_types::{ResourceType, ResourceTypeBuilder, ResourceTypeOrigin, TitlePattern};
use ruby_regex::RegexFlags;
use ruby_workers::{
    RubyAbort, RubyBlock, RubyBlockShape, RubyCallError, RubyCallbackError, RubyCallbacks,
    RubyEnvironment, RubyFunctionApi, RubyFunctionFile, RubyHieraCall, RubyInterrupt,
    RubyResourceType, RubySession, RubyTemplate, RubyTitlePattern, RubyVariable, RubyWorkers,
    list_ruby_functions,
};

/// Ruby of one environment version, run by workers.
#[derive(Debug)]
pub struct RubyWorkerProvider {
    workers: RubyWorkers,
    environment: RubyEnvironment,
    /// The functions that the environment has in Ruby.
    functions: Arc<HashMap<String, KnownFunction>>,
}

/// A function that an environment has in Ruby.
#[derive(Debug)]
struct KnownFunction {
    kind: RubyFunctionKind,
    /// The module with its only file for Puppet 4.
    module: Option<String>,
}

impl RubyWorkerProvider {
    #[must_use]
    pub fn new(workers: RubyWorkers, environment: RubyEnvironment) -> Self {
        let mut functions: HashMap<String, KnownFunction> = HashMap::new();
        for name in CORE_FUNCTIONS {
            let kind = RubyFunctionKind::Former;
            let module = None;
            functions.insert((*name).to_owned(), KnownFunction { kind, module });
        }
        for function in list_ruby_functions(&environment) {
            add_function(&mut functions, function);
        }
        Self {
            workers,
            functions: Arc::new(functions),
            environment,
        }
    }
}

/// Adds the function of a file. A function for Puppet 4 hides one for Puppet 3 with its name.
fn add_function(functions: &mut HashMap<String, KnownFunction>, file: RubyFunctionFile) {
    let (kind, module) = match file.api {
        RubyFunctionApi::V4 => (RubyFunctionKind::Modern, file.module),
        RubyFunctionApi::V3 => (RubyFunctionKind::Former, None),
    };
    match functions.entry(file.name) {
        Entry::Vacant(entry) => {
            entry.insert(KnownFunction { kind, module });
        }
        Entry::Occupied(mut entry) if kind == RubyFunctionKind::Modern => {
            let known = entry.get_mut();
            let is_first = known.kind == RubyFunctionKind::Former;
            known.module = module.filter(|_| is_first);
            known.kind = kind;
        }
        Entry::Occupied(_) => {}
    }
}

impl RubyProvider for RubyWorkerProvider {
    fn start(&self, interrupt: Option<&Arc<CompileInterrupt>>) -> Box<dyn RubyCode> {
        Box::new(WorkerCode {
            workers: self.workers.clone(),
            environment: self.environment.clone(),
            functions: Arc::clone(&self.functions),
            interrupt: interrupt.cloned(),
            session: OnceCell::new(),
        })
    }

    fn resource_type(
        &self,
        name: &str,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> Result<Option<ResourceType>, String> {
        let opened = OpenSession::open(&self.workers, &self.environment, interrupt)?;
        let found = opened.session.resource_type(name, &mut NoCompilation);
        match found.map_err(|error| error.to_string())? {
            Some(found) => resource_type(&found).map(Some),
            None => Ok(None),
        }
    }
}

/// The type as the compiler knows it.
fn resource_type(found: &RubyResourceType) -> Result<ResourceType, String> {
    let mut builder = ResourceTypeBuilder::new(&found.name, ResourceTypeOrigin::Ruby);
    let is_name = |name: &String| found.namevars.contains(name);
    for name in &found.properties {
        builder.add_property(name, is_name(name));
    }
    for name in &found.parameters {
        builder.add_parameter(name, is_name(name));
    }
    builder.set_isomorphic(found.isomorphic);
    let mut patterns = Vec::with_capacity(found.title_patterns.len());
    for RubyTitlePattern(source, ignore_case, multiline, attributes) in &found.title_patterns {
        let Some(attributes) = attributes else {
            return Err("its title patterns are computed by Ruby code".to_owned());
        };
        let flags = RegexFlags {
            ignore_case: *ignore_case,
            multiline: *multiline,
            ..RegexFlags::default()
        };
        let attributes: Vec<&str> = attributes.iter().map(String::as_str).collect();
        let pattern = TitlePattern::new(source, flags, &attributes);
        patterns.push(pattern.map_err(|error| error.to_string())?);
    }
    if !patterns.is_empty() {
        builder.set_title_patterns(patterns);
    }
    builder.build().map_err(|error| error.to_string())
}

/// Ruby of one compilation.
struct WorkerCode {
    workers: RubyWorkers,
    environment: RubyEnvironment,
    functions: Arc<HashMap<String, KnownFunction>>,
    /// Ends the calls early.
    interrupt: Option<Arc<CompileInterrupt>>,
    session: OnceCell<OpenSession>,
}

/// A session, which the interruption of its compilation ends.
struct OpenSession {
    session: RubySession,
    /// Passes the interruption on.
    _waiting: Option<InterruptibleWait>,
}

impl OpenSession {
    /// Waits for a session. The error is a message.
    fn open(
        workers: &RubyWorkers,
        environment: &RubyEnvironment,
        interrupt: Option<&Arc<CompileInterrupt>>,
    ) -> Result<Self, String> {
        let Some(interrupt) = interrupt else {
            let session = workers.session(environment);
            let session = session.map_err(|error| error.to_string())?;
            return Ok(Self {
                session,
                _waiting: None,
            });
        };
        let of_ruby = RubyInterrupt::new();
        let of_ruby =
            of_ruby.map_err(|error| format!("no Ruby process can be awaited: {error}"))?;
        let passed_on = of_ruby.clone();
        let waiting = interrupt.begin_wait(move || passed_on.interrupt());
        let session = workers.interruptible_session(environment, &of_ruby);
        Ok(Self {
            session: session.map_err(|error| error.to_string())?,
            _waiting: Some(waiting),
        })
    }
}

/// Functions of Puppet itself that run programs of the server, for which the workers have bounds.
const CORE_FUNCTIONS: [&str; 1] = ["generate"];

/// The exception of functions that provide data, whose message Puppet shows as it is.
const LOOKUP_EXCEPTION: &str = "Puppet::DataBinding::LookupError";

/// The block of a manifest that a call passes; each call has one at most.
const BLOCK: u32 = 0;

impl WorkerCode {
    fn session(&self) -> EvalResult<&RubySession> {
        if let Some(opened) = self.session.get() {
            return Ok(&opened.session);
        }
        let interrupt = self.interrupt.as_ref();
        match OpenSession::open(&self.workers, &self.environment, interrupt) {
            Ok(opened) => Ok(&self.session.get_or_init(|| opened).session),
            Err(error) => {
                self.check_interrupt()?;
                raise(error)
            }
        }
    }

    /// Fails with the reason of the compilation's interruption, which is better than its consequences.
    fn check_interrupt(&self) -> EvalResult<()> {
        match self.interrupt.as_ref().and_then(|it| it.reason()) {
            Some(reason) => raise(reason),
            None => Ok(()),
        }
    }

    /// The error of a call as the compiler reports it.
    fn failure(&self, error: RubyCallError) -> Box<EvalUnwind> {
        match self.check_interrupt() {
            Ok(()) => failure(error),
            Err(interrupted) => interrupted,
        }
    }
}

impl RubyCode for WorkerCode {
    fn find_function(&self, name: &str) -> Option<RubyFunctionKind> {
        self.functions.get(name).map(|known| known.kind)
    }

    fn function_module(&self, name: &str) -> Option<&str> {
        let module = self.functions.get(name)?.module.as_deref()?;
        // a function of a namespace belongs to the module of that name
        let owner = name.split_once("::").map(|(owner, _)| owner);
        owner.is_none_or(|owner| owner == module).then_some(module)
    }

    fn call_function(
        &self,
        name: &str,
        arguments: &[Value],
        block: Option<BlockArity>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult {
        let session = self.session()?;
        let block = block.map(block_shape);
        let mut callbacks = CallerCallbacks { caller };
        let result = session.call_function(name, arguments, block, &mut callbacks);
        result.map_err(|error| self.failure(error))
    }

    fn call_block(
        &self,
        block: RubyCodeBlock,
        arguments: &[Value],
        caller: &mut dyn RubyCaller,
    ) -> EvalResult {
        let session = self.session()?;
        let mut callbacks = CallerCallbacks { caller };
        let result = session.call_block(block.id, arguments, &mut callbacks);
        result.map_err(|error| self.failure(error))
    }

    fn call_data_function(
        &self,
        call: &RubyDataCall<'_>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult<Option<Value>> {
        let session = self.session()?;
        let call = RubyHieraCall {
            function: call.function.to_owned(),
            arguments: call.arguments.to_vec(),
            module: call.module.map(str::to_owned),
            cache: call.entry.to_owned(),
        };
        let mut callbacks = CallerCallbacks { caller };
        let found = session.call_hiera(&call, &mut callbacks);
        found.map_err(|error| match error {
            RubyCallError::Raised { exception, .. } if exception.class == LOOKUP_EXCEPTION => {
                let mut error = ruby_error(exception.message, None);
                error.code = LOOKUP_ERROR;
                error.into()
            }
            other => self.failure(other),
        })
    }

    fn render_erb(
        &self,
        template: ErbSource<'_>,
        caller: &mut dyn RubyCaller,
    ) -> EvalResult<String> {
        let session = self.session()?;
        let template = match template {
            ErbSource::Text(text) => RubyTemplate::Text(text.to_owned()),
            ErbSource::File(path) => RubyTemplate::File(path.into()),
        };
        let mut callbacks = CallerCallbacks { caller };
        let result = session.render_erb(&template, &mut callbacks);
        result.map_err(|error| self.failure(error))
    }
}

fn block_shape(arity: BlockArity) -> RubyBlockShape {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let most = arity.most.unwrap_or(arity.required);
    RubyBlockShape {
        id: BLOCK,
        required: count(arity.required),
        optional: count(most.saturating_sub(arity.required)),
        rest: arity.most.is_none(),
    }
}

/// A block of Ruby code, as the compiler passes it to a function.
fn code_block(block: &RubyBlock) -> RubyCodeBlock {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    let required = count(block.required);
    let most = required.saturating_add(count(block.optional));
    RubyCodeBlock {
        id: block.id(),
        arity: BlockArity {
            required,
            most: (!block.rest).then_some(most),
        },
    }
}

/// The error of a call as the compiler reports it.
fn failure(error: RubyCallError) -> Box<EvalUnwind> {
    match error {
        RubyCallError::Aborted { abort, .. } => match abort.0.downcast::<EvalUnwind>() {
            Ok(unwind) => unwind,
            Err(_) => ruby_error("the call was ended", None).into(),
        },
        RubyCallError::Raised { exception, .. } => {
            let line = exception.line.unwrap_or_default();
            let place = exception
                .file
                .as_deref()
                .map(Path::display)
                .map(|file| format!("{file}:{line}"));
            ruby_error(exception.message, place).into()
        }
        other => ruby_error(other.to_string(), None).into(),
    }
}

/// Questions of Ruby code, passed on to the compilation.
struct CallerCallbacks<'c> {
    caller: &'c mut dyn RubyCaller,
}

/// An error is raised in Ruby, where the code may rescue it. A jump of the program ends the call.
fn abort(unwind: Box<EvalUnwind>) -> RubyCallbackError {
    match &*unwind {
        EvalUnwind::Error(error) => RubyCallbackError::Raise(error.to_string()),
        _ => RubyCallbackError::Abort(RubyAbort(unwind)),
    }
}

/// The answers to code that runs outside of a compilation: files of types.
pub(crate) struct NoCompilation;

fn no_compilation<T>() -> Result<T, RubyCallbackError> {
    Err(RubyCallbackError::Raise(
        "no catalog is being compiled".to_owned(),
    ))
}

impl RubyCallbacks for NoCompilation {
    fn variable(&mut self, _: &str) -> Result<RubyVariable, RubyCallbackError> {
        Ok(RubyVariable::Unknown)
    }

    fn variables(&mut self, _: Option<&[String]>) -> Result<Hash, RubyCallbackError> {
        Ok(Hash::new())
    }

    fn has_function(&mut self, _: &str) -> bool {
        false
    }

    fn call_function(
        &mut self,
        _: &RubySession,
        _: &str,
        _: &[Value],
        _: Option<&RubyBlock>,
    ) -> Result<Value, RubyCallbackError> {
        no_compilation()
    }

    fn call_block(
        &mut self,
        _: &RubySession,
        _: u32,
        _: &[Value],
    ) -> Result<Value, RubyCallbackError> {
        no_compilation()
    }

    fn tags(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(Vec::new())
    }

    fn classes(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(Vec::new())
    }

    fn interpolate(&mut self, value: &Value) -> Result<Value, RubyCallbackError> {
        Ok(value.clone())
    }

    fn log(&mut self, _: &str, _: &str) {}
}

impl RubyCallbacks for CallerCallbacks<'_> {
    fn variable(&mut self, name: &str) -> Result<RubyVariable, RubyCallbackError> {
        match self.caller.variable(name).map_err(abort)? {
            Some(value) => Ok(RubyVariable::Value(value)),
            None => Ok(RubyVariable::Unknown),
        }
    }

    fn variables(&mut self, names: Option<&[String]>) -> Result<Hash, RubyCallbackError> {
        self.caller.variables(names).map_err(abort)
    }

    fn has_function(&mut self, name: &str) -> bool {
        self.caller.has_function(name)
    }

    fn call_function(
        &mut self,
        _: &RubySession,
        name: &str,
        arguments: &[Value],
        block: Option<&RubyBlock>,
    ) -> Result<Value, RubyCallbackError> {
        let block = block.map(code_block);
        self.caller
            .call_function(name, arguments.to_vec(), block)
            .map_err(abort)
    }

    fn call_block(
        &mut self,
        _: &RubySession,
        _: u32,
        arguments: &[Value],
    ) -> Result<Value, RubyCallbackError> {
        self.caller.call_block(arguments.to_vec()).map_err(abort)
    }

    fn declare_resource(
        &mut self,
        ty: &str,
        title: &Value,
        parameters: &Hash,
    ) -> Result<(), RubyCallbackError> {
        self.caller
            .declare_resource(ty, title, parameters)
            .map_err(abort)
    }

    fn tags(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(self.caller.tags())
    }

    fn classes(&mut self) -> Result<Vec<String>, RubyCallbackError> {
        Ok(self.caller.classes())
    }

    fn interpolate(&mut self, value: &Value) -> Result<Value, RubyCallbackError> {
        self.caller.interpolate(value).map_err(abort)
    }

    fn explain(&mut self, text: &str) {
        self.caller.explain(text);
    }

    fn log(&mut self, level: &str, message: &str) {
        self.caller.log(level, message);
    }
}
