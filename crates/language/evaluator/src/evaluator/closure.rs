//! Code with parameters: blocks, functions written in Puppet, plans, templates.
//!
//! Invariant: a body is evaluated only with arguments that its parameters accept, and returns only
//! a value that its return type accepts.

use std::rc::Rc;
use std::sync::Arc;

use pcore::{CallableType, IntRange, TupleType, Type, TypeKind, Value};

use super::{EvalContext, Evaluator};
use crate::block::{CodeBlock, ForeignBlock, PuppetBlock};
use crate::budget::ExhaustedLimit;
use crate::code::{CodeBody, CodeParameter, LoweredSignature, LoweredUnit};
use crate::error::{EvalError, EvalResult, EvalUnwind, raise};
use crate::frame::VariableFrame;
use crate::function::CallArguments;
use crate::loader::LoadedFunction;
use crate::mismatch;

/// Error code for a default that reads a parameter without a value; the call replaces it.
pub(super) const PARAMETER_NOT_READY: &str = "PARAMETER_NOT_READY";

impl Evaluator<'_> {
    /// Calls a block with a fixed number of arguments, as all iteration functions do.
    #[inline(never)]
    pub fn call_block<const N: usize>(
        &mut self,
        block: &CodeBlock,
        arguments: [Value; N],
    ) -> EvalResult {
        let block = match block {
            CodeBlock::Puppet(block) => block,
            CodeBlock::Foreign(block) => {
                return self.call_foreign_block(block, arguments.into());
            }
        };
        let code = block.code();
        if !(code.is_plain && code.parameters.len() == N) {
            return self.call_puppet_block(block, arguments.into());
        }
        self.enter_call()?;
        let frame = block.take_frame();
        for (index, argument) in (0_u16..).zip(arguments) {
            frame.set(index, argument);
        }
        let around = self.enter_region();
        let result = catch_return(self.run_block(block, &frame), false);
        let result = self.leave_region(around, result);
        block.return_frame(frame);
        self.calls -= 1;
        self.note_block_result(result)
    }

    /// Calls a block with any number of arguments.
    pub fn call_block_with(&mut self, block: &CodeBlock, arguments: Vec<Value>) -> EvalResult {
        match block {
            CodeBlock::Puppet(block) => self.call_puppet_block(block, arguments),
            CodeBlock::Foreign(block) => self.call_foreign_block(block, arguments),
        }
    }

    #[inline(never)]
    fn call_foreign_block(&mut self, block: &ForeignBlock, arguments: Vec<Value>) -> EvalResult {
        self.enter_call()?;
        self.pin(&arguments);
        let host = self.host;
        let result = host.call_foreign_block(self, block, arguments);
        self.calls -= 1;
        self.note_block_result(catch_return(result, false))
    }

    fn call_puppet_block(&mut self, block: &PuppetBlock, arguments: Vec<Value>) -> EvalResult {
        self.enter_call()?;
        let frame = block.take_frame();
        let around = self.enter_region();
        let signature = self.signature(&block.unit, block.code);
        let result = signature.and_then(|signature| {
            self.bind(&block.unit, block.code, &frame, &signature, arguments)?;
            let result = catch_return(self.run_block(block, &frame), false)?;
            check_return(block.code(), &signature, result)
        });
        let result = self.leave_region(around, result);
        block.return_frame(frame);
        self.calls -= 1;
        self.note_block_result(result)
    }

    fn run_block(&mut self, block: &PuppetBlock, frame: &Rc<VariableFrame>) -> EvalResult {
        let saved = std::mem::replace(&mut self.matches, block.matches.clone());
        let cx = EvalContext {
            unit: &block.unit,
            frame: Some(frame),
        };
        let result = self.body(cx, block.code().body);
        self.matches = saved;
        result
    }

    /// Calls a function written in Puppet, which sees its parameters, the top scope and, in a
    /// catalog, the node block around the caller.
    #[inline(never)]
    pub(crate) fn call_function_code(
        &mut self,
        unit: &Arc<LoweredUnit>,
        code: u32,
        caller: Option<&Rc<VariableFrame>>,
        arguments: Vec<Value>,
    ) -> EvalResult {
        self.enter_call()?;
        let saved = self.matches.take();
        let frame = VariableFrame::new(unit, code, caller.and_then(VariableFrame::node_block));
        let around = self.enter_region();
        let result = self.run_function(unit, code, &frame, arguments);
        let result = self.leave_region(around, result);
        self.matches = saved;
        self.calls -= 1;
        result
    }

    fn run_function(
        &mut self,
        unit: &Arc<LoweredUnit>,
        index: u32,
        frame: &Rc<VariableFrame>,
        arguments: Vec<Value>,
    ) -> EvalResult {
        let code = unit.code(index);
        let signature = self.signature(unit, index)?;
        if !signature.accepts(&arguments) {
            return raise(misfit(code, &signature, &arguments));
        }
        self.bind(unit, index, frame, &signature, arguments)?;
        let cx = EvalContext {
            unit,
            frame: Some(frame),
        };
        let result = catch_return(self.body(cx, code.body), true)?;
        check_return(code, &signature, result)
    }

    pub(super) fn enter_call(&mut self) -> EvalResult<()> {
        if self.calls >= self.budget.limits().calls_max {
            return Err(self.exhausted_error(&ExhaustedLimit::Calls));
        }
        self.calls += 1;
        Ok(())
    }

    /// Binds arguments and defaults to the slots of a frame.
    fn bind(
        &mut self,
        unit: &Arc<LoweredUnit>,
        index: u32,
        frame: &Rc<VariableFrame>,
        signature: &LoweredSignature,
        arguments: Vec<Value>,
    ) -> EvalResult<()> {
        let code = unit.code(index);
        let given = arguments.len();
        let mut accepted = Vec::with_capacity(given);
        let mut arguments = arguments.into_iter();
        for parameter in &code.parameters {
            if parameter.is_rest {
                let rest: Vec<Value> = arguments.by_ref().collect();
                let rest = self.rest(unit, frame, parameter, rest)?;
                accepted.extend_from_slice(&rest);
                frame.set(parameter.slot, Value::array(rest));
                continue;
            }
            let value = match arguments.next() {
                Some(value) => value,
                None => self.default_of(unit, frame, parameter)?,
            };
            accepted.push(value.clone());
            frame.set(parameter.slot, value);
        }
        // a block ignores arguments beyond its parameters
        if signature.accepts(&accepted) {
            return Ok(());
        }
        let names: Vec<Arc<str>> = code.parameter_names().cloned().collect();
        raise(mismatch::describe_signature(
            &code.name, signature, &names, &accepted,
        ))
    }

    fn rest(
        &mut self,
        unit: &Arc<LoweredUnit>,
        frame: &Rc<VariableFrame>,
        parameter: &CodeParameter,
        given: Vec<Value>,
    ) -> EvalResult<Vec<Value>> {
        let is_missing = match given.as_slice() {
            [] => true,
            [only] => only.is_undef(),
            _ => false,
        };
        if !is_missing || parameter.default.is_none() {
            return Ok(given);
        }
        match self.default_of(unit, frame, parameter)? {
            Value::Array(elements) => Ok(elements.to_vec()),
            other => Ok(vec![other]),
        }
    }

    /// Evaluates the default of a parameter without an argument.
    pub(super) fn default_of(
        &mut self,
        unit: &Arc<LoweredUnit>,
        frame: &Rc<VariableFrame>,
        parameter: &CodeParameter,
    ) -> EvalResult {
        let cx = EvalContext {
            unit,
            frame: Some(frame),
        };
        let Some(default) = parameter.default else {
            let text = format!(
                "Parameter ${} is required but no value was given",
                parameter.name
            );
            return Err(self.fail(cx, parameter.at, "MISSING_REQUIRED_PARAMETER", text));
        };
        let saved = self.matches.clone();
        let result = self.eval(cx, default);
        self.matches = saved;
        result.map_err(|unwind| match *unwind {
            // a default that reads a parameter without a value is a mistake of the call
            EvalUnwind::Error(error) if error.code == PARAMETER_NOT_READY => {
                EvalError::without_location(error.message).into()
            }
            other => Box::new(other),
        })
    }

    /// Signature of a function, block or plan, evaluated at its first call.
    pub(crate) fn signature(
        &mut self,
        unit: &Arc<LoweredUnit>,
        index: u32,
    ) -> EvalResult<Rc<LoweredSignature>> {
        let key = (Arc::as_ptr(unit).addr(), index);
        if let Some(known) = self.shared.signatures.borrow().get(&key) {
            return Ok(Rc::clone(&known.signature));
        }
        let signature = Rc::new(self.make_signature(unit, unit.code(index))?);
        self.shared.signatures.borrow_mut().insert(
            key,
            super::CachedSignature {
                _unit: Arc::clone(unit),
                signature: Rc::clone(&signature),
            },
        );
        Ok(signature)
    }

    /// The type of a block: a `Callable` with its parameters.
    pub(crate) fn block_type(&mut self, block: &CodeBlock) -> EvalResult<Type> {
        match block {
            CodeBlock::Puppet(block) => {
                let signature = self.signature(&block.unit, block.code)?;
                Ok(signature.callable.clone())
            }
            CodeBlock::Foreign(block) => {
                let count = |number: usize| i64::try_from(number).ok();
                let size = IntRange::new(count(block.required), block.most.and_then(count));
                let parameters = TupleType::new(vec![Type::any()], size);
                let callable = CallableType::new(Some(parameters), None, None);
                Ok(Type::callable_of(callable))
            }
        }
    }

    fn make_signature(
        &mut self,
        unit: &Arc<LoweredUnit>,
        code: &CodeBody,
    ) -> EvalResult<LoweredSignature> {
        let cx = EvalContext { unit, frame: None };
        let mut types = Vec::with_capacity(code.parameters.len());
        let (mut least, mut most) = (0_i64, Some(0_i64));
        let mut has_optional = false;
        for parameter in &code.parameters {
            let ty = match parameter.ty {
                Some(ty) => self.type_of_node(cx, ty)?,
                None => Type::any(),
            };
            let (ty, from, to) = counted(parameter, ty);
            types.push(ty);
            if from == 0 {
                has_optional = true;
            } else if has_optional {
                let text = format!(
                    "Parameter ${} is required but appears after optional parameters",
                    parameter.name
                );
                return Err(self.fail(cx, parameter.at, "REQUIRED_PARAMETER_AFTER_OPTIONAL", text));
            }
            least += from;
            most = most.zip(to).map(|(a, b)| a + b);
        }
        let returns = match code.returns {
            Some(ty) => Some(self.type_of_node(cx, ty)?),
            None => None,
        };
        let size = IntRange::new(Some(least), most);
        let tuple = TupleType::new(types.clone(), size);
        let callable = Type::callable_of(CallableType::new(Some(tuple), None, returns.clone()));
        Ok(LoweredSignature {
            types,
            callable,
            returns,
            least: usize::try_from(least).unwrap_or_default(),
            most: most.and_then(|most| usize::try_from(most).ok()),
        })
    }

    /// The error for a block passed to a function written in Puppet, which accepts none.
    #[cold]
    pub(super) fn missing_block_error(
        &mut self,
        found: &LoadedFunction,
        call: &CallArguments<'_>,
    ) -> Box<EvalUnwind> {
        match self.signature(&found.unit, found.code) {
            Ok(signature) => {
                let code = found.unit.code(found.code);
                let names: Vec<Arc<str>> = code.parameter_names().cloned().collect();
                let block = call.block.and_then(|block| self.block_type(block).ok());
                let text = mismatch::unexpected_block(
                    &code.name,
                    &signature,
                    &names,
                    &call.arguments,
                    block,
                );
                EvalError::without_location(text).into()
            }
            Err(unwind) => unwind,
        }
    }
}

