//! `lookup`, which is the host's, and what needs a catalog.

use crate::Evaluator;
use crate::error::{Eval, EvalError};
use crate::function::{Call, Form, Function, any};

macro_rules! catalog {
    ($($name:literal),+) => {
        &[
            Function::new("lookup", &[Form::new(&[any("Any", "arguments")], lookup).with_optional_block("")]),
            $(Function::new($name, &[Form::new(&[any("Any", "arguments")], needs_catalog).with_optional_block("")]),)+
        ]
    };
}

pub(super) static FUNCTIONS: &[Function] = catalog!(
    "include",
    "require",
    "contain",
    "realize",
    "tag",
    "tagged",
    "create_resources",
    "hiera_include"
);

fn lookup(evaluator: &mut Evaluator<'_>, mut call: Call<'_>) -> Eval {
    let host = evaluator.host();
    host.lookup(evaluator, &mut call)
}

/// A host with a catalog carries it out; else there is an error at the line of the call, as in Puppet.
fn needs_catalog(evaluator: &mut Evaluator<'_>, mut call: Call<'_>) -> Eval {
    let host = evaluator.host();
    if let Some(result) = host.unknown_function(evaluator, &mut call) {
        return result;
    }
    let text = format!(
        "The catalog operation '{}' is only available when compiling a catalog",
        call.name
    );
    let mut place = call.place();
    place.column = 0;
    Err(EvalError::preformatted(
        "CATALOG_OPERATION_NOT_SUPPORTED_WHEN_SCRIPTING",
        text,
        place,
    )
    .into())
}
