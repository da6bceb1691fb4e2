//! The functions by their names.

use std::collections::HashMap;
use std::sync::OnceLock;

use evaluator::function::{FunctionDoc, FunctionSpec, NativeFunction};

use crate::functions;

fn registry() -> &'static HashMap<&'static str, NativeFunction> {
    static REGISTRY: OnceLock<HashMap<&'static str, NativeFunction>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        function_specs()
            .map(|function| (function.name, NativeFunction::new(*function)))
            .collect()
    })
}

/// The function with a name; `None` if this crate has no such function.
#[must_use]
pub fn function(name: &str) -> Option<&'static NativeFunction> {
    registry().get(name)
}

/// All functions of this crate.
pub fn function_specs() -> impl Iterator<Item = &'static FunctionSpec> {
    functions::all().flatten()
}

/// The documentation of all functions, in alphabetical order.
#[must_use]
pub fn function_docs() -> &'static [FunctionDoc] {
    functions::DOCS
}

/// The names of all functions, in no particular order.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    registry().keys().copied()
}
