//! Cycles of imports between the files of a crate. Main function: [`faults`].
//!
//! Invariant: files of which each leads to each other by imports are at most
//! [`MOST_FILES_IN_CYCLE`], so that a reader has to hold only few files in mind at once.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::num::NonZero;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use cargo_metadata::{Metadata, Package, TargetKind};

use super::module_tree::{ModuleTree, ReadFile};

/// Files of a crate that may import one another in cycles.
const MOST_FILES_IN_CYCLE: usize = 4;

/// One entry for each cycle of too many files in a crate of the workspace.
pub(super) fn faults(metadata: &Metadata) -> Result<Vec<String>> {
    let read_file = |path: &Path| std::fs::read_to_string(path).ok();
    let roots = metadata
        .packages
        .iter()
        .flat_map(|package| crate_roots(package).map(|root| (package.name.as_str(), root)));
    let roots: Vec<_> = roots.collect();
    // most of the time is for parsing, some seconds in a build without optimization
    let next = AtomicUsize::new(0);
    let read_next = || {
        let (name, root) = roots.get(next.fetch_add(1, Ordering::Relaxed))?;
        Some(crate_faults(name, root, &read_file))
    };
    let faults: Result<Vec<_>> = std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let threads: Vec<_> = (0..threads)
            .map(|_| scope.spawn(|| std::iter::from_fn(read_next).collect::<Result<Vec<_>>>()))
            .collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(faults) => faults,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    let mut faults: Vec<_> = faults?.into_iter().flatten().flatten().collect();
    faults.sort();
    Ok(faults)
}

/// The root files of the package's library and programs.
fn crate_roots(package: &Package) -> impl Iterator<Item = &Path> {
    let is_ours = |kind: &TargetKind| {
        matches!(
            kind,
            TargetKind::Lib | TargetKind::Bin | TargetKind::ProcMacro
        )
    };
    let targets = package.targets.iter();
    targets
        .filter(move |target| target.kind.iter().any(is_ours))
        .map(|target| target.src_path.as_std_path())
}

fn crate_faults(name: &str, root: &Path, read_file: &ReadFile<'_>) -> Result<Vec<String>> {
    let tree = ModuleTree::read(root, read_file)?;
    let graph = ImportGraph(tree.imports());
    let folder = root.parent().unwrap_or(root);
    let file_name = |file: &usize| {
        let path = &tree.files()[*file];
        let path = path.strip_prefix(folder).unwrap_or(path);
        path.display().to_string()
    };
    let faults = graph.cycles().into_iter().filter_map(|files| {
        if files.len() <= MOST_FILES_IN_CYCLE {
            return None;
        }
        let list: Vec<_> = files.iter().map(file_name).collect();
        let arrows: Vec<_> = graph.shortest_loop(&files).iter().map(file_name).collect();
        Some(format!(
            "{name}: {} files import one another, and {MOST_FILES_IN_CYCLE} may: {}\n    \
             shortest loop: {}\n    \
             break an arrow: move the named item to a file that imports neither of the two, or \
             make the function a method of a type that the caller already imports",
            files.len(),
            list.join(", "),
            arrows.join(" → "),
        ))
    });
    Ok(faults.collect())
}

/// For each file, by its index, the files that it imports.
struct ImportGraph(Vec<BTreeSet<usize>>);

impl ImportGraph {
    /// Groups of two or more files of which each leads to each other.
    fn cycles(&self) -> Vec<BTreeSet<usize>> {
        let reached: Vec<_> = (0..self.0.len()).map(|file| self.reached(file)).collect();
        let mut grouped = BTreeSet::new();
        let mut cycles = Vec::new();
        for (file, from_here) in reached.iter().enumerate() {
            let is_mutual = |other: &usize| reached[*other].contains(&file);
            let cycle: BTreeSet<_> = from_here.iter().copied().filter(is_mutual).collect();
            if cycle.len() > 1 && grouped.insert(file) {
                grouped.extend(&cycle);
                cycles.push(cycle);
            }
        }
        cycles
    }

    /// The files to which imports lead from this one.
    fn reached(&self, start: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(file) = open.pop() {
            open.extend(self.0[file].iter().filter(|next| reached.insert(**next)));
        }
        reached
    }

    /// The shortest way through files of the cycle that ends where it began.
    fn shortest_loop(&self, cycle: &BTreeSet<usize>) -> Vec<usize> {
        let loops = cycle.iter().filter_map(|start| self.loop_from(*start));
        loops.min_by_key(Vec::len).unwrap_or_default()
    }

