//! The modules of one crate and the names in them, read from its source text: [`ModuleTree`].
//!
//! Invariant: a name that a module re-exports leads to the file that defines it, and code of tests
//! is not read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::named_paths::{NamedPaths, UsedName};

/// A chain of `use` declarations longer than this is a circle.
const MOST_REEXPORTS: usize = 12;

/// Gives the text of a file, if the file exists.
pub(super) type ReadFile<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// The modules of a crate. Module 0 is the root.
#[derive(Debug)]
pub(super) struct ModuleTree {
    files: Vec<PathBuf>,
    modules: Vec<Module>,
}

#[derive(Debug)]
struct Module {
    /// Index into the tree's files; a module in braces has the file that it stands in.
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    names: NamedPaths,
}

/// The thing that a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathTarget {
    Module(usize),
    ItemInFile(usize),
    OutsideOfCrate,
}

impl ModuleTree {
    /// Reads the crate whose root file is `root`.
    pub(super) fn read(root: &Path, read_file: &ReadFile<'_>) -> Result<Self> {
        let mut tree = Self {
            files: Vec::new(),
            modules: Vec::new(),
        };
        let text = read_file(root).with_context(|| format!("cannot read {}", root.display()))?;
        let folder = root.parent().unwrap_or(Path::new("")).to_owned();
        tree.read_module_file(None, root.to_owned(), &text, &folder, read_file)?;
        Ok(tree)
    }

    /// The files of the crate; the other methods name them by their index.
    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// For each file, the other files of the crate that define something that it names.
    ///
    /// Names that a module re-exports from a module within it are its own: it and its children are
    /// one facade.
    pub(super) fn imports(&self) -> Vec<BTreeSet<usize>> {
        let mut imports = vec![BTreeSet::new(); self.files.len()];
        for (index, module) in self.modules.iter().enumerate() {
            let uses = &module.names.uses;
            let imported = uses.iter().filter(|used| !used.is_reexport);
            let is_reexport =
                |name: &str| uses.iter().any(|it| it.is_reexport && it.is_named(name));
            let used = imported.map(|used| (&used.path, false));
            let in_code = module.names.code_paths.iter();
            let in_code = in_code.map(|path| (path, is_reexport(&path[0])));
            for (path, is_reexported) in used.chain(in_code) {
                let PathTarget::ItemInFile(file) = self.resolve(index, path, 0) else {
                    continue;
                };
                if file != module.file && !(is_reexported && self.is_within(file, index)) {
                    imports[module.file].insert(file);
                }
            }
        }
        imports
    }

    /// True if a file belongs to a module within another module.
    fn is_within(&self, file: usize, outer: usize) -> bool {
        let mut module = self.modules.iter().position(|it| it.file == file);
        while let Some(here) = module {
            if here == outer {
                return true;
            }
            module = self.modules[here].parent;
        }
        false
    }

    /// `folder` is the one for the module's children.
    fn read_module_file(
        &mut self,
        parent: Option<usize>,
        path: PathBuf,
        text: &str,
        folder: &Path,
        read_file: &ReadFile<'_>,
    ) -> Result<usize> {
        let parsed =
            syn::parse_file(text).with_context(|| format!("cannot parse {}", path.display()))?;
        let file = self.files.len();
        self.files.push(path);
        self.add_module(file, parent, &parsed.items, folder, read_file)
    }

    fn add_module(
        &mut self,
        file: usize,
        parent: Option<usize>,
        items: &[syn::Item],
        folder: &Path,
        read_file: &ReadFile<'_>,
    ) -> Result<usize> {
        let names = NamedPaths::read(items);
        let index = self.modules.len();
        self.modules.push(Module {
            file,
            parent,
            children: BTreeMap::new(),
            names,
        });
        for item in items {
            let syn::Item::Mod(declared) = item else {
                continue;
            };
            if NamedPaths::is_test_code(&declared.attrs) {
                continue;
            }
            let name = declared.ident.to_string();
            let folder = folder.join(&name);
            let child = if let Some((_, items)) = &declared.content {
                self.add_module(file, Some(index), items, &folder, read_file)?
            } else {
                let candidates = [folder.with_extension("rs"), folder.join("mod.rs")];
                let (path, text) = candidates
                    .into_iter()
                    .find_map(|path| read_file(&path).map(|text| (path, text)))
                    .with_context(|| {
                        let parent = self.files[file].display();
                        format!("cannot find the file of the module {name} in {parent}")
                    })?;
                self.read_module_file(Some(index), path, &text, &folder, read_file)?
            };
            self.modules[index].children.insert(name, child);
        }
        Ok(index)
    }

    fn resolve(&self, module: usize, path: &[String], reexports: usize) -> PathTarget {
        let mut target = PathTarget::Module(module);
        for (position, name) in path.iter().enumerate() {
            let PathTarget::Module(current) = target else {
                return target;
            };
            let is_last = position + 1 == path.len();
            target = match name.as_str() {
                "crate" => PathTarget::Module(0),
                "self" => target,
                "super" => PathTarget::Module(self.modules[current].parent.unwrap_or(0)),
                name => match self.look_up(current, name, is_last, reexports) {
                    Some(found) => found,
                    None if position == 0 => PathTarget::OutsideOfCrate,
                    // a macro may have made it
                    None => PathTarget::ItemInFile(self.modules[current].file),
                },
            };
        }
        target
    }

    /// A module and a function may have the same name: only the module can stand before `::`.
    fn look_up(
        &self,
        module: usize,
        name: &str,
        is_last: bool,
        reexports: usize,
    ) -> Option<PathTarget> {
        if reexports > MOST_REEXPORTS {
            return None;
        }
        let Module {
            file,
            children,
            names,
            ..
        } = &self.modules[module];
        let child = children.get(name).copied().map(PathTarget::Module);
        if !is_last && child.is_some() {
            return child;
        }
        if names.items.contains(name) {
            return Some(PathTarget::ItemInFile(*file));
        }
        let used = |used: &UsedName| self.resolve(module, &used.path, reexports + 1);
        let named = names.uses.iter().find(|used| used.is_named(name));
        named.map(used).or(child).or_else(|| {
            names
                .uses
                .iter()
                .filter(|used| used.is_glob())
                .find_map(|glob| match used(glob) {
                    PathTarget::Module(source) if source != module => {
                        self.look_up(source, name, is_last, reexports + 1)
                    }
                    _ => None,
                })
        })
    }
}
