//! The functions that are always there, by name and by number.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{FunctionDoc, FunctionSpec, NativeFunction};
use crate::code::CoreFunctionId;
use crate::functions;

struct CoreFunctions {
    /// In the order of their numbers.
    functions: Vec<NativeFunction>,
    by_name: HashMap<&'static str, CoreFunctionId>,
}

fn registry() -> &'static CoreFunctions {
    static REGISTRY: OnceLock<CoreFunctions> = OnceLock::new();
    REGISTRY.get_or_init(|| CoreFunctions {
        functions: core_functions().copied().map(NativeFunction::new).collect(),
        by_name: core_functions()
            .zip(0..)
            .map(|(function, number)| (function.name, CoreFunctionId(number)))
            .collect(),
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

impl NativeFunction {
    /// The core function of a name.
    pub(crate) fn core(name: &str) -> Option<&'static Self> {
        Self::core_id(name).map(Self::of_core_id)
    }

    /// Number of the core function of a name, as lowered code has it.
    pub(crate) fn core_id(name: &str) -> Option<CoreFunctionId> {
        registry().by_name.get(name).copied()
    }

    pub(crate) fn of_core_id(id: CoreFunctionId) -> &'static Self {
        &registry().functions[usize::from(id.0)]
    }

    /// The names of all core functions.
    pub(crate) fn core_names() -> impl Iterator<Item = &'static str> {
        registry().by_name.keys().copied()
    }
}
