//! Tree-walking evaluation of a unit. Main type: [`Evaluator`].
//!
//! Each stack has one evaluator: a plan has one, and each branch that it starts has its own, made
//! from a [`BranchSeed`].
//!
//! Invariant: every expression takes a step of the budget and checks the stack before it does
//! anything else, and every error gets the location of the innermost expression.

mod access;
mod arithmetic;
mod assign;
mod calls;
mod catalog;
mod closure;
mod coerce;
mod collecting;
mod compare;
mod conditionals;
mod entry;
mod errors;
mod fact_access;
mod manifest_applications;
mod manifest_bodies;
mod operators;
mod relationships;
mod text;
mod time_arithmetic;
mod type_access;
mod types;
mod unknown;
mod variables;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use partial_debug::partial_debug;
use pcore::{FastHashMap, FastHashSet, Hash, Type, Value};

pub(crate) use self::access::element;
pub(crate) use self::compare::{casecmp, compare as compare_values};
pub(crate) use self::entry::NamedCall;
pub use self::entry::{BranchSeed, LoadedPlan};
pub(crate) use self::errors::node_label;
pub use self::manifest_applications::ManifestMapping;
pub use self::manifest_bodies::{
    BuiltInVariables, CatalogBody, Manifest, ManifestClass, ManifestDefinedType, ManifestNode,
    StatementsPlace,
};
use crate::budget::{EvaluationBudget, StackBudget};
use crate::code::{LoweredNode, LoweredSignature, LoweredUnit, NodeId, NodeKind};
use crate::error::{EvalError, EvalResult, EvalUnwind};
use crate::eval_context::EvalContext;
use crate::frame::GlobalVariables;
use crate::host::EvaluationHost;
use crate::live_memory::{BranchGuard, MemoryRegion, RunningBranches};
use crate::loader::DefinitionLoader;
use crate::nesting::NestingDepths;
use crate::regex_matches::RegexMatch;

/// Evaluates programs for a host, within [`EvaluationLimits`](crate::EvaluationLimits).
pub struct Evaluator<'h> {
    pub(crate) host: &'h dyn EvaluationHost,
    pub(crate) shared: Rc<SharedState>,
    pub(crate) budget: EvaluationBudget,
    /// Memory charged by the current call.
    pub(crate) region: MemoryRegion,
    /// Guard of the branch that this evaluator runs; `None` outside of branches.
    pub(crate) keeper: Option<Rc<BranchGuard>>,
    /// Branches started by this evaluator.
    pub(crate) branches: RunningBranches,
    pub(crate) stack: StackBudget,
    /// Current depth of nested calls.
    pub(crate) calls: u32,
    /// The last regular expression match, for `$0`, `$1` and so on.
    pub(crate) matches: Option<Rc<RegexMatch>>,
    /// Type names that are local to the type text being parsed.
    pub(crate) local_types: Vec<(Arc<str>, Type)>,
    /// Output of the templates being rendered, the innermost last.
    pub(crate) rendered: Vec<Vec<Value>>,
    /// True if values may be unknown.
    pub(crate) looks_ahead: bool,
    /// True while a function runs whose result depends on the values of its block. Used only if
    /// values may be unknown.
    pub(crate) block_decides: bool,
}

/// State shared by all branches of one evaluation.
pub(crate) struct SharedState {
    pub(crate) globals: GlobalVariables,
    pub(crate) loader: DefinitionLoader,
    pub(crate) patterns: ruby_regex::RegexCache,
    /// Signatures of the code called so far, by the unit's address and the index of the code. Types
    /// depend on the environment, so they are not stored in units, which environments may share.
    pub(crate) signatures: RefCell<FastHashMap<(usize, u32), CachedSignature>>,
    /// Types of the parameters of classes and defined types, by the same keys.
    pub(crate) parameter_types: RefCell<FastHashMap<(usize, u32), CachedParameterTypes>>,
    /// Depths of the values that the program made.
    pub(crate) nesting: NestingDepths,
    /// Keys of the messages that are logged only once.
    pub(crate) said_once: RefCell<FastHashSet<String>>,
}

/// Signature of a function, block or plan. It holds the unit, so that the unit's address is not
/// reused.
pub(crate) struct CachedSignature {
    pub(crate) _unit: Arc<LoweredUnit>,
    pub(crate) signature: Rc<LoweredSignature>,
}

/// The unit, so that its address is not reused, and the types.
type CachedParameterTypes = (Arc<LoweredUnit>, Rc<[Type]>);

