//! The functions by their names.

use std::collections::HashMap;
use std::sync::OnceLock;

use evaluator::function::NativeFunction;

use crate::functions;

fn registry() -> &'static HashMap<&'static str, NativeFunction> {
    static REGISTRY: OnceLock<HashMap<&'static str, NativeFunction>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        functions::all()
            .flat_map(|family| family.iter())
            .map(|function| (function.name, NativeFunction::new(*function)))
            .collect()
    })
}

/// The function with a name; `None` if this crate has no such function.
#[must_use]
pub fn function(name: &str) -> Option<&'static NativeFunction> {
    registry().get(name)
}

/// The names of all functions, in no particular order.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    registry().keys().copied()
}