/// The message for arguments that the code does not accept.
#[cold]
fn misfit(code: &CodeBody, signature: &LoweredSignature, arguments: &[Value]) -> String {
    let names: Vec<Arc<str>> = code.parameter_names().cloned().collect();
    mismatch::describe_signature(&code.name, signature, &names, arguments)
}

/// The type of each argument of a parameter, with the minimum and maximum number of arguments.
fn counted(parameter: &CodeParameter, ty: Type) -> (Type, i64, Option<i64>) {
    if parameter.is_rest {
        if let Some(TypeKind::Array { element, size }) = ty.unaliased().map(Type::kind) {
            let size = size.unwrap_or(IntRange::ANY_SIZE);
            return (element.clone(), size.from().unwrap_or(0), size.to());
        }
        return (ty, 0, None);
    }
    let least = i64::from(parameter.default.is_none());
    (ty, least, Some(1))
}

impl LoweredSignature {
    /// The type of the argument at an index; the last one repeats.
    pub(crate) fn type_at(&self, index: usize) -> Option<&Type> {
        self.types.get(index).or(self.types.last())
    }

    pub(crate) fn accepts(&self, arguments: &[Value]) -> bool {
        arguments.len() >= self.least
            && self.most.is_none_or(|most| arguments.len() <= most)
            && arguments.iter().enumerate().all(|(index, argument)| {
                self.type_at(index)
                    .is_some_and(|ty| ty.is_instance(argument))
            })
    }
}

/// Converts jumps that end at this code to its value: `next`, and for functions `return`.
pub(crate) fn catch_return(result: EvalResult, is_function: bool) -> EvalResult {
    match result {
        Err(unwind) => match *unwind {
            EvalUnwind::Next(jump) => Ok(jump.value),
            EvalUnwind::Return(jump) if is_function => Ok(jump.value),
            other => Err(Box::new(other)),
        },
        value => value,
    }
}

pub(crate) fn check_return(
    code: &CodeBody,
    signature: &LoweredSignature,
    value: Value,
) -> EvalResult {
    match &signature.returns {
        Some(ty) if !ty.is_instance(&value) => raise(mismatch::return_mismatch(
            &format!("value returned from {}", code.name),
            ty,
            &value,
        )),
        _ => Ok(value),
    }
}
