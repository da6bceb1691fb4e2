//! A walk through a type and all types in it: [`visit`].
//!
//! Invariant: each alias and each named object is entered once, so the walk ends.

use super::{Type, TypeKind};

/// Calls `call` for the type and for every type in it, as long as it returns true.
pub(crate) fn visit(ty: &Type, call: &mut dyn FnMut(&Type) -> bool) {
    TypeWalk {
        entered: Vec::new(),
        call,
        stopped: false,
    }
    .enter(ty);
}

struct TypeWalk<'a> {
    entered: Vec<usize>,
    call: &'a mut dyn FnMut(&Type) -> bool,
    stopped: bool,
}

impl TypeWalk<'_> {
    fn enter(&mut self, ty: &Type) {
        if self.stopped {
            return;
        }
        if !(self.call)(ty) {
            self.stopped = true;
            return;
        }
        match ty.kind() {
            TypeKind::Array { element, .. } => self.enter(element),
            TypeKind::Hash { key, value, .. } => {
                self.enter(key);
                self.enter(value);
            }
            TypeKind::Tuple(tuple) => tuple.types.iter().for_each(|ty| self.enter(ty)),
            TypeKind::Struct(elements) => {
                for element in elements {
                    self.enter(&element.value);
                }
            }
            TypeKind::Variant(types) => types.iter().for_each(|ty| self.enter(ty)),
            TypeKind::Optional(Some(inner))
            | TypeKind::NotUndef(Some(inner))
            | TypeKind::Type(Some(inner))
            | TypeKind::Iterable(Some(inner))
            | TypeKind::Iterator(Some(inner))
            | TypeKind::Sensitive(inner) => self.enter(inner),
            TypeKind::Init(init) => init.ty.iter().for_each(|ty| self.enter(ty)),
            TypeKind::Callable(callable) => {
                if let Some(parameters) = &callable.parameters {
                    parameters.types.iter().for_each(|ty| self.enter(ty));
                }
                callable.block.iter().for_each(|ty| self.enter(ty));
                callable.returns.iter().for_each(|ty| self.enter(ty));
            }
            TypeKind::Alias(alias) => {
                if let Some(resolved) = alias.resolved().filter(|_| self.is_new(ty.address())) {
                    self.enter(resolved);
                }
            }
            TypeKind::Object(object) => {
                let address = std::sync::Arc::as_ptr(object).addr();
                if let Some(body) = object.body().filter(|_| self.is_new(address)) {
                    body.parent.iter().for_each(|ty| self.enter(ty));
                    for attribute in body.attributes.values() {
                        self.enter(&attribute.ty);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_new(&mut self, address: usize) -> bool {
        let new = !self.entered.contains(&address);
        if new {
            self.entered.push(address);
        }
        new
    }
}
