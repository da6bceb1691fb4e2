//! Cases of the catalog compiler and the answers of real Puppet to them: [`CatalogCase`].
//!
//! A file of `cases/catalogs/` has cases between lines of `%%`. The first line of a case is its title,
//! `# TITLE`, which no other case of the file has. Lines that begin with `##` are directives; all
//! other lines belong to the file that was named last, at first `manifests/site.pp`:
//!
//! - `## file PATH` names a file of the environment; below `global/` it is one of the server.
//! - `## certname NAME`, `## facts JSON`, `## trusted JSON`, `## classes JSON`, `## parameters JSON`
//!   change the node of `node.json`: facts are added, the others replaced. Trusted are the extensions
//!   of the certificate; classes and parameters are the answer of an external node classifier.
//! - `## modules NAME..` adds modules that Debian's packages installed.
//! - `## exports JSON` gives a list of exported resources of other nodes, and switches storeconfigs on.
//! - `## plain` also compares the resources of a server whose setting `rich_data` is off, with their
//!   warnings, and the error that they cause with `strict = error`.
//!
//! Invariant: a case depends on nothing but its text, `node.json` and the named modules.

mod answer;
mod ask;
mod check;
mod compare;
mod parse;
mod recorded;
mod tree;

pub use answer::CatalogAnswer;
pub use ask::ask_cases;
pub use check::{CatalogCaseReport, check_catalog_cases};
pub use compare::{CatalogDifference, compare_answers, compare_catalogs};
pub use parse::{catalog_case_files, parse_catalog_case, read_catalog_cases};
pub use recorded::{CatalogRecording, RecordedCase};
pub use tree::{ENVIRONMENT_PREFIX, GLOBAL_PREFIX, LIBRARY_PREFIX, with_fixed_paths};

use serde_json::{Map, Value};

/// A small site and a node, to be compiled into one catalog.
#[derive(Debug, Clone)]
pub struct CatalogCase {
    /// The sentence that names the case within its file.
    pub title: String,
    /// Paths, relative to the environment or below `global/`, and texts.
    pub files: Vec<(String, String)>,
    pub node: CatalogNode,
    /// Modules of the base module path.
    pub modules: Vec<String>,
    /// Exported resources of other nodes; `None` while storeconfigs is off.
    pub exports: Option<Vec<Value>>,
    /// Also asks for the resources without rich data.
    pub is_plain: bool,
}

/// The node for which a case is compiled.
#[derive(Debug, Clone)]
pub struct CatalogNode {
    pub certname: String,
    /// Facts as the agent sends them.
    pub facts: Map<String, Value>,
    /// Variables that the server adds, and the hash `$server_facts` without `environment`.
    pub server_facts: Map<String, Value>,
    /// Extensions of the certificate.
    pub extensions: Map<String, Value>,
    /// Classes of the classifier: a list of names, or a hash from names to parameters.
    pub classes: Option<Value>,
    /// Top-scope variables of the classifier.
    pub parameters: Option<Map<String, Value>>,
}
