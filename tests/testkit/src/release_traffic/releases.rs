//! Releases of an environment, each of which says its number wherever a request looks. Main type: [`Releases`].
//!
//! Invariant: no two releases have a file with equal content, so a checksum belongs to one release.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::control_repository::CommittedFiles;

/// The word before the number of a release.
pub(super) const MARKER: &str = "release-";
/// Number of digits of a release's number after [`MARKER`].
pub(super) const DIGITS: usize = 6;

/// The file of a version that contains nothing but its number.
pub(super) const NUMBER_FILE: &str = "RELEASE";

/// A file that is served, and that a catalog describes.
pub(super) const SOURCED: &str = "modules/demo/files/sourced";
/// A file that agents get as a plugin.
pub(super) const PLUGIN: &str = "modules/demo/lib/facter/a.rb";

/// Files of a release; `@` stands for its marker.
const FILES: [(&str, &str); 17] = [
    ("environment.conf", "modulepath = modules\n"),
    (
        "hiera.yaml",
        "version: 5\nhierarchy:\n  - name: all\n    path: common.yaml\n",
    ),
    ("data/common.yaml", "demo::of_data: '@'\n"),
    ("manifests/site.pp", "$of_site = '@'\ninclude demo\n"),
    (
        "modules/demo/manifests/init.pp",
        r#"class demo (String $of_data) {
  notify { 'all': message => "${::of_site} ${of_data} ${demo::of_function()} @" }
  file { '/x/template': content => epp('demo/template.epp') }
  file { '/x/sourced': source => 'puppet:///modules/demo/sourced' }
  file { '/x/tree':
    ensure  => directory,
    recurse => true,
    source  => 'puppet:///modules/demo/tree',
  }
  demo::part { 'part': }
}
"#,
    ),
    (
        "modules/demo/manifests/part.pp",
        "define demo::part { notify { 'part': message => '@' } }\n",
    ),
    (
        "modules/demo/functions/of_function.pp",
        "function demo::of_function() { '@' }\n",
    ),
    ("modules/demo/templates/template.epp", "template @\n"),
    (SOURCED, "sourced @\n"),
    ("modules/demo/files/tree/a", "a @\n"),
    ("modules/demo/files/tree/sub/b", "b @\n"),
    (PLUGIN, "# a @\n"),
    ("modules/demo/lib/facter/b.rb", "# b @\n"),
    ("modules/demo/lib/puppet_x/demo/c.rb", "# c @\n"),
    ("modules/demo/facts.d/fact.txt", "fact=@\n"),
    ("modules/demo/facts.d/other.txt", "other=@\n"),
    (NUMBER_FILE, "@"),
];

/// Markers in a catalog: four in one message, and one each in the other, in the template's content and in the
/// parameter of the class.
pub(super) const CATALOG_MARKERS: usize = 7;
/// Files that a catalog describes with their checksums.
pub(super) const CATALOG_FILES: usize = 3;
/// Files below `lib`.
pub(super) const PLUGIN_FILES: usize = 3;
/// Files below `facts.d`.
pub(super) const FACT_FILES: usize = 2;

/// A series of releases, numbered from 1.
#[derive(Debug)]
pub struct Releases {
    count: u32,
    /// The release that has a content, by the hash of the content in hexadecimal digits.
    by_hash: HashMap<String, u32>,
    /// The hashes of the plugins that ship with the server, and are of no release.
    shipped_plugins: HashSet<String>,
}

/// The modules that every environment has from the server.
const SHIPPED_MODULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../modules");

// === impl Releases ===

impl Releases {
    /// The releases from 1 to `count`.
    #[must_use]
    pub fn new(count: u32) -> Self {
        let mut by_hash = HashMap::new();
        for release in 1..=count {
            for (path, text) in files_of(release) {
                if text.contains(MARKER) && path != NUMBER_FILE {
                    by_hash.insert(hash(text.as_bytes()), release);
                }
            }
        }
        Self {
            count,
            by_hash,
            shipped_plugins: shipped_plugins(),
        }
    }

    /// The files of all releases, in order.
    pub fn commits(&self) -> impl Iterator<Item = CommittedFiles> {
        (1..=self.count).map(files_of)
    }

    /// True for a file of the server's own modules.
    pub(super) fn is_shipped(&self, hexadecimal: &str) -> bool {
        self.shipped_plugins.contains(hexadecimal)
    }

    /// The release with a file whose content has this hash.
    pub(super) fn of_hash(&self, hexadecimal: &str) -> Option<u32> {
        self.by_hash.get(hexadecimal).copied()
    }
}

/// The hashes of all files below `lib` of the shipped modules.
fn shipped_plugins() -> HashSet<String> {
    let modules = std::fs::read_dir(SHIPPED_MODULES).expect("the shipped modules");
    let mut left: Vec<PathBuf> = modules
        .flatten()
        .map(|module| module.path().join("lib"))
        .collect();
    let mut hashes = HashSet::new();
    while let Some(path) = left.pop() {
        if let Ok(entries) = std::fs::read_dir(&path) {
            left.extend(entries.flatten().map(|entry| entry.path()));
        } else if let Ok(content) = std::fs::read(&path) {
            hashes.insert(hash(&content));
        }
    }
    hashes
}

/// The number in the text that follows [`MARKER`]; `None` if there is none.
pub(super) fn parse_number(text: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(text.get(..DIGITS)?).ok()?;
    digits.parse().ok()
}

/// The hash of a content in hexadecimal digits.
pub(super) fn hash(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn files_of(release: u32) -> CommittedFiles {
    let marker = format!("{MARKER}{release:0width$}", width = DIGITS);
    let of_release = FILES
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.replace('@', &marker)));
    of_release.collect()
}
