//! Calls: of functions by name, of methods, of types (`new`).
//!
//! A name is looked up among the core functions, the host functions, then the functions of the
//! environment and of the modules that the caller sees, and last among the host's unknown
//! functions. If a host function only replaces one of a module, the module's own Puppet function
//! has precedence.
//!
//! Invariant: arguments are evaluated exactly once, before the call.

use std::rc::Rc;
use std::sync::Arc;

use pcore::Value;

use super::{EvalContext, Evaluator};
use crate::block::{CodeBlock, PuppetBlock};
use crate::code::{CallNode, ConstructNode, LoweredNode, MethodNode, NodeKind};
use crate::error::{EvalError, EvalResult, EvalUnwind};
use crate::function::{CallArguments, NativeFunction};
use crate::loader::LoadedFunction;
use crate::suggest;

/// Result of calling a method on an object.
enum ObjectCall {
    Gave(Value),
    /// The object has no method with that name; contains the evaluated arguments for a function
    /// call.
    HasNone(Vec<Value>),
}

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn call(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        call: &CallNode,
    ) -> EvalResult {
        let arguments = self.unfold(cx, &call.arguments)?;
        let block = self.block(cx, call.block);
        self.call_named(
            cx,
            node.at,
            call.native.map(NativeFunction::of_core_id),
            &call.name,
            arguments,
            block.as_ref(),
        )
    }

    #[inline(never)]
    pub(super) fn construct(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        construct: &ConstructNode,
    ) -> EvalResult {
        let mut arguments = Vec::with_capacity(construct.arguments.len() + 1);
        arguments.push(self.eval(cx, construct.ty)?);
        arguments.extend(self.unfold(cx, &construct.arguments)?);
        let block = self.block(cx, construct.block);
        let new = NativeFunction::core("new");
        self.call_named(cx, node.at, new, "new", arguments, block.as_ref())
    }

    #[inline(never)]
    pub(super) fn method(
        &mut self,
        cx: EvalContext<'_>,
        node: &LoweredNode,
        method: &MethodNode,
    ) -> EvalResult {
        let call = &method.call;
        if let Some(fact) = self.fact_method(cx, method)? {
            return Ok(fact);
        }
        let receiver = self.eval(cx, method.receiver)?;
        let given = match receiver {
            Value::Object(_) | Value::Uri(_) => match self.object_method(cx, &receiver, call)? {
                ObjectCall::Gave(value) => return Ok(value),
                ObjectCall::HasNone(arguments) => arguments,
            },
            _ => self.unfold(cx, &call.arguments)?,
        };
        let mut arguments = Vec::with_capacity(given.len() + 1);
        match (&cx.unit.node(method.receiver).kind, receiver) {
            (NodeKind::Splat(_), Value::Array(elements)) => arguments.extend_from_slice(&elements),
            (_, receiver) => arguments.push(receiver),
        }
        arguments.extend(given);
        let block = self.block(cx, call.block);
        self.call_named(
            cx,
            node.at,
            call.native.map(NativeFunction::of_core_id),
            &call.name,
            arguments,
            block.as_ref(),
        )
    }

    /// Calls a method or reads an attribute of an object. The arguments are evaluated only once,
    /// even if a function is called in the end.
    fn object_method(
        &mut self,
        cx: EvalContext<'_>,
        receiver: &Value,
        call: &CallNode,
    ) -> EvalResult<ObjectCall> {
        let is_attribute = call.arguments.is_empty() && call.block.is_none();
        let attribute = match receiver {
            Value::Uri(uri) => uri.attribute(&call.name),
            Value::Object(object) if is_attribute => object.attribute(&call.name),
            _ => None,
        };
        if let Some(value) = attribute {
            return Ok(ObjectCall::Gave(value));
        }
        let arguments = self.unfold(cx, &call.arguments)?;
        let Value::Object(object) = receiver else {
            return Ok(ObjectCall::HasNone(arguments));
        };
        if self.looks_ahead
            && let Some(value) = self.unknown_method(cx, receiver, call, &arguments)?
        {
            return Ok(ObjectCall::Gave(value));
        }
        let block = self.block(cx, call.block);
        if block.is_none()
            && let Some(result) = object.call(&call.name, &arguments)
        {
            let value = result.map_err(|error| EvalError::without_location(error.to_string()))?;
            return Ok(ObjectCall::Gave(value));
        }
        self.pin(&arguments);
        let host = self.host;
        match host.method(self, receiver, &call.name, &arguments, block.as_ref()) {
            Some(result) => result.map(ObjectCall::Gave),
            None => Ok(ObjectCall::HasNone(arguments)),
        }
    }

    fn block(&self, cx: EvalContext<'_>, code: Option<u32>) -> Option<CodeBlock> {
        code.map(|code| {
            CodeBlock::Puppet(PuppetBlock {
                unit: Arc::clone(cx.unit),
                code,
                frame: cx.frame.cloned(),
                matches: self.matches.clone(),
                spare: std::cell::RefCell::default(),
            })
        })
    }

    /// Calls the function that a name refers to in the code of `cx`.
    pub(crate) fn call_named(
        &mut self,
        cx: EvalContext<'_>,
        at: u32,
        native: Option<&'static NativeFunction>,
        name: &str,
        arguments: Vec<Value>,
        block: Option<&CodeBlock>,
    ) -> EvalResult {
        let mut call = CallArguments {
            arguments,
            block,
            cx,
            at,
            name,
        };
        if let Some(native) = native {
            return native.call(self, call);
        }
        if let Some(native) = self.host.function(name) {
            return match self.environments_own(cx, name)? {
                Some(found) => self.call_found(&found, call),
                None => {
                    self.host.calls(name, &|| cx.unit.location_at(at))?;
                    native.call(self, call)
                }
            };
        }
        let shared = Rc::clone(&self.shared);
        if let Some(found) = shared.loader.function(self, cx.unit, name)? {
            return self.call_found(&found, call);
        }
        self.pin(&call.arguments);
        let host = self.host;
        match host.unknown_function(self, &mut call) {
            Some(result) => result.and_then(|value| self.check_result(value)),
            None => Err(self.unknown_function(cx, at, name)),
        }
    }

    /// The module's own Puppet function that has precedence over a host function; `None` if there
    /// is none.
    fn environments_own(
        &mut self,
        cx: EvalContext<'_>,
        name: &str,
    ) -> EvalResult<Option<LoadedFunction>> {
        if !self.host.stands_in_for(name) {
            return Ok(None);
        }
        let shared = Rc::clone(&self.shared);
        shared.loader.function(self, cx.unit, name)
    }

    /// True if a function other than a core function has this name.
    pub(crate) fn knows_function(&mut self, cx: EvalContext<'_>, name: &str) -> EvalResult<bool> {
        if self.host.function(name).is_some() {
            return Ok(true);
        }
        let shared = Rc::clone(&self.shared);
        Ok(shared.loader.function(self, cx.unit, name)?.is_some())
    }

    /// Calls a function written in Puppet.
    fn call_found(&mut self, found: &LoadedFunction, call: CallArguments<'_>) -> EvalResult {
        if call.block.is_some() {
            return Err(self.missing_block_error(found, &call));
        }
        self.call_function_code(&found.unit, found.code, call.cx.frame, call.arguments)
    }

    #[cold]
    fn unknown_function(&self, cx: EvalContext<'_>, at: u32, name: &str) -> Box<EvalUnwind> {
        let host = &self.host;
        let known: Vec<&str> = NativeFunction::core_names()
            .chain(host.function_names())
            .collect();
        let mut error = EvalError::with_location(
            "UNKNOWN_FUNCTION",
            format!("Unknown function: '{name}'."),
            cx.unit.location_at(at),
        );
        if let Some(similar) = suggest::similar(name, known.into_iter()) {
            error = error.with_hint(format!("did you mean '{similar}'?"));
        }
        if let Some((module, _)) = name.split_once("::")
            && host.code().module(module).is_none()
        {
            error = error.with_hint(format!("there is no module '{module}' in this environment"));
        }
        error.into()
    }
}

impl CallArguments<'_> {
    /// True if a function of this name is visible from the code that contains the call.
    pub fn knows_function(&self, evaluator: &mut Evaluator<'_>, name: &str) -> EvalResult<bool> {
        Ok(NativeFunction::core(name).is_some() || evaluator.knows_function(self.cx, name)?)
    }
}
