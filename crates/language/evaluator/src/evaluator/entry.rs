//! Entry points for a host: evaluation of programs, of texts in a scope, of functions and plans.
//!
//! Invariant: the stack is measured from the first entry point on this stack.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use pcore::{Hash, Type, Value};
use syntax::ast::{Ast, Definition};

use super::closure::{catch_return, check_return};
use super::{EvalContext, Evaluator, SharedState};
use crate::block::CodeBlock;
use crate::budget::{EvaluationBudget, EvaluationLimits, StackBudget};
use crate::code::{DefinitionCode, LoweredUnit};
use crate::error::{EvalError, EvalResult, raise};
use crate::fact_reads::{self, FACTS, FactReads};
use crate::frame::{GlobalVariables, VariableFrame};
use crate::function::NativeFunction;
use crate::host::EvaluationHost;
use crate::live_memory::{BranchGuard, MemoryRegion, RunningBranches};
use crate::loader::DefinitionLoader;
use crate::mismatch;
use crate::nesting::NestingDepths;
use crate::parse;
use crate::parse_cache::ParseCache;
use crate::regex_matches::RegexMatch;
use crate::source_language::{FileScope, SourceLanguage};
use crate::type_text;
use crate::variable_scope::VariableScope;

/// A plan written in the Puppet language.
#[derive(Debug, Clone)]
pub struct LoadedPlan {
    unit: Arc<LoweredUnit>,
    code: u32,
    index: usize,
}

impl LoadedPlan {
    #[must_use]
    pub fn name(&self) -> &str {
        &self.unit.code(self.code).name
    }

    /// AST of the whole file, including comments.
    #[must_use]
    pub fn ast(&self) -> &Arc<Ast> {
        &self.unit.ast
    }

    #[must_use]
    pub fn definition(&self) -> &Definition {
        &self.unit.ast.definitions()[self.index]
    }

    /// Name of each parameter, and true if it has a default.
    #[must_use]
    pub fn parameters(&self) -> Vec<(Arc<str>, bool)> {
        let code = self.unit.code(self.code);
        code.parameters
            .iter()
            .map(|it| (Arc::clone(&it.name), it.default.is_some()))
            .collect()
    }
}

/// State shared by all branches of an evaluation, from which an evaluator is made on another stack.
/// It has no host, because each stack has its own.
#[derive(Debug)]
pub struct BranchSeed {
    shared: Rc<SharedState>,
    budget: EvaluationBudget,
    calls: u32,
    matches: Option<Rc<RegexMatch>>,
    keeper: Option<Rc<BranchGuard>>,
}

impl BranchSeed {
    /// Makes an evaluator for the current stack.
    #[must_use]
    pub fn evaluator(self, host: &dyn EvaluationHost) -> Evaluator<'_> {
        Evaluator {
            host,
            shared: self.shared,
            stack: StackBudget::from_here(self.budget.limits().stack_bytes),
            budget: self.budget,
            region: MemoryRegion::default(),
            keeper: self.keeper,
            branches: RunningBranches::default(),
            calls: self.calls,
            matches: self.matches,
            local_types: Vec::new(),
            rendered: Vec::new(),
            looks_ahead: host.unknowns().is_some(),
            block_decides: false,
        }
    }
}

impl<'h> Evaluator<'h> {
    /// An evaluator for a host. Evaluators of all threads may share `parsed`.
    #[must_use]
    pub fn new(
        host: &'h dyn EvaluationHost,
        limits: EvaluationLimits,
        parsed: Arc<ParseCache>,
    ) -> Self {
        let language = match host.catalog() {
            Some(_) => SourceLanguage::Manifest,
            None => SourceLanguage::Plan,
        };
        let seed = BranchSeed {
            shared: Rc::new(SharedState {
                globals: GlobalVariables::default(),
                loader: DefinitionLoader::new(parsed, language),
                patterns: ruby_regex::RegexCache::new(crate::defaults::PATTERNS_MAX),
                signatures: RefCell::default(),
                parameter_types: RefCell::default(),
                nesting: NestingDepths::default(),
                said_once: RefCell::default(),
            }),
            budget: EvaluationBudget::new(limits),
            calls: 0,
            matches: None,
            keeper: None,
        };
        seed.evaluator(host)
    }

    #[must_use]
    pub fn host(&self) -> &'h dyn EvaluationHost {
        self.host
    }
}

