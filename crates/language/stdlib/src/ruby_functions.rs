//! Ruby functions of modules that the built-in functions of this crate replace: [`replaced_function`].
//!
//! `known_ruby_functions.txt` contains the hashes of the files of puppetlabs-stdlib 8.5 and 9.7
//! whose behaviour is that of the built-in function of that name: a name, and the first 64 bits of
//! the SHA-256 of each file without comments, indentation and blank lines. Functions of 8.5 that
//! behave differently, which docs/language.md lists, are left out. Invariant: a file that was not
//! compared never counts as equivalent.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

use sha2::{Digest as _, Sha256};

use crate::function;

/// The directories of a module that contain Ruby functions.
pub const RUBY_FUNCTION_DIRECTORIES: [&str; 2] =
    ["lib/puppet/functions", "lib/puppet/parser/functions"];

/// The name of the built-in function that replaces a file of a module, if the file differs from it
/// or may differ; otherwise `None`. `path` is relative to the module.
#[must_use]
pub fn replaced_function(path: &str, content: &[u8]) -> Option<String> {
    let name = name_of(path).filter(|name| function(name).is_some())?;
    let is_same = known().get(name.as_str()).is_some_and(|hashes| {
        let hash = hash(content);
        hashes.contains(&hash.as_str())
    });
    (!is_same).then_some(name)
}

/// The name of the function that a file of a module defines, by its path.
fn name_of(path: &str) -> Option<String> {
    let [modern, former] = RUBY_FUNCTION_DIRECTORIES;
    let stem = path.strip_suffix(".rb")?;
    let inside = |directory: &str| stem.strip_prefix(directory)?.strip_prefix('/');
    match (inside(modern), inside(former)) {
        (Some(name), _) => Some(name.replace('/', "::")),
        // Functions of the former interface have no namespaces.
        (None, Some(name)) if !name.contains('/') => Some(name.to_owned()),
        _ => None,
    }
}

/// The hash of a file without comments, indentation and blank lines.
fn hash(content: &[u8]) -> String {
    let mut hasher = Sha256::new();
    let lines = content.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let code = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    for (index, line) in code.enumerate() {
        if index > 0 {
            hasher.update(b"\n");
        }
        hasher.update(line);
    }
    let mut text = String::with_capacity(16);
    for byte in hasher.finalize().iter().take(8) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn known() -> &'static HashMap<&'static str, Vec<&'static str>> {
    static KNOWN: OnceLock<HashMap<&'static str, Vec<&'static str>>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let lines = include_str!("known_ruby_functions.txt").lines();
        lines
            .filter_map(|line| {
                let (name, hashes) = line.split_once(' ')?;
                Some((name, hashes.split(' ').collect()))
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_name_of_its_function() {
        for (path, expected) in [
            (
                "lib/puppet/functions/stdlib/ensure.rb",
                Some("stdlib::ensure"),
            ),
            ("lib/puppet/functions/merge.rb", Some("merge")),
            ("lib/puppet/parser/functions/zip.rb", Some("zip")),
            ("lib/puppet/parser/functions/a/zip.rb", None),
            ("lib/puppet/functions/merge.pp", None),
            ("lib/facter/merge.rb", None),
        ] {
            assert_eq!(name_of(path).as_deref(), expected, "{path}");
        }
    }

    #[test]
    fn comments_and_indentation_do_not_matter_and_code_does() {
        let one = hash(b"# about\nPuppet::Functions.create_function(:x) do\n  1\nend\n");
        let same = hash(b"Puppet::Functions.create_function(:x) do\r\n\r\n\t1\n  # one\nend");
        let other = hash(b"Puppet::Functions.create_function(:x) do\n  2\nend\n");
        assert_eq!(one, same);
        assert_ne!(one, other);
    }

    #[test]
    fn every_known_function_is_built_in_and_has_whole_hashes() {
        assert!(known().len() > 150, "{}", known().len());
        let is_built_in = |name: &&&str| function(name).is_some();
        let others: Vec<_> = known().keys().filter(|name| !is_built_in(name)).collect();
        assert!(others.is_empty(), "{others:?}");
        for (name, hashes) in known() {
            assert!(hashes.iter().all(|hash| hash.len() == 16), "{name}");
        }
    }

    #[test]
    fn a_function_of_ones_own_is_never_taken_for_a_built_in_one() {
        let own =
            b"Puppet::Functions.create_function(:merge) do\n  def merge(a)\n    a\n  end\nend\n";
        let replaced = replaced_function("lib/puppet/functions/merge.rb", own);
        assert_eq!(replaced.as_deref(), Some("merge"));
        assert_eq!(
            replaced_function("lib/puppet/functions/of_mine.rb", own),
            None
        );
        assert_eq!(
            replaced_function("lib/puppet/functions/merge.rb.orig", own),
            None
        );
    }
}
