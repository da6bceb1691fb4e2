//! One compilation as the host of the evaluator: [`Compilation`].
//!
//! Invariant: nothing of the state is borrowed while a program runs, since the program calls back.

use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::sync::Arc;

use evaluator::{EvalResult, LogLevel, SourceLocation, raise};
use lookup::{Lookup, LookupSettings};

use crate::defaults;
use crate::environment::CompilerEnvironment;
use crate::request::{CompileLog, CompileRequest};
use crate::ruby::RubyCode;
use crate::state::CompileState;

/// The host of one compilation.
pub(crate) struct Compilation<'e> {
    pub(crate) environment: &'e CompilerEnvironment,
    pub(crate) request: &'e CompileRequest,
    pub(crate) lookup: Lookup,
    pub(crate) state: RefCell<CompileState>,
    /// Ruby, started at its first use.
    pub(crate) ruby: OnceCell<Box<dyn RubyCode>>,
    /// Call of the manifest that runs code in Ruby now, whose own calls have no place.
    pub(crate) ruby_call_site: RefCell<Option<SourceLocation>>,
    /// Classes and defined resources that are being evaluated inside each other.
    pub(crate) depth: Cell<u32>,
    /// True for the graph of an environment's applications, in which no component or class is
    /// evaluated.
    pub(crate) is_graph: bool,
}

impl<'e> Compilation<'e> {
    pub(crate) fn new(environment: &'e CompilerEnvironment, request: &'e CompileRequest) -> Self {
        let settings = LookupSettings {
            settings: environment.settings.hiera.clone(),
            environment: environment.settings.name.clone(),
            strict_variables: true,
        };
        Self {
            environment,
            request,
            lookup: Lookup::new(settings, Arc::clone(&environment.data)),
            state: RefCell::new(CompileState::new()),
            ruby: OnceCell::new(),
            ruby_call_site: RefCell::default(),
            depth: Cell::new(0),
            is_graph: false,
        }
    }

    /// The compilation of an environment's graph; `request` has no node.
    pub(crate) fn of_environment(
        environment: &'e CompilerEnvironment,
        request: &'e CompileRequest,
    ) -> Self {
        Self {
            is_graph: true,
            ..Self::new(environment, request)
        }
    }

    /// The state, until the end of the statement or block. It must not be held while a program runs.
    pub(crate) fn state(&self) -> RefMut<'_, CompileState> {
        self.state.borrow_mut()
    }

    /// Fails if the compilation was interrupted.
    pub(crate) fn check_interrupt(&self) -> EvalResult<()> {
        let interrupt = self.request.interrupt.as_ref();
        match interrupt.and_then(|it| it.reason()) {
            Some(reason) => raise(reason),
            None => Ok(()),
        }
    }

    /// Place of a call in a manifest: its own, or that of the Ruby code that makes it.
    pub(crate) fn call_site(&self, own: SourceLocation) -> SourceLocation {
        match &*self.ruby_call_site.borrow() {
            Some(site) if own.file.is_none() => site.clone(),
            _ => own,
        }
    }

    /// Logs a message of the compiler or of a manifest.
    pub(crate) fn add_log(&self, level: LogLevel, message: &str, location: &SourceLocation) {
        let mut state = self.state();
        if state.logs.len() < defaults::LOGS_MAX {
            state.logs.push(CompileLog {
                level,
                message: message.to_owned(),
                location: location.clone(),
            });
        }
    }
}
