//! Walks through a type and all types in it: [`visit`], [`Type::nesting`].
//!
//! Invariant: each alias and each named object is entered once, so the walk ends.

use super::{Type, TypeKind};
use crate::fast_hash::FastHashMap;

impl Type {
    /// Levels of types inside each other, 0 for one without parameters. Levels from `limit` on are not counted,
    /// and neither are the parts of aliases and objects, which are not written inside.
    #[must_use]
    pub fn nesting(&self, limit: u32) -> u32 {
        let mut waiting = vec![(self, 0)];
        let mut deepest = 0;
        // a type that is reached twice at the same level is looked at once
        let mut seen: FastHashMap<usize, u32> = FastHashMap::default();
        while let Some((ty, level)) = waiting.pop() {
            deepest = deepest.max(level);
            if level >= limit {
                return limit;
            }
            let parts = parts_of(ty);
            if parts.is_empty() {
                continue;
            }
            match seen.get_mut(&ty.address()) {
                Some(before) if *before >= level => continue,
                Some(before) => *before = level,
                None => drop(seen.insert(ty.address(), level)),
            }
            waiting.extend(parts.into_iter().map(|part| (part, level + 1)));
        }
        deepest
    }
}

/// Types that are written inside a type.
fn parts_of(ty: &Type) -> Vec<&Type> {
    match ty.kind() {
        TypeKind::Array { element, .. } => vec![element],
        TypeKind::Hash { key, value, .. } => vec![key, value],
        TypeKind::Tuple(tuple) => tuple.types.iter().collect(),
        TypeKind::Struct(elements) => elements.iter().map(|element| &element.value).collect(),
        TypeKind::Variant(types) => types.iter().collect(),
        TypeKind::Optional(Some(inner))
        | TypeKind::NotUndef(Some(inner))
        | TypeKind::Type(Some(inner))
        | TypeKind::Iterable(Some(inner))
        | TypeKind::Iterator(Some(inner))
        | TypeKind::Sensitive(inner) => vec![inner],
        TypeKind::Init(init) => init.ty.iter().collect(),
        TypeKind::Callable(callable) => {
            let parameters = callable.parameters.iter().flat_map(|it| it.types.iter());
            parameters
                .chain(&callable.block)
                .chain(&callable.returns)
                .collect()
        }
        _ => Vec::new(),
    }
}

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