impl Evaluator<'_> {
    /// Makes the seed of a branch that runs on its own stack, with the same variables, code and
    /// budget.
    #[must_use]
    pub fn seed(&self) -> BranchSeed {
        BranchSeed {
            shared: Rc::clone(&self.shared),
            budget: self.budget.clone(),
            calls: self.calls,
            matches: self.matches.clone(),
            keeper: Some(self.branch_guard()),
        }
    }

    /// Sets a variable of the top scope, such as `facts`.
    pub fn set_global(&self, name: &str, value: Value) {
        self.shared.globals.set(name.into(), value);
    }

    #[must_use]
    pub fn global(&self, name: &str) -> Option<Value> {
        self.shared.globals.get(name)
    }

    /// Starts to record what is read of the facts.
    pub fn record_fact_reads(&self) {
        self.shared.globals.fact_reads.start();
    }

    /// What was read of the facts since [`record_fact_reads`](Self::record_fact_reads).
    #[must_use]
    pub fn fact_reads(&self) -> FactReads {
        self.shared.globals.fact_reads.reads()
    }

    /// Records that something depends on all facts.
    pub fn record_all_facts(&self) {
        self.shared.globals.fact_reads.record_path(&[]);
    }

    /// The value of the longest part of a path into the facts that exists, and the number of its names;
    /// `None` if there are no facts in the top scope. Only that part counts as read.
    #[must_use]
    pub fn fact_at(&self, path: &[Arc<str>]) -> Option<(Value, usize)> {
        let globals = &self.shared.globals;
        let facts = globals.get_unrecorded(FACTS)?;
        let (value, walked) = fact_reads::walk(&facts, path);
        globals.fact_reads.record_path(&path[..walked]);
        Some((value, walked))
    }

    /// The value at a path into the facts, all of which exists but the last name; `None` for another path.
    #[must_use]
    pub fn whole_fact_at(&self, path: &[Arc<str>]) -> Option<Value> {
        let (value, walked) = self.fact_at(path)?;
        (walked == path.len()).then_some(value)
    }

    /// Evaluates a program in the top scope and returns the value of its last expression.
    pub fn evaluate(&mut self, text: &str, file: Option<&str>) -> EvalResult {
        let unit = parse::text_unit(
            text,
            file,
            self.shared.loader.language(),
            FileScope::Top,
            self.stack,
        )?;
        self.shared.loader.define(&unit)?;
        let cx = EvalContext {
            unit: &unit,
            frame: None,
        };
        self.eval(cx, unit.code(unit.main).body)
    }

    /// Evaluates a text with the variables of a scope. Variables that it sets are local to the
    /// text.
    pub fn evaluate_in(
        &mut self,
        scope: &VariableScope,
        text: &str,
        file: Option<&str>,
    ) -> EvalResult {
        let unit = parse::text_unit(
            text,
            file,
            self.shared.loader.language(),
            FileScope::Local,
            self.stack,
        )?;
        let frame = VariableFrame::new(&unit, unit.main, scope.frame.as_ref());
        let cx = EvalContext {
            unit: &unit,
            frame: Some(&frame),
        };
        let around = self.enter_region();
        let result = self.body(cx, unit.code(unit.main).body);
        self.leave_region(around, result)
    }

    /// Calls a function by its name.
    pub fn call_function(
        &mut self,
        name: &str,
        arguments: Vec<Value>,
        block: Option<&CodeBlock>,
    ) -> EvalResult {
        let unit = LoweredUnit::empty_unit();
        let cx = EvalContext {
            unit: &unit,
            frame: None,
        };
        self.call_named(cx, 0, NativeFunction::core(name), name, arguments, block)
    }

    /// Calls a function by its name, with the variables of a scope.
    pub fn call_function_in(
        &mut self,
        scope: &VariableScope,
        name: &str,
        arguments: Vec<Value>,
    ) -> EvalResult {
        let unit = LoweredUnit::empty_unit();
        let cx = EvalContext {
            unit: &unit,
            frame: scope.frame.as_ref(),
        };
        self.call_named(cx, 0, NativeFunction::core(name), name, arguments, None)
    }

    /// Calls a function by its name with a block, with the variables of a scope.
    pub fn call_function_with_block(
        &mut self,
        scope: &VariableScope,
        name: &str,
        arguments: Vec<Value>,
        block: &CodeBlock,
    ) -> EvalResult {
        let unit = LoweredUnit::empty_unit();
        let cx = EvalContext {
            unit: &unit,
            frame: scope.frame.as_ref(),
        };
        self.call_named(
            cx,
            0,
            NativeFunction::core(name),
            name,
            arguments,
            Some(block),
        )
    }

    /// True if a function with this name is visible from everywhere.
    pub fn has_function(&mut self, name: &str) -> EvalResult<bool> {
        if NativeFunction::core(name).is_some() {
            return Ok(true);
        }
        let unit = LoweredUnit::empty_unit();
        let cx = EvalContext {
            unit: &unit,
            frame: None,
        };
        self.knows_function(cx, name)
    }

    /// Value of a variable as seen from a scope; `None` if there is none with that name.
    #[must_use]
    pub fn variable_in(&self, scope: &VariableScope, name: &str) -> Option<EvalResult> {
        self.variable_from(scope.frame.as_ref(), name)
    }

    /// All variables that a scope sees without a namespace, those of inner scopes first.
    #[must_use]
    pub fn variables_in(&self, scope: &VariableScope) -> Vec<(Arc<str>, Value)> {
        self.record_all_facts();
        self.wanted_variables_in(scope, |_| true)
    }

    /// The same variables, as far as their names are wanted. Those that are missing count as read by the
    /// caller, who knows their names.
    #[must_use]
    pub fn wanted_variables_in(
        &self,
        scope: &VariableScope,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Vec<(Arc<str>, Value)> {
        let mut variables = scope.variables();
        variables.retain(|(name, _)| is_wanted(name));
        let own: std::collections::HashSet<Arc<str>> =
            variables.iter().map(|(name, _)| Arc::clone(name)).collect();
        let wanted = self.shared.globals.names().into_iter();
        for name in wanted.filter(|name| is_wanted(name) && !own.contains(name)) {
            if let Some(value) = self.shared.globals.get(&name) {
                variables.push((name, value));
            }
        }
        variables
    }

    /// Records that something depends on a variable of the top scope, which may be missing.
    pub fn record_variable_read(&self, name: &str) {
        self.shared.globals.fact_reads.record_variable(name);
    }

    /// Parses a type expression. `local_types` are additional aliases: name and type expression.
    pub fn parse_type(&mut self, text: &str, local_types: &[(&str, &str)]) -> EvalResult<Type> {
        type_text::parse(self, text, local_types)
    }

    /// Loads a plan of the environment; `None` if there is no plan with that name in the Puppet
    /// language.
    pub fn plan(&mut self, name: &str) -> EvalResult<Option<LoadedPlan>> {
        let shared = Rc::clone(&self.shared);
        let Some(located) = shared.loader.read(self.host.code(), name, "plans")? else {
            return Ok(None);
        };
        let language = SourceLanguage::Plan;
        let parsed = shared.loader.parsed();
        let unit = parsed.parse_file(&located.file, language, None, self.stack)?;
        let found = unit.definitions.iter().find_map(|it| match it.what {
            DefinitionCode::Plan { code } => Some((code, it.index, Arc::clone(&it.name))),
            _ => None,
        });
        let Some((code, index, actual)) = found else {
            return raise(format!(
                "The code loaded from {} does not define the plan '{name}' - no plan found.",
                located.file.path
            ));
        };
        if *actual != *name {
            return raise(format!(
                "The code loaded from {} produced plan with the wrong name, expected {name}, actual {actual}",
                located.file.path
            ));
        }
        Ok(Some(LoadedPlan { unit, code, index }))
    }

    /// Types of a plan's parameters, in order of declaration.
    pub fn plan_types(&mut self, plan: &LoadedPlan) -> EvalResult<Vec<Type>> {
        Ok(self.signature(&plan.unit, plan.code)?.types.clone())
    }

    /// Runs a plan with named arguments. The result is the value of its `return`, or `undef`
    /// without one.
    pub fn run_plan(&mut self, plan: &LoadedPlan, arguments: &Hash) -> EvalResult {
        self.call_by_name(&plan.unit, plan.code, None, arguments, NamedCall::Plan)
    }

    /// Calls a plan or template with named arguments.
    pub(crate) fn call_by_name(
        &mut self,
        unit: &Arc<LoweredUnit>,
        index: u32,
        outer: Option<&Rc<VariableFrame>>,
        arguments: &Hash,
        what: NamedCall,
    ) -> EvalResult {
        self.enter_call()?;
        let saved = self.matches.take();
        let frame = VariableFrame::new(unit, index, outer);
        let around = self.enter_region();
        let result = self.run_by_name(unit, index, &frame, arguments, what);
        let result = self.leave_region(around, result);
        self.matches = saved;
        self.calls -= 1;
        result
    }

    fn run_by_name(
        &mut self,
        unit: &Arc<LoweredUnit>,
        index: u32,
        frame: &Rc<VariableFrame>,
        arguments: &Hash,
        what: NamedCall,
    ) -> EvalResult {
        let code = unit.code(index);
        let signature = self.signature(unit, index)?;
        let mut given = Hash::new();
        for parameter in &code.parameters {
            let value = match arguments.get_str(&parameter.name) {
                Some(value) if !value.is_undef() => value.clone(),
                _ if parameter.default.is_some() => self.default_of(unit, frame, parameter)?,
                Some(undef) => undef.clone(),
                None => continue,
            };
            given.insert(&*parameter.name, value.clone());
            frame.set(parameter.slot, value);
        }
        let cx = EvalContext {
            unit,
            frame: Some(frame),
        };
        if what == NamedCall::Unchecked {
            return self.body(cx, code.body);
        }
        for (name, value) in arguments.iter() {
            let is_parameter = name
                .as_str()
                .is_some_and(|name| code.parameter_names().any(|it| **it == *name));
            if !is_parameter {
                given.insert(name.clone(), value.clone());
            }
        }
        if let Some(text) = mismatch::named_mismatch(code, &signature, &given) {
            return Err(EvalError::without_location(text).into());
        }
        let given = match self.body(cx, code.body) {
            Ok(_) if what == NamedCall::Plan => Ok(Value::Undef),
            given => given,
        };
        check_return(code, &signature, catch_return(given, true)?)
    }
}

/// Treatment of a call with named arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamedCall {
    /// A plan: the arguments are checked, and only `return` produces a value.
    Plan,
    /// A template: the arguments are checked.
    Template,
    /// A template without declared parameters: neither arguments nor value are checked.
    Unchecked,
}
