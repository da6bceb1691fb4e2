//! The functions that are always there, by name.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::NativeFunction;
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

/// The core function of a name.
pub(crate) fn core(name: &str) -> Option<&'static NativeFunction> {
    registry().get(name)
}

/// The names of all core functions.
pub(crate) fn core_names() -> impl Iterator<Item = &'static str> {
    registry().keys().copied()
}
