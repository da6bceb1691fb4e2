//! The names that the code of one module defines, imports and mentions: [`NamedPaths`].
//!
//! Invariant: code of tests, attributes and the modules within this one are left out.

use std::collections::BTreeSet;

use syn::buffer::Cursor;
use syn::parse::Parser as _;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// A path as its segments, without generic arguments.
type PathSegments = Vec<String>;

#[derive(Debug, Default)]
pub(super) struct NamedPaths {
    /// Names of the items that stand in the module.
    pub(super) items: BTreeSet<String>,
    pub(super) uses: Vec<UsedName>,
    /// Paths in code, also those of one segment.
    pub(super) code_paths: BTreeSet<PathSegments>,
}

/// One name that a `use` declaration brings into the module.
#[derive(Debug)]
pub(super) struct UsedName {
    pub(super) path: PathSegments,
    /// False for a `use` without `pub`.
    pub(super) is_reexport: bool,
    local_name: LocalName,
}

#[derive(Debug, PartialEq, Eq)]
enum LocalName {
    Name(String),
    /// `use path::*`
    All,
}

impl UsedName {
    pub(super) fn is_named(&self, name: &str) -> bool {
        matches!(&self.local_name, LocalName::Name(local) if local == name)
    }

    pub(super) fn is_glob(&self) -> bool {
        self.local_name == LocalName::All
    }
}

impl NamedPaths {
    pub(super) fn read(items: &[Item]) -> Self {
        let mut names = Self::default();
        for item in items {
            names.visit_item(item);
            if !Self::is_test_code(attributes(item)) {
                names.items.extend(defined_name(item));
            }
        }
        names
    }

    pub(super) fn is_test_code(attributes: &[Attribute]) -> bool {
        attributes.iter().any(|attribute| {
            attribute.path().is_ident("test")
                || attribute.path().is_ident("cfg")
                    && attribute
                        .parse_args::<syn::Path>()
                        .is_ok_and(|condition| condition.is_ident("test"))
        })
    }

    fn add_uses(&mut self, tree: &UseTree, mut path: PathSegments, is_reexport: bool) {
        let mut add = |path: PathSegments, local_name| {
            self.uses.push(UsedName {
                path,
                is_reexport,
                local_name,
            });
        };
        match tree {
            UseTree::Path(step) => {
                path.push(step.ident.to_string());
                self.add_uses(&step.tree, path, is_reexport);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_uses(tree, path.clone(), is_reexport);
                }
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                if name != "self" {
                    path.push(name);
                }
                if let Some(local) = path.last().cloned() {
                    add(path, LocalName::Name(local));
                }
            }
            UseTree::Rename(rename) => {
                path.push(rename.ident.to_string());
                add(path, LocalName::Name(rename.rename.to_string()));
            }
            UseTree::Glob(_) => add(path, LocalName::All),
        }
    }

    /// Reads the arguments of a macro, which need not be Rust's grammar.
    fn add_tokens(&mut self, mut cursor: Cursor<'_>) {
        let mut path = PathSegments::new();
        let mut colons = 0;
        while !cursor.eof() {
            if let Some((name, rest)) = cursor.ident() {
                if colons != 2 {
                    self.add_path(std::mem::take(&mut path));
                }
                path.push(name.to_string());
                colons = 0;
                cursor = rest;
                continue;
            }
            if let Some((punct, rest)) = cursor.punct() {
                colons = if punct.as_char() == ':' {
                    colons + 1
                } else {
                    0
                };
                cursor = rest;
            } else if let Some((inner, _, _, rest)) = cursor.any_group() {
                colons = 0;
                self.add_tokens(inner);
                cursor = rest;
            } else if let Some((_, rest)) = cursor.token_tree() {
                colons = 0;
                cursor = rest;
            }
            if colons == 0 {
                self.add_path(std::mem::take(&mut path));
            }
        }
        self.add_path(path);
    }

    fn add_path(&mut self, path: PathSegments) {
        if !path.is_empty() {
            self.code_paths.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for NamedPaths {
    fn visit_item(&mut self, item: &'ast Item) {
        if !Self::is_test_code(attributes(item)) && !matches!(item, Item::Mod(_)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if item.leading_colon.is_none() {
            let is_reexport = !matches!(item.vis, Visibility::Inherited);
            self.add_uses(&item.tree, PathSegments::new(), is_reexport);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !Self::is_test_code(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            let segments = path.segments.iter();
            self.add_path(segments.map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        // a name of one segment is a macro of Rust, or imported, or in textual scope
        if call.path.segments.len() > 1 {
            self.visit_path(&call.path);
        }
        let read = |input: syn::parse::ParseStream<'_>| {
            input.step(|cursor| {
                self.add_tokens(*cursor);
                let mut rest = *cursor;
                while let Some((_, next)) = rest.token_tree() {
                    rest = next;
                }
                Ok(((), rest))
            })
        };
        // every token has been taken: nothing is left that could be an error
        let _ = read.parse2(call.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}
