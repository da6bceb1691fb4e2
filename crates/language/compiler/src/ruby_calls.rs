//! Calls of Ruby code from manifests, and its access to the compilation.
//!
//! Invariant: Ruby code reaches a compilation in the scope of the call. A block of Ruby code runs in the
//! scope of the Ruby code that passed it.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use evaluator::function::CallArguments;
use evaluator::{
    CodeBlock, EvalResult, Evaluator, ForeignBlock, ForeignDataCall, SourceLocation, VariableScope,
    raise,
};
use pcore::{Hash, Value};

use crate::compilation::Compilation;
use crate::functions::create_from_hash;
use crate::native_calls::plain_name;
use crate::ruby::{
    BlockArity, ErbSource, RubyCaller, RubyCode, RubyCodeBlock, RubyDataCall, RubyFunctionKind,
};

impl Compilation<'_> {
    /// Ruby for this compilation; `None` if the environment has none.
    pub(crate) fn ruby(&self) -> Option<&dyn RubyCode> {
        let provider = self.environment.settings.ruby.as_ref()?;
        let interrupt = self.request.interrupt.as_ref();
        Some(&**self.ruby.get_or_init(|| provider.start(interrupt)))
    }

    /// Calls a function in Ruby; `None` if there is none with that name.
    pub(crate) fn call_ruby(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &CallArguments<'_>,
    ) -> Option<EvalResult> {
        let native = match call.block {
            None => self.call_native_function(
                evaluator,
                (call.name, &call.arguments),
                call.scope().global(),
                0,
            ),
            Some(_) => None,
        };
        if let Some(value) = native {
            return Some(charged(evaluator, Ok(value)));
        }
        let ruby = self.ruby()?;
        let kind = ruby.find_function(call.name)?;
        let block = call.block.map(|block| {
            let (required, most) = block.arity();
            BlockArity { required, most }
        });
        let own = call.scope();
        let mut caller = CompilationCaller {
            compilation: self,
            evaluator,
            acting_scope: match kind {
                RubyFunctionKind::Modern => own.global(),
                RubyFunctionKind::Former => own.clone(),
            },
            scope: own,
            block: call.block,
            lookup_context: None,
            location: call.location(),
        };
        let outer = self.ruby_call_site.replace(Some(call.location()));
        let since = Instant::now();
        let result = ruby.call_function(call.name, &call.arguments, block, &mut caller);
        self.ruby_call_site.replace(outer);
        self.state().ruby_calls.add(call.name, since.elapsed());
        Some(charged(evaluator, result))
    }

    /// Calls a block that Ruby code passed to a function of the compiler.
    pub(crate) fn call_ruby_block(
        &self,
        evaluator: &mut Evaluator<'_>,
        block: &ForeignBlock,
        arguments: &[Value],
    ) -> EvalResult {
        let (Some(ruby), Some(passed)) = (self.ruby(), block.code.downcast_ref::<PassedBlock>())
        else {
            return raise("the block cannot be called here");
        };
        let mut caller = CompilationCaller {
            compilation: self,
            evaluator,
            scope: passed.scope.clone(),
            acting_scope: passed.acting_scope.clone(),
            block: passed.outer.as_ref(),
            lookup_context: passed.lookup_context.as_ref(),
            location: passed.location.clone(),
        };
        let result = ruby.call_block(passed.block, arguments, &mut caller);
        charged(evaluator, result)
    }

    /// Calls a function in Ruby that provides data of Hiera; `None` if there is none with that name.
    pub(crate) fn call_ruby_data(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &ForeignDataCall<'_>,
    ) -> Option<EvalResult<Option<Value>>> {
        let ruby = self.ruby()?;
        ruby.find_function(call.function)?;
        let mut caller = CompilationCaller {
            compilation: self,
            evaluator,
            acting_scope: call.scope.global(),
            scope: call.scope.global(),
            block: None,
            lookup_context: Some(call.context),
            location: SourceLocation::default(),
        };
        let data_call = RubyDataCall {
            function: call.function,
            arguments: call.arguments,
            module: call.module,
            entry: call.entry,
        };
        let since = Instant::now();
        let result = ruby.call_data_function(&data_call, &mut caller);
        self.state().ruby_calls.add(call.function, since.elapsed());
        Some(result)
    }

    /// Renders an ERB template; `None` if there is no Ruby.
    pub(crate) fn render_with_ruby(
        &self,
        evaluator: &mut Evaluator<'_>,
        call: &CallArguments<'_>,
        template: ErbSource<'_>,
    ) -> Option<EvalResult<String>> {
        let ruby = self.ruby()?;
        let mut caller = CompilationCaller {
            compilation: self,
            evaluator,
            acting_scope: call.scope(),
            scope: call.scope(),
            block: None,
            lookup_context: None,
            location: call.location(),
        };
        let name = match template {
            ErbSource::Text(_) => "inline template",
            ErbSource::File(path) => path,
        };
        let since = Instant::now();
        let rendered = ruby.render_erb(template, &mut caller);
        self.state().ruby_calls.add(name, since.elapsed());
        Some(rendered)
    }
}

