//! The functions that are always there, by name.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{FunctionDoc, FunctionSpec, NativeFunction};
use crate::functions;

fn registry() -> &'static HashMap<&'static str, NativeFunction> {
    static REGISTRY: OnceLock<HashMap<&'static str, NativeFunction>> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        core_functions()
            .map(|function| (function.name, NativeFunction::new(*function)))
            .collect()
    })
}

/// The functions that are always there.
pub fn core_functions() -> impl Iterator<Item = &'static FunctionSpec> {
    functions::all().flatten()
}

/// The documentation of [`core_functions`], in alphabetical order.
pub fn core_docs() -> &'static [FunctionDoc] {
    functions::DOCS
}

/// The core function of a name.
pub(crate) fn core(name: &str) -> Option<&'static NativeFunction> {
    registry().get(name)
}

/// The names of all core functions.
pub(crate) fn core_names() -> impl Iterator<Item = &'static str> {
    registry().keys().copied()
}