partial_debug!(Evaluator<'_> { budget, calls });

partial_debug!(SharedState {});

impl Evaluator<'_> {
    /// Evaluates an expression.
    pub(crate) fn eval(&mut self, cx: EvalContext<'_>, id: NodeId) -> EvalResult {
        let node = cx.unit.node(id);
        if let Err(exhausted) = self.budget.spend_step().and_then(|()| self.stack.check()) {
            return Err(self.fail_exhausted(cx, node.at, &exhausted));
        }
        if self.budget.is_turn_over() {
            self.host.breathe()?;
        }
        let result = match &node.kind {
            NodeKind::Const(value) => return Ok(value.clone()),
            NodeKind::Variable(variable) => self.variable(cx, node.at, variable),
            NodeKind::Call(call) => self.call(cx, node, call),
            NodeKind::Method(method) => self.method(cx, node, method),
            NodeKind::Block(statements) => self.statements(cx, statements),
            _ => self.operator(cx, node),
        };
        match result {
            Err(unwind) if unwind.is_without_place() => Err(place(unwind, cx, node)),
            result => result,
        }
    }

    /// Evaluates operators and literals. Each has its own function, so that the stack frames on the
    /// way to a deeply nested expression stay small.
    fn operator(&mut self, cx: EvalContext<'_>, node: &LoweredNode) -> EvalResult {
        match &node.kind {
            NodeKind::Arithmetic {
                operator,
                left,
                right,
            } => self.arithmetic(cx, node, *operator, *left, *right),
            NodeKind::Compare {
                operator,
                left,
                right,
            } => self.comparison(cx, node, *operator, *left, *right),
            NodeKind::Match {
                negated,
                left,
                right,
            } => self.match_operator(cx, *negated, *left, *right),
            NodeKind::In { left, right } => self.in_operator(cx, *left, *right),
            NodeKind::And { left, right } => self.and(cx, *left, *right),
            NodeKind::Or { left, right } => self.or(cx, *left, *right),
            NodeKind::Not(operand) => self.not(cx, *operand),
            NodeKind::Minus(operand) => self.minus(cx, node, *operand),
            NodeKind::Splat(operand) => self.splat(cx, *operand),
            NodeKind::Access { left, keys } => self.access(cx, node, *left, keys),
            NodeKind::Assign { target, value } => self.assign(cx, node, target, *value),
            NodeKind::Parenthesized(inner) => self.eval(cx, *inner),
            _ => self.literal(cx, node),
        }
    }

    fn literal(&mut self, cx: EvalContext<'_>, node: &LoweredNode) -> EvalResult {
        match &node.kind {
            NodeKind::Interpolated(pieces) => self.interpolate(cx, node.at, pieces),
            NodeKind::Heredoc { text, syntax } => self.heredoc(cx, *text, syntax),
            NodeKind::List(items) => self.list(cx, node.at, items),
            NodeKind::Hash(entries) => self.hash(cx, node.at, entries),
            NodeKind::Group(number) => Ok(self
                .matches
                .as_ref()
                .map_or(Value::Undef, |found| found.group(*number))),
            NodeKind::TypeName(name) => self.type_name(cx, node.at, name),
            NodeKind::Nop => Ok(Value::Undef),
            NodeKind::Resource(resource) => self.resource(cx, node, resource),
            NodeKind::Relationship(chain) => self.relationship(cx, node, chain),
            _ => self.control(cx, node),
        }
    }

    /// Evaluates the kinds that the functions before leave over; a new kind must be named here.
    fn control(&mut self, cx: EvalContext<'_>, node: &LoweredNode) -> EvalResult {
        match &node.kind {
            NodeKind::If {
                test,
                then,
                otherwise,
            } => self.conditional(cx, *test, *then, *otherwise),
            NodeKind::Unless {
                test,
                then,
                otherwise,
            } => self.conditional(cx, *test, *otherwise, *then),
            NodeKind::Case(case) => self.case(cx, case),
            NodeKind::Selector(case) => self.selector(cx, case),
            NodeKind::Construct(construct) => self.construct(cx, node, construct),
            NodeKind::Epp(body) => self.template(cx, *body),
            NodeKind::RenderText(text) => self.render(text.clone()),
            NodeKind::Render(inner) => self.render_value(cx, node.at, *inner),
            NodeKind::Apply(apply) => self.apply(cx, node.at, apply),
            NodeKind::ResourceDefaults(defaults) => self.resource_defaults(cx, node, defaults),
            NodeKind::ResourceOverride(changes) => self.resource_override(cx, node, changes),
            NodeKind::Collector(collector) => self.collector(cx, node, collector),
            NodeKind::Reserved(word) => Err(self.fail(
                cx,
                node.at,
                "RESERVED_WORD",
                format!(
                    "Use of reserved word: {word}, must be quoted if intended to be a String value"
                ),
            )),
            NodeKind::Illegal(issue) => Err(self.fail(cx, node.at, issue.0, &issue.1)),
            NodeKind::Const(_)
            | NodeKind::Variable(_)
            | NodeKind::Call(_)
            | NodeKind::Method(_)
            | NodeKind::Block(_)
            | NodeKind::Arithmetic { .. }
            | NodeKind::Compare { .. }
            | NodeKind::Match { .. }
            | NodeKind::In { .. }
            | NodeKind::And { .. }
            | NodeKind::Or { .. }
            | NodeKind::Not(_)
            | NodeKind::Minus(_)
            | NodeKind::Splat(_)
            | NodeKind::Access { .. }
            | NodeKind::Assign { .. }
            | NodeKind::Parenthesized(_)
            | NodeKind::Interpolated(_)
            | NodeKind::Heredoc { .. }
            | NodeKind::List(_)
            | NodeKind::Hash(_)
            | NodeKind::Group(_)
            | NodeKind::TypeName(_)
            | NodeKind::Nop
            | NodeKind::Resource(_)
            | NodeKind::Relationship(_) => Ok(Value::Undef),
        }
    }

    #[inline(never)]
    fn statements(&mut self, cx: EvalContext<'_>, statements: &[NodeId]) -> EvalResult {
        let mut last = Value::Undef;
        for statement in statements {
            last = self.eval(cx, *statement)?;
        }
        Ok(last)
    }

    /// Evaluates the body of a call with its own frame. Between its statements only the variables
    /// hold memory.
    pub(crate) fn body(&mut self, cx: EvalContext<'_>, id: NodeId) -> EvalResult {
        let (NodeKind::Block(statements), Some(frame)) = (&cx.unit.node(id).kind, cx.frame) else {
            return self.eval(cx, id);
        };
        let Some((last, before)) = statements.split_last() else {
            return Ok(Value::Undef);
        };
        let mut sweep = self.sweep();
        for statement in before {
            self.eval(cx, *statement)?;
            sweep.charge_variables(self, frame)?;
        }
        self.eval(cx, *last)
    }

    #[inline(never)]
    fn list(&mut self, cx: EvalContext<'_>, at: u32, items: &[NodeId]) -> EvalResult {
        let elements = self.unfold(cx, items)?;
        self.charge_list(cx, at, elements.len())?;
        let list = Value::array(elements);
        self.check_nesting(cx, at, &list)?;
        Ok(list)
    }

    /// Evaluates a list, replacing splats by their elements.
    pub(crate) fn unfold(
        &mut self,
        cx: EvalContext<'_>,
        items: &[NodeId],
    ) -> EvalResult<Vec<Value>> {
        let mut elements = Vec::with_capacity(items.len());
        for item in items {
            let value = self.eval(cx, *item)?;
            match (&cx.unit.node(*item).kind, value) {
                (NodeKind::Splat(_), Value::Array(inner)) => {
                    self.charge_list(cx, cx.unit.node(*item).at, inner.len())?;
                    elements.extend_from_slice(&inner);
                }
                (_, value) => elements.push(value),
            }
        }
        Ok(elements)
    }

    #[inline(never)]
    fn hash(&mut self, cx: EvalContext<'_>, at: u32, entries: &[(NodeId, NodeId)]) -> EvalResult {
        self.charge_list(cx, at, entries.len() * 2)?;
        let mut hash = Hash::with_capacity(entries.len());
        let mut unknown = Vec::new();
        for (key, value) in entries {
            let key = self.eval(cx, *key)?;
            let value = self.eval(cx, *value)?;
            if self.looks_ahead && key.has_unknown() {
                unknown.push(key.clone());
            }
            hash.insert(key, value);
        }
        let hash = Value::hash(hash);
        self.check_nesting(cx, at, &hash)?;
        // With an unknown key, the value of every key is unknown.
        Ok(match unknown.is_empty() {
            true => hash,
            false => self.unknown_of(&[&hash]).unwrap_or_default(),
        })
    }
}

impl EvalUnwind {
    fn is_without_place(&self) -> bool {
        matches!(self, Self::Error(EvalError { location: None, .. }))
    }
}

/// Adds the location of the expression to an error.
#[cold]
#[inline(never)]
fn place(mut unwind: Box<EvalUnwind>, cx: EvalContext<'_>, node: &LoweredNode) -> Box<EvalUnwind> {
    if let EvalUnwind::Error(error) = unwind.as_mut() {
        error.message = format!(
            "Evaluation Error: Error while evaluating {}, {}",
            crate::label::with_article(&node_label(&node.kind)),
            error.message
        );
        error.location = Some(cx.unit.location_at(node.at));
    }
    unwind
}
