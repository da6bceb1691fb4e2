//! Functions in Ruby for Puppet 4 whose code is native. Main types: [`RubyFunction`], [`TypedRubyFunction`].

use pcore::{Type, Value};

use crate::defaults::TEMPLATE_MAX;
use crate::error::{NativeRubyError, NotNative};
use crate::function_syntax::{RubyDispatch, RubyMethod, RubyParameterKind};
use crate::interpreter::Interpreter;
use crate::parser::Parser;
use crate::scope::RubyScope;

/// A function whose file is native. It is immutable and can be called by several threads.
///
/// A call has no effect, so Ruby may repeat a call that turned out not to be native.
#[derive(Debug)]
pub struct RubyFunction {
    name: String,
    dispatches: Vec<RubyDispatch>,
    methods: Vec<RubyMethod>,
}

/// A function that can be called.
#[derive(Debug)]
pub struct TypedRubyFunction {
    function: RubyFunction,
    /// Types of each dispatch.
    types: Vec<DispatchTypes>,
}

#[derive(Debug)]
struct DispatchTypes {
    parameters: Vec<Type>,
    returned: Option<Type>,
}

// === impl RubyFunction ===

impl RubyFunction {
    /// Reads the file of a function; the error names the first construct for which Ruby is needed.
    pub fn parse(text: &str) -> Result<Self, NotNative> {
        if text.len() > TEMPLATE_MAX || text.bytes().any(|byte| (1..=4).contains(&byte)) {
            return Err(NotNative {
                reason: "a long file, or one with control characters".to_owned(),
                line: 1,
            });
        }
        let file = Parser::for_function(text).parse_function_file()?;
        Ok(Self {
            name: file.name,
            dispatches: file.dispatches,
            methods: file.methods,
        })
    }

    /// The name that the file gives to the function, such as `mysql::password`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The function with its types, which `resolve` finds by their notation.
    pub fn with_types<E>(
        self,
        resolve: &mut dyn FnMut(&str) -> Result<Type, E>,
    ) -> Result<TypedRubyFunction, E> {
        let mut types = Vec::with_capacity(self.dispatches.len());
        for dispatch in &self.dispatches {
            let parameters = dispatch.parameters.iter();
            let parameters = parameters.map(|parameter| resolve(&parameter.type_text));
            types.push(DispatchTypes {
                parameters: parameters.collect::<Result<_, E>>()?,
                returned: match &dispatch.return_type {
                    Some(text) => Some(resolve(text)?),
                    None => None,
                },
            });
        }
        Ok(TypedRubyFunction {
            function: self,
            types,
        })
    }
}

// === impl TypedRubyFunction ===

impl TypedRubyFunction {
    /// Calls the function without a block; `scope` is the global scope. A call whose arguments no dispatch
    /// takes, and a result of another type, is an error that Ruby reports.
    pub fn call(
        &self,
        arguments: &[Value],
        scope: &mut dyn RubyScope,
    ) -> Result<Value, NativeRubyError> {
        let dispatches = self.function.dispatches.iter().zip(&self.types);
        let mut fitting = dispatches.filter(|(dispatch, types)| takes(dispatch, types, arguments));
        let Some((dispatch, types)) = fitting.next() else {
            return Err(not_native("arguments that no dispatch takes"));
        };
        let interpreter = Interpreter::of_methods(&self.function.methods, scope);
        let result = interpreter.call_dispatch(&dispatch.method, arguments)?;
        match &types.returned {
            Some(returned) if !returned.is_instance(&result) => {
                Err(not_native("a result of another type"))
            }
            _ => Ok(result),
        }
    }
}

fn not_native(reason: &str) -> NativeRubyError {
    NativeRubyError::NotNative {
        reason: NotNative {
            reason: reason.to_owned(),
            line: 1,
        },
        calls: 0,
    }
}

/// True if a dispatch takes these arguments.
fn takes(dispatch: &RubyDispatch, types: &DispatchTypes, arguments: &[Value]) -> bool {
    let count = |kinds: &[RubyParameterKind]| {
        let parameters = dispatch.parameters.iter();
        parameters.filter(|it| kinds.contains(&it.kind)).count()
    };
    let least = count(&[
        RubyParameterKind::Required,
        RubyParameterKind::RequiredRepeated,
    ]);
    let has_rest = count(&[
        RubyParameterKind::Repeated,
        RubyParameterKind::RequiredRepeated,
    ]) > 0;
    if arguments.len() < least || (arguments.len() > dispatch.parameters.len() && !has_rest) {
        return false;
    }
    let last = types.parameters.len().saturating_sub(1);
    arguments.iter().enumerate().all(|(index, argument)| {
        let parameter = types.parameters.get(index.min(last));
        parameter.is_some_and(|parameter| parameter.is_instance(argument))
    })
}
