//! Evaluation of the code of templates and functions. Main type: [`Interpreter`].
//!
//! Invariant: every expression counts as a step, and the depth of evaluation is bounded.

mod arrays;
mod assign;
mod blocks;
mod calls;
mod common;
mod conversions;
mod enumerate;
mod exceptions;
mod fold;
mod format;
mod functions;
mod hashes;
mod indexes;
mod libraries;
mod matching;
mod nested_templates;
mod numbers;
mod scope_calls;
mod sorting;
mod strings;

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use ruby_regex::RegexFlags;

use crate::defaults::{RENDER_DEPTH_MAX, STEPS_MAX, TEXT_MAX};
use crate::error::{NativeRubyError, NotNative};
use crate::function_syntax::RubyMethod;
use crate::scope::RubyScope;
use crate::syntax::{Expr, Literal, Node, RubyClass, StrPart};
use crate::template::ErbTemplate;
use crate::value::{
    Entries, Eval, Interruption, Key, MatchGroups, RubyString, RubyValue, ScopeValues, refuse,
};

pub(crate) struct Interpreter<'t, 's> {
    /// Literal texts of a template.
    texts: &'t [String],
    /// Methods of a function.
    methods: &'t [RubyMethod],
    scope: &'s mut dyn RubyScope,
    out: String,
    locals: Vec<RubyValue>,
    instance_variables: HashMap<Arc<str>, RubyValue>,
    /// Variables that this template or one around it set in the scope.
    set_variables: HashMap<Arc<str>, RubyValue>,
    scope_values: Rc<ScopeValues>,
    last_match: Option<Rc<MatchGroups>>,
    line: u32,
    steps: u64,
    depth: usize,
    /// Functions that were called.
    calls: u32,
}

// === impl Interpreter ===

impl<'t, 's> Interpreter<'t, 's> {
    pub(crate) fn new(template: &'t ErbTemplate, scope: &'s mut dyn RubyScope) -> Self {
        Self {
            texts: &template.texts,
            locals: vec![RubyValue::Nil; template.locals],
            ..Self::of_scope(scope)
        }
    }

    pub(crate) fn of_methods(methods: &'t [RubyMethod], scope: &'s mut dyn RubyScope) -> Self {
        Self {
            methods,
            ..Self::of_scope(scope)
        }
    }

    fn of_scope(scope: &'s mut dyn RubyScope) -> Self {
        Self {
            texts: &[],
            methods: &[],
            scope,
            out: String::new(),
            locals: Vec::new(),
            instance_variables: HashMap::new(),
            set_variables: HashMap::new(),
            scope_values: Rc::default(),
            last_match: None,
            line: 1,
            steps: 0,
            depth: 0,
            calls: 0,
        }
    }

    pub(crate) fn run(mut self, template: &'t ErbTemplate) -> Result<String, NativeRubyError> {
        match self.eval_body(&template.body) {
            Ok(_) => Ok(self.out),
            Err(interruption) => Err(self.failure(interruption)),
        }
    }

    fn failure(&self, interruption: Interruption) -> NativeRubyError {
        match interruption {
            Interruption::Scope(error) => NativeRubyError::Scope {
                error,
                line: self.line,
            },
            Interruption::Refused(reason) | Interruption::Raised(_, reason) => {
                self.not_native(reason)
            }
            Interruption::Next(_) | Interruption::Break | Interruption::Return(_) => {
                self.not_native("a jump out of the code".to_owned())
            }
        }
    }

    fn not_native(&self, reason: String) -> NativeRubyError {
        NativeRubyError::NotNative {
            reason: NotNative {
                reason,
                line: self.line,
            },
            calls: self.calls,
        }
    }

    /// The value of the last statement.
    fn eval_body(&mut self, body: &'t [Expr]) -> Eval {
        let mut value = RubyValue::Nil;
        for statement in body {
            value = self.eval(statement)?;
        }
        Ok(value)
    }

    /// Counts an expression, or a call of a block, which may have none.
    fn count_step(&mut self) -> Eval<()> {
        self.steps += 1;
        if self.steps > STEPS_MAX || self.depth >= RENDER_DEPTH_MAX {
            return refuse("a long or deeply nested evaluation");
        }
        Ok(())
    }

    fn eval(&mut self, expr: &'t Expr) -> Eval {
        self.count_step()?;
        self.line = expr.line;
        self.depth += 1;
        let value = self.eval_node(&expr.node);
        self.depth -= 1;
        value
    }