    fn loop_from(&self, start: usize) -> Option<Vec<usize>> {
        let mut came_from = HashMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(file) = open.pop_front() {
            for next in &self.0[file] {
                if *next == start {
                    let back =
                        std::iter::successors(Some(file), |file| came_from.get(file).copied());
                    let mut way: Vec<_> = std::iter::once(start).chain(back).collect();
                    way.reverse();
                    return Some(way);
                }
                if !came_from.contains_key(next) {
                    came_from.insert(*next, file);
                    open.push_back(*next);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
        let files: HashMap<_, _> = files.iter().copied().collect();
        let read_file = |path: &Path| {
            let name = path.strip_prefix("src").ok()?.to_str()?;
            files.get(name).map(|text| (*text).to_owned())
        };
        crate_faults("made-up", Path::new("src/lib.rs"), &read_file).unwrap()
    }

    /// A crate of modules `a`, `b`, … of which each imports the next one, and the last the first.
    fn ring(names: &[&str]) -> Vec<String> {
        let root: String = names.iter().map(|name| format!("mod {name};\n")).collect();
        let mut files = vec![("lib.rs".to_owned(), root)];
        for (index, name) in names.iter().enumerate() {
            let next = names[(index + 1) % names.len()];
            let text = format!("use crate::{next}::run as next;\npub fn run() {{ next() }}\n");
            files.push((format!("{name}.rs"), text));
        }
        let files: Vec<_> = files
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        faults_of(&files)
    }

    /// Four modules in a row, and `e`, which `d` imports and whose text is given.
    fn row_and(root: &str, e: &str) -> Vec<String> {
        faults_of(&[
            (
                "lib.rs",
                &format!("mod a; mod b; mod c; mod d; mod e; {root}"),
            ),
            ("a.rs", "use super::b::B; pub struct A(B);"),
            ("b.rs", "use super::c::C; pub struct B(C);"),
            (
                "c/mod.rs",
                "pub mod inner; use self::inner::Inner; pub struct C(Inner);",
            ),
            ("c/inner.rs", "pub struct Inner(pub super::super::d::D);"),
            ("d.rs", "use crate::e; pub struct D(e::E);"),
            ("e.rs", e),
        ])
    }

    #[test]
    fn a_cycle_of_five_is_named_and_one_of_four_passes() {
        let faults = ring(&["a", "b", "c", "d", "e"]);
        assert_eq!(faults.len(), 1);
        let lines: Vec<_> = faults[0].lines().collect();
        assert_eq!(
            lines[0],
            "made-up: 5 files import one another, and 4 may: a.rs, b.rs, c.rs, d.rs, e.rs"
        );
        assert_eq!(
            lines[1].trim(),
            "shortest loop: a.rs → b.rs → c.rs → d.rs → e.rs → a.rs"
        );
        assert!(lines[2].trim().starts_with("break an arrow: "));
        assert_eq!(ring(&["a", "b", "c", "d"]), [""; 0]);
    }

    #[test]
    fn the_shortest_loop_is_shown() {
        let faults = row_and(
            "",
            "use super::{a::A, d::D}; pub struct E(Box<A>); fn e(d: D) {}",
        );
        let shown = faults[0].lines().nth(1).unwrap().trim();
        assert_eq!(shown, "shortest loop: d.rs → e.rs → d.rs");
    }

    #[test]
    fn imports_in_one_direction_are_no_cycle() {
        assert_eq!(row_and("", "pub struct E;"), [""; 0]);
    }

    #[test]
    fn a_reexport_counts_for_the_file_that_defines_the_name() {
        let e = "use super::facade::Name; pub struct E(Box<Name>);";
        let root = "mod facade { pub use crate::{a::A as Name, b::*}; }";
        assert_eq!(row_and(root, e).len(), 1);
        let through_glob = "pub struct E(Box<crate::facade::B>);";
        assert_eq!(row_and(root, through_glob).len(), 1);
        let other = "mod facade { pub use crate::a::A; pub use other_crate::Name; }";
        assert_eq!(row_and(other, e), [""; 0]);
    }

    #[test]
    fn a_reexport_is_no_import() {
        assert_eq!(row_and("", "pub use super::a::A; pub struct E;"), [""; 0]);
        let used_too = "pub use super::a::A; pub struct E(Box<A>);";
        assert_eq!(row_and("", used_too).len(), 1);
    }

    #[test]
    fn names_that_a_module_reexports_from_its_children_are_its_own() {
        let files = |root: &str| {
            let child = |name| (name, "use crate::Shared; pub struct Item(Shared);");
            let names = ["a.rs", "b.rs", "c.rs", "d.rs"];
            let mut files = vec![("lib.rs", root)];
            files.extend(names.map(child));
            faults_of(&files).len()
        };
        let root = "mod a; mod b; mod c; mod d; pub struct Shared;";
        let reexports = "pub use self::{a::Item as A, b::Item as B, c::Item as C, d::Item as D};";
        let uses = "fn all(a: A, b: B, c: C, d: D) {}";
        assert_eq!(files(&format!("{root} {reexports} {uses}")), 0);
        let imports = reexports.trim_start_matches("pub ");
        assert_eq!(files(&format!("{root} {imports} {uses}")), 1);
        let inline = "fn all(a: a::Item, b: b::Item, c: c::Item, d: d::Item) {}";
        assert_eq!(files(&format!("{root} {inline}")), 1);
    }

    #[test]
    fn tests_do_not_count() {
        let e = "pub struct E; #[cfg(test)] use crate::a::A;
                 #[cfg(test)] mod tests { use crate::a::A; fn t(a: super::super::a::A) {} }
                 #[cfg(test)] mod file_of_tests;
                 impl E { #[cfg(test)] fn of(a: crate::a::A) -> Self { Self } }
                 #[cfg(test)] impl E { fn from(a: crate::a::A) -> Self { Self } }";
        assert_eq!(row_and("", e), [""; 0]);
    }

    #[test]
    fn groups_renames_and_inline_paths_are_read() {
        for e in [
            "use crate::{self as root, b::{self, B as Bee}, a::{A as Ay}}; pub struct E;",
            "use super::{a}; pub struct E(Box<a::A>);",
            "pub struct E; fn e() { let made = <crate::a::A>::default(); }",
            "pub struct E; fn e() { use crate::a::A; }",
            "pub struct E; fn e() { println!(\"{}\", [vec![crate::a::A::new(1)]]); }",
            "pub struct E; macro_rules! made { () => { $crate::a::A } }",
            "pub struct E; impl E { fn e(&self) -> Option<super::a::A> { None } }",
        ] {
            assert_eq!(row_and("", e).len(), 1, "{e}");
        }
    }

    #[test]
    fn a_module_and_a_function_may_share_a_name() {
        let e = "use crate::shared::a; pub struct E; fn e() { a() }";
        let root = "mod shared { pub use crate::a::a; pub mod a { } }";
        assert_eq!(row_and(root, e).len(), 1);
    }
}
