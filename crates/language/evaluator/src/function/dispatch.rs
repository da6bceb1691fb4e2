//! Selection of the dispatch that accepts a call.

use pcore::{CallableType, IntRange, TupleType, Type, Value};

use super::{
    BlockParameter, CallArguments, DispatchBody, FunctionDispatch, NativeFunction, ParameterCount,
    TypedBlock, TypedDispatch,
};
use crate::Evaluator;
use crate::block::CodeBlock;
use crate::error::{EvalResult, raise};
use crate::mismatch;

impl NativeFunction {
    /// Runs the first dispatch that accepts the arguments and the block.
    pub(crate) fn call(
        &'static self,
        evaluator: &mut Evaluator<'_>,
        call: CallArguments<'_>,
    ) -> EvalResult {
        match evaluator.looks_ahead {
            true => evaluator.call_with_unknown(self, call),
            false => self.dispatch(evaluator, call),
        }
    }

    /// Same as [`call`](Self::call), without special treatment of unknown arguments.
    pub(crate) fn dispatch(
        &'static self,
        evaluator: &mut Evaluator<'_>,
        call: CallArguments<'_>,
    ) -> EvalResult {
        let forms = self.ready(evaluator)?;
        for (form, ready) in self.function.forms.iter().zip(forms) {
            if !ready.accepts(evaluator, &call.arguments, call.block)? {
                continue;
            }
            let name = self.function.name;
            let value = match form.run {
                DispatchBody::Call(run) => run(evaluator, call)?,
                DispatchBody::Host => {
                    evaluator.pin(&call.arguments);
                    evaluator.host.run(name, evaluator, call)?
                }
                DispatchBody::Mismatch(say) => {
                    return raise(format!("'{name}' {}", say(&call.arguments)));
                }
            };
            return match &ready.returns {
                Some(ty) if !ty.is_instance(&value) => raise(mismatch::return_mismatch(
                    &format!("value returned from function '{name}'"),
                    ty,
                    &value,
                )),
                _ => evaluator.check_result(value),
            };
        }
        raise(self.mismatch(evaluator, forms, &call))
    }

    fn ready(&'static self, evaluator: &mut Evaluator<'_>) -> EvalResult<&'static [TypedDispatch]> {
        if let Some(forms) = self.forms.get() {
            return Ok(forms);
        }
        let mut forms = Vec::with_capacity(self.function.forms.len());
        for form in self.function.forms {
            forms.push(TypedDispatch::of(
                evaluator,
                form,
                self.function.local_types,
            )?);
        }
        Ok(self.forms.get_or_init(|| forms))
    }

    #[cold]
    fn mismatch(
        &self,
        evaluator: &mut Evaluator<'_>,
        forms: &[TypedDispatch],
        call: &CallArguments<'_>,
    ) -> String {
        let described: Vec<mismatch::DescribedCallable<'_>> = self
            .function
            .forms
            .iter()
            .zip(forms)
            .filter(|(form, _)| !matches!(form.run, DispatchBody::Mismatch(_)))
            .map(|(form, ready)| mismatch::DescribedCallable {
                callable: &ready.callable,
                names: form.parameters.iter().map(|it| it.name.into()).collect(),
            })
            .collect();
        let block = call
            .block
            .and_then(|block| evaluator.block_type(block).ok());
        mismatch::describe_forms(self.function.name, &described, &call.arguments, block)
    }
}

impl TypedDispatch {
    fn of(
        evaluator: &mut Evaluator<'_>,
        form: &FunctionDispatch,
        local_types: &[(&str, &str)],
    ) -> EvalResult<Self> {
        let mut types = Vec::with_capacity(form.parameters.len());
        let (mut least, mut most) = (0, Some(0));
        for parameter in form.parameters {
            types.push(evaluator.parse_type(parameter.ty, local_types)?);
            let (from, to) = match parameter.count {
                ParameterCount::One => (1, Some(1)),
                ParameterCount::AtMostOne => (0, Some(1)),
                ParameterCount::Any => (0, None),
                ParameterCount::AtLeastOne => (1, None),
            };
            least += from;
            most = most.zip(to).map(|(a, b): (usize, usize)| a + b);
        }
        let block = TypedBlock::of(evaluator, form.block, local_types)?;
        let returns = match form.returns {
            Some(ty) => Some(evaluator.parse_type(ty, local_types)?),
            None => None,
        };
        let size = IntRange::new(
            i64::try_from(least).ok(),
            most.and_then(|it| i64::try_from(it).ok()),
        );
        let callable = Type::callable_of(CallableType::new(
            Some(TupleType::new(types.clone(), size)),
            block.as_type(),
            returns.clone(),
        ));
        Ok(Self {
            types,
            least,
            most,
            block,
            returns,
            callable,
        })
    }

    fn accepts(
        &self,
        evaluator: &mut Evaluator<'_>,
        arguments: &[Value],
        block: Option<&CodeBlock>,
    ) -> EvalResult<bool> {
        let count = arguments.len();
        if count < self.least || self.most.is_some_and(|most| count > most) {
            return Ok(false);
        }
        let fit = arguments.iter().enumerate().all(|(index, argument)| {
            self.types
                .get(index)
                .or(self.types.last())
                .is_some_and(|ty| ty.is_instance(argument))
        });
        if !fit {
            return Ok(false);
        }
        let Some(block) = block else {
            return Ok(!self.block.is_required());
        };
        match &self.block {
            TypedBlock::None => Ok(false),
            TypedBlock::Any(_) => Ok(true),
            TypedBlock::Arity(arguments, _) => Ok(block.accepts_arity(*arguments)),
            TypedBlock::Callable(ty, _) => {
                let given = evaluator.block_type(block)?;
                Ok(ty.is_assignable(&given))
            }
        }
    }
}

impl TypedBlock {
    fn of(
        evaluator: &mut Evaluator<'_>,
        block: BlockParameter,
        local_types: &[(&str, &str)],
    ) -> EvalResult<Self> {
        let (text, required) = match block {
            BlockParameter::None => return Ok(Self::None),
            BlockParameter::Optional(text) => (text, false),
            BlockParameter::Required(text) => (text, true),
        };
        Ok(match text {
            "" => Self::Any(required),
            "Callable[0,0]" => Self::Arity(0, required),
            "Callable[1,1]" => Self::Arity(1, required),
            "Callable[2,2]" => Self::Arity(2, required),
            other => Self::Callable(evaluator.parse_type(other, local_types)?, required),
        })
    }

    fn is_required(&self) -> bool {
        match self {
            Self::None => false,
            Self::Any(required) | Self::Arity(_, required) | Self::Callable(_, required) => {
                *required
            }
        }
    }

    fn as_type(&self) -> Option<Type> {
        let ty = match self {
            Self::None => return None,
            Self::Any(_) => Type::callable(),
            Self::Arity(arguments, _) => {
                let size = IntRange::exactly(i64::try_from(*arguments).unwrap_or(i64::MAX));
                let tuple = TupleType::new(vec![Type::unit()], Some(size));
                Type::callable_of(CallableType::new(Some(tuple), None, None))
            }
            Self::Callable(ty, _) => ty.clone(),
        };
        Some(if self.is_required() {
            ty
        } else {
            Type::optional_of(ty)
        })
    }
}