    fn eval_node(&mut self, node: &'t Node) -> Eval {
        match node {
            Node::Text(number) => self.put_text(*number),
            Node::Insert(body) => self.put_value(body),
            Node::Body(body) => self.eval_body(body),
            Node::Str(parts) => Ok(RubyValue::string(self.eval_parts(parts)?)),
            Node::FrozenStr(parts) => self.eval_frozen(parts),
            Node::Literal(literal) => Ok(Self::literal(literal)),
            Node::RegexParts(parts, flags) => self.eval_regex(parts, *flags),
            Node::Array(elements) => Ok(RubyValue::array(self.eval_list(elements)?)),
            Node::Hash(pairs) => self.eval_hash(pairs),
            Node::Range {
                low,
                high,
                is_exclusive,
            } => self.eval_range(low, high.as_deref(), *is_exclusive),
            Node::Local(slot) => Ok(self.locals[*slot].clone()),
            Node::InstanceVariable(name) => self.instance_variable(name),
            Node::MatchGroup(group) => Ok(self.match_group(*group)),
            Node::Assign(target, value) => self.assign(target, value),
            Node::OperatorAssign(target, operator, value) => {
                self.operator_assign(target, operator, value)
            }
            Node::And(left, right) => match self.eval(left)? {
                left if left.is_truthy() => self.eval(right),
                left => Ok(left),
            },
            Node::Or(left, right) => match self.eval(left)? {
                left if left.is_truthy() => Ok(left),
                _ => self.eval(right),
            },
            Node::Not(operand) => Ok(RubyValue::Bool(!self.eval(operand)?.is_truthy())),
            Node::If {
                condition,
                then,
                otherwise,
            } => {
                let is_met = self.eval(condition)?.is_truthy();
                self.eval_body(if is_met { then } else { otherwise })
            }
            Node::Case {
                subject,
                branches,
                otherwise,
            } => self.eval_case(subject.as_deref(), branches, otherwise),
            Node::Call(call) => self.eval_call(call),
            Node::Scope(scope_use) => self.use_scope(scope_use),
            Node::Library(function, operand) => {
                let operand = self.eval(operand)?;
                Self::call_library(function, operand)
            }
            Node::IsA(operand, class) => self.eval_class_check(operand, *class),
            Node::Class(class) => Ok(RubyValue::Class(*class)),
            Node::DefinedInstanceVariable(name) => self.defined_instance_variable(name),
            Node::Next(value) => Err(Interruption::Next(self.eval_optional(value.as_deref())?)),
            Node::Break => Err(Interruption::Break),
            Node::Return(value) => Err(Interruption::Return(self.eval_optional(value.as_deref())?)),
            Node::Require => Ok(RubyValue::Unknown),
            Node::Refused(reason) => refuse(&**reason),
            Node::Begin { body, rescues } => self.eval_begin(body, rescues),
            Node::While { condition, body } => self.eval_while(condition, body),
            Node::AssignAll(slots, list) => self.assign_all(slots, list),
            Node::FunctionCall(arguments) => self.function_call(arguments),
            Node::OwnCall(name, arguments) => {
                let arguments = self.eval_list(arguments)?;
                self.call_own(name, arguments)
            }
            Node::ClosureScope => Ok(RubyValue::Scope),
        }
    }

    /// Puts out a literal text of the template.
    fn put_text(&mut self, number: usize) -> Eval {
        let texts = self.texts;
        self.put(texts.get(number).map_or("", String::as_str))
    }

    /// `<%= … %>`
    fn put_value(&mut self, body: &'t [Expr]) -> Eval {
        let text = self.eval_body(body)?.to_text()?;
        self.put(&text)
    }

    fn eval_frozen(&mut self, parts: &'t [StrPart]) -> Eval {
        let text = self.eval_parts(parts)?;
        Ok(RubyValue::Str(RubyString::new(text.into(), true)))
    }

    fn eval_regex(&mut self, parts: &'t [StrPart], flags: RegexFlags) -> Eval {
        let source = self.eval_parts(parts)?;
        Self::compile_regex(&source, flags).map(RubyValue::Regex)
    }

    fn eval_class_check(&mut self, operand: &'t Expr, class: RubyClass) -> Eval {
        let operand = self.eval(operand)?;
        Ok(RubyValue::Bool(Self::is_instance(&operand, class)?))
    }

    fn literal(literal: &Literal) -> RubyValue {
        match literal {
            Literal::Nil => RubyValue::Nil,
            Literal::Bool(flag) => RubyValue::Bool(*flag),
            Literal::Int(number) => RubyValue::Int(*number),
            Literal::Float(number) => RubyValue::Float(*number),
            Literal::Symbol(name) => RubyValue::Symbol(Arc::clone(name)),
            Literal::Regex(regex) => RubyValue::Regex(regex.clone()),
        }
    }

    /// The value of a jump; `nil` without one.
    fn eval_optional(&mut self, value: Option<&'t Expr>) -> Eval {
        match value {
            Some(value) => self.eval(value),
            None => Ok(RubyValue::Nil),
        }
    }

    fn eval_while(&mut self, condition: &'t Expr, body: &'t [Expr]) -> Eval {
        while self.eval(condition)?.is_truthy() {
            self.count_step()?;
            self.eval_body(body)?;
        }
        Ok(RubyValue::Nil)
    }

    fn put(&mut self, text: &str) -> Eval {
        if self.out.len() + text.len() > TEXT_MAX {
            return refuse("a long text");
        }
        self.out.push_str(text);
        Ok(RubyValue::Unknown)
    }

    fn eval_parts(&mut self, parts: &'t [StrPart]) -> Eval<String> {
        let mut text = String::new();
        for part in parts {
            match part {
                StrPart::Text(part) => text.push_str(part),
                StrPart::Code(body) => self.eval_body(body)?.write_text(&mut text)?,
            }
        }
        Ok(text)
    }

    fn eval_list(&mut self, elements: &'t [Expr]) -> Eval<Vec<RubyValue>> {
        elements.iter().map(|element| self.eval(element)).collect()
    }

    fn eval_hash(&mut self, pairs: &'t [(Expr, Expr)]) -> Eval {
        let mut entries = Entries::with_capacity_and_hasher(pairs.len(), Default::default());
        for (key, value) in pairs {
            let key = Key::new(&self.eval(key)?)?;
            entries.insert(key, self.eval(value)?);
        }
        Ok(RubyValue::hash(entries))
    }

    fn eval_range(&mut self, low: &'t Expr, high: Option<&'t Expr>, is_exclusive: bool) -> Eval {
        let low = self.eval(low)?;
        let high = match high {
            Some(high) => Some(self.eval(high)?),
            None => None,
        };
        match (low, high) {
            (RubyValue::Int(low), Some(RubyValue::Int(high))) => {
                Ok(RubyValue::Range(low, Some(high), is_exclusive))
            }
            (RubyValue::Int(low), None) => Ok(RubyValue::Range(low, None, is_exclusive)),
            _ => refuse("a range of other values than integers"),
        }
    }
}