/// The result of code in Ruby, carried out by Ruby or natively, charged to the budget of the compilation.
fn charged(evaluator: &Evaluator<'_>, result: EvalResult) -> EvalResult {
    let value = result?;
    evaluator.charge_received(&value)?;
    Ok(value)
}

/// A block of Ruby code, and the call of the Ruby code that passed it.
struct PassedBlock {
    block: RubyCodeBlock,
    scope: VariableScope,
    acting_scope: VariableScope,
    outer: Option<CodeBlock>,
    lookup_context: Option<Value>,
    location: SourceLocation,
}

/// A call of Ruby code from a manifest.
struct CompilationCaller<'c, 'e, 'h> {
    compilation: &'c Compilation<'e>,
    evaluator: &'c mut Evaluator<'h>,
    /// Scope whose variables are read.
    scope: VariableScope,
    /// Scope in which functions are called and resources are declared.
    acting_scope: VariableScope,
    block: Option<&'c CodeBlock>,
    /// The `Puppet::LookupContext` of a function that provides data.
    lookup_context: Option<&'c Value>,
    location: SourceLocation,
}

/// Variables that have a value, as a hash.
fn set_variables(variables: Vec<(Arc<str>, Value)>) -> Hash {
    let set = variables.into_iter();
    set.filter(|(_, value)| !value.is_undef())
        .map(|(name, value)| (Value::Str(name), value))
        .collect()
}

impl RubyCaller for CompilationCaller<'_, '_, '_> {
    fn variable(&mut self, name: &str) -> EvalResult<Option<Value>> {
        self.evaluator.variable_in(&self.scope, name).transpose()
    }

    fn variables(&mut self, names: Option<&[String]>) -> EvalResult<Hash> {
        let Some(names) = names else {
            return Ok(set_variables(self.evaluator.variables_in(&self.scope)));
        };
        for name in names {
            self.evaluator.record_variable_read(name);
        }
        let is_wanted = |name: &str| names.contains(&plain_name(name));
        let wanted = self.evaluator.wanted_variables_in(&self.scope, is_wanted);
        Ok(set_variables(wanted))
    }

    fn has_function(&mut self, name: &str) -> bool {
        crate::functions::exists(name) || self.evaluator.has_function(name).unwrap_or(false)
    }

    fn call_function(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        block: Option<RubyCodeBlock>,
    ) -> EvalResult {
        let scope = &self.acting_scope;
        let Some(block) = block else {
            return self.evaluator.call_function_in(scope, name, arguments);
        };
        let passed = PassedBlock {
            block,
            scope: self.scope.clone(),
            acting_scope: scope.clone(),
            outer: self.block.cloned(),
            lookup_context: self.lookup_context.cloned(),
            location: self.location.clone(),
        };
        let block = CodeBlock::Foreign(ForeignBlock {
            required: block.arity.required,
            most: block.arity.most,
            code: Rc::new(passed),
        });
        self.evaluator
            .call_function_with_block(scope, name, arguments, &block)
    }

    fn call_block(&mut self, arguments: Vec<Value>) -> EvalResult {
        match self.block {
            Some(block) => self.evaluator.call_block_with(block, arguments),
            None => raise("no block was given"),
        }
    }

    fn declare_resource(
        &mut self,
        type_name: &str,
        title: &Value,
        parameters: &Hash,
    ) -> EvalResult<()> {
        let resources: Hash = [(title.clone(), Value::hash(parameters.clone()))]
            .into_iter()
            .collect();
        let place = (self.acting_scope.catalog_scope(), self.location.clone());
        let request = (type_name, &resources, &Hash::new());
        create_from_hash(self.compilation, self.evaluator, place, request).map(drop)
    }

    fn tags(&mut self) -> Vec<String> {
        let state = self.compilation.state();
        let container = state.scope(self.acting_scope.catalog_scope()).resource;
        let own = &state.catalog.resource(container).tags;
        own.iter().map(ToString::to_string).collect()
    }

    fn classes(&mut self) -> Vec<String> {
        let state = self.compilation.state();
        state.catalog.classes().map(ToString::to_string).collect()
    }

    fn interpolate(&mut self, value: &Value) -> EvalResult {
        let Some(context) = self.lookup_context else {
            return Ok(value.clone());
        };
        let files = self.compilation.environment.code.as_files();
        let method = (context, "interpolate");
        let arguments = std::slice::from_ref(value);
        let lookup = &self.compilation.lookup;
        let result = lookup.method(files, self.evaluator, method, arguments, None);
        result.unwrap_or_else(|| Ok(value.clone()))
    }

    fn explain(&mut self, text: &str) {
        self.compilation.lookup.explain_text(self.evaluator, text);
    }

    fn log(&mut self, level: &str, message: &str) {
        let level = match level {
            "debug" => evaluator::LogLevel::Debug,
            "info" => evaluator::LogLevel::Info,
            "warning" => evaluator::LogLevel::Warning,
            "err" => evaluator::LogLevel::Err,
            "alert" => evaluator::LogLevel::Alert,
            "emerg" => evaluator::LogLevel::Emerg,
            "crit" => evaluator::LogLevel::Crit,
            _ => evaluator::LogLevel::Notice,
        };
        self.compilation.add_log(level, message, &self.location);
    }
}
