//! The functions by their names.

use std::collections::HashMap;
use std::sync::OnceLock;

use evaluator::function::Native;

use crate::functions;

fn registry() -> &'static HashMap<&'static str, Native> {
    static REGISTRY: OnceLock<HashMap<&'static str, Native>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        functions::all()
            .flat_map(|family| family.iter())
            .map(|function| (function.name, Native::new(*function)))
            .collect()
    })
}

/// The function of a name.
#[must_use]
pub fn function(name: &str) -> Option<&'static Native> {
    registry().get(name)
}

/// The names of all functions.
pub fn function_names() -> impl Iterator<Item = &'static str> {
    registry().keys().copied()
}
