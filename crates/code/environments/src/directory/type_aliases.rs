//! Type aliases of an environment, for the types of parameters: [`TypeAliases`].
//!
//! Invariant: each file is read once for one reader, a name means the same until the reader is
//! dropped, and aliases that lead to each other end at [`TYPE_ALIAS_DEPTH`].

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use pcore::{AliasFile, NamedTypeAlias, Type};

use super::DirectoryVersion;
use crate::defaults::TYPE_ALIAS_DEPTH;
use crate::task::check_size;

/// `TargetSpec` for values of JSON: a name of a target, or an array of them at any depth.
static TARGET_SPEC: LazyLock<Type> = LazyLock::new(|| {
    let alias = NamedTypeAlias::declare("TargetSpec");
    let itself = Type::from(Arc::clone(&alias));
    let names = Type::variant(vec![
        Type::non_empty_string(),
        Type::array_of(itself.clone()),
    ]);
    // This cannot fail: the variant has a type that is not an alias.
    let _ = alias.resolve(&names);
    itself
});

/// Finds type aliases of one version of an environment.
pub(super) struct TypeAliases<'a> {
    version: &'a DirectoryVersion,
    cache: RefCell<HashMap<String, Option<Type>>>,
    depth: Cell<usize>,
}

impl<'a> TypeAliases<'a> {
    pub(super) fn new(version: &'a DirectoryVersion) -> Self {
        Self {
            version,
            cache: RefCell::default(),
            depth: Cell::new(0),
        }
    }

    /// The alias of this name, in any case of letters, as Puppet's loaders find it.
    pub(super) fn find_alias(&self, name: &str) -> Option<Type> {
        let name = name.to_lowercase();
        if matches!(&*name, "targetspec" | "boltlib::targetspec") {
            return Some(TARGET_SPEC.clone());
        }
        if let Some(ty) = stdlib::named_type(&name) {
            return Some(ty);
        }
        if let Some(known) = self.cache.borrow().get(&name) {
            return known.clone();
        }
        if self.depth.get() >= TYPE_ALIAS_DEPTH {
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let found = self.read_alias(&name);
        self.depth.set(self.depth.get() - 1);
        self.cache.borrow_mut().insert(name, found.clone());
        found
    }

    fn read_alias(&self, name: &str) -> Option<Type> {
        let text = self.read_source(name)?;
        check_size(&text).ok()?;
        let file = AliasFile::parse(&text).ok()?;
        if !file.name().eq_ignore_ascii_case(name) {
            return None;
        }
        let alias = NamedTypeAlias::declare(file.name());
        let ty = Type::from(Arc::clone(&alias));
        // While its file is parsed, the name refers to the alias itself, so it may be recursive.
        self.cache
            .borrow_mut()
            .insert(name.to_owned(), Some(ty.clone()));
        file.resolve(&alias, &|name| self.find_alias(name)).ok()?;
        Some(ty)
    }

    /// Reads the file of a name: the environment's or the module's `types/init.pp` for plain names,
    /// otherwise a file below `types` of the module that the name begins with.
    fn read_source(&self, name: &str) -> Option<String> {
        let read = |module: Option<&str>, path: &str| {
            let source = self.version.read_source(module, path).ok().flatten()?;
            String::from_utf8(source.content).ok()
        };
        match name.split_once("::") {
            None => read(None, &format!("types/{name}.pp"))
                .or_else(|| read(Some(name), "types/init.pp")),
            Some((module, rest)) => read(
                Some(module),
                &format!("types/{}.pp", rest.replace("::", "/")),
            ),
        }
    }
}
