//! Lookup of type names: built-in types, aliases of the environment and of modules, resource types.

use std::rc::Rc;
use std::sync::Arc;

use pcore::{Type, Value};

use super::access::relative_name;
use super::{EvalContext, Evaluator};
use crate::error::{EvalError, EvalResult, EvalUnwind};
use crate::suggest;

impl Evaluator<'_> {
    #[inline(never)]
    pub(super) fn type_name(&mut self, cx: EvalContext<'_>, at: u32, name: &str) -> EvalResult {
        match self.find_type(cx, name)? {
            Some(ty) => Ok(Value::Type(ty)),
            None => Err(self.unknown_type(cx, at, name)),
        }
    }

    /// The type with a name; `None` if there is none.
    pub(crate) fn find_type(
        &mut self,
        cx: EvalContext<'_>,
        name: &str,
    ) -> EvalResult<Option<Type>> {
        let name = relative_name(name);
        if let Some((_, ty)) = self.local_types.iter().find(|(it, _)| *it == name) {
            return Ok(Some(ty.clone()));
        }
        if let Some(ty) = Type::builtin(&name) {
            return Ok(Some(ty));
        }
        if RESOURCE_TYPES.contains(&name.to_lowercase().as_str()) {
            return Ok(Some(Type::resource_of(capitalized(&name), None)));
        }
        let shared = Rc::clone(&self.shared);
        if let Some(ty) = self.host.named_type(&name) {
            return Ok(Some(ty));
        }
        if let Some(ty) = shared.loader.alias(self, cx.unit, &name)? {
            return Ok(Some(ty));
        }
        match self.host.catalog() {
            Some(catalog) => catalog.resource_type(self, &name),
            None => Ok(None),
        }
    }

    #[cold]
    fn unknown_type(&self, cx: EvalContext<'_>, at: u32, name: &str) -> Box<EvalUnwind> {
        let mut error = EvalError::with_location(
            "UNKNOWN_RESOURCE_TYPE",
            format!("Resource type not found: {name}"),
            cx.unit.location_at(at),
        );
        if let Some(similar) = suggest::similar(name, TYPE_NAMES.into_iter()) {
            error = error.with_hint(format!("did you mean '{similar}'?"));
        }
        error.into()
    }
}

/// Normalizes a type name: each segment starts with a capital letter.
pub(crate) fn capitalized(name: &str) -> Arc<str> {
    name.split("::")
        .map(|segment| {
            let mut letters = segment.chars();
            match letters.next() {
                Some(first) => first.to_uppercase().chain(letters).collect(),
                None => String::new(),
            }
        })
        .collect::<Vec<String>>()
        .join("::")
        .into()
}

/// The resource types that Puppet has without any module.
const RESOURCE_TYPES: [&str; 29] = [
    "augeas",
    "component",
    "cron",
    "exec",
    "file",
    "filebucket",
    "group",
    "host",
    "mount",
    "node",
    "notify",
    "package",
    "resources",
    "schedule",
    "scheduled_task",
    "selboolean",
    "selmodule",
    "service",
    "ssh_authorized_key",
    "sshkey",
    "stage",
    "tidy",
    "user",
    "whit",
    "yumrepo",
    "zfs",
    "zone",
    "zpool",
    "anchor",
];

/// The candidates for the suggestion after a mistyped type name.
const TYPE_NAMES: [&str; 42] = [
    "Any",
    "Array",
    "Binary",
    "Boolean",
    "Callable",
    "CatalogEntry",
    "Class",
    "Collection",
    "Data",
    "Default",
    "Deferred",
    "Enum",
    "Error",
    "Float",
    "Hash",
    "Init",
    "Integer",
    "Iterable",
    "Iterator",
    "NotUndef",
    "Numeric",
    "Object",
    "Optional",
    "Pattern",
    "Regexp",
    "Resource",
    "RichData",
    "Runtime",
    "Scalar",
    "ScalarData",
    "SemVer",
    "SemVerRange",
    "Sensitive",
    "String",
    "Struct",
    "Timespan",
    "Timestamp",
    "Tuple",
    "Type",
    "Undef",
    "URI",
    "Variant",
];
