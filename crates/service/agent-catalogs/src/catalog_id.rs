//! The identity of a catalog: [`CatalogId`].
//!
//! It is a hash over everything from which the catalog was compiled: this program, certname, environment,
//! version of the code, classification, trusted data, `$server_facts`, the facts that were read, and the
//! form that the agent asked for.
//!
//! Invariant: two catalogs of a node with the same identity have the same content.

use std::sync::Arc;

use catalogs::{CatalogNode, NodeInputs};
use compiler::DocumentForm;
use pcore::{Hash, Value};
use sha2::{Digest as _, Sha256};

use crate::ChecksumType;

/// Identity of a catalog, as 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CatalogId(String);

/// Everything that a catalog is compiled from, except the facts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CatalogInputs<'i> {
    /// The build of this program: another one may compile otherwise.
    pub(crate) build: &'i str,
    pub(crate) node: &'i CatalogNode,
    pub(crate) environment: &'i str,
    pub(crate) code_id: &'i str,
    pub(crate) server_facts: &'i Hash,
    pub(crate) form: DocumentForm,
    /// Checksum type of a static catalog; `None` for one that is not static.
    pub(crate) static_files: Option<ChecksumType>,
}

/// Paths of facts that a compilation read. The empty path stands for all facts.
pub(crate) type FactPaths = Vec<Vec<Arc<str>>>;

impl CatalogId {
    /// The identity of a catalog for which these facts were read.
    pub(crate) fn new(inputs: &CatalogInputs<'_>, paths: &FactPaths) -> Self {
        let mut hasher = FieldHasher::default();
        let node = inputs.node;
        hasher.text(inputs.build);
        hasher.text(node.certname().as_str());
        hasher.text(inputs.environment);
        hasher.text(inputs.code_id);
        hasher.text(match inputs.form {
            DocumentForm::Rich => "rich",
            DocumentForm::Texts => "texts",
        });
        hasher.text(inputs.static_files.map_or("", ChecksumType::as_str));
        hasher.hash(inputs.server_facts);
        hasher.classification(node.classification());
        for name in names_with_special_characters(node.facts()) {
            hasher.text(name);
        }
        for path in paths {
            hasher.count(path.len());
            for name in path {
                hasher.text(name);
            }
            let (walked, value) = fact_at(node.facts(), path);
            hasher.count(walked);
            hasher.value(&value);
        }
        Self(hasher.finish())
    }
}

/// Names of facts that a template sees under another name, so that they may replace a missing variable.
fn names_with_special_characters(facts: &Hash) -> impl Iterator<Item = &str> {
    let names = facts.keys().filter_map(Value::as_str);
    names.filter(|name| !name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// The value of the longest part of a path that exists, and the number of its names. As in the evaluator, a
/// name that is missing in a hash belongs to that part.
fn fact_at(facts: &Hash, path: &[Arc<str>]) -> (usize, Value) {
    let Some((first, below)) = path.split_first() else {
        return (0, Value::hash(facts.clone()));
    };
    let mut here = facts.get_str(first).cloned().unwrap_or_default();
    for (walked, name) in below.iter().enumerate() {
        let Value::Hash(entries) = &here else {
            return (walked + 1, here);
        };
        let next = entries.get_str(name).cloned().unwrap_or_default();
        here = next;
    }
    (path.len(), here)
}

/// Hashes fields so that no two lists of fields have the same bytes.
#[derive(Default)]
struct FieldHasher(Sha256);

impl FieldHasher {
    fn count(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn hash(&mut self, entries: &Hash) {
        self.value(&Value::hash(entries.clone()));
    }

    /// All these values came as JSON, so JSON distinguishes them.
    fn value(&mut self, value: &Value) {
        let json = value.to_json().unwrap_or_default();
        self.text(&json.to_string());
    }

    fn classification(&mut self, inputs: NodeInputs<'_>) {
        self.hash(inputs.trusted);
        self.hash(inputs.config_data);
        self.hash(inputs.parameters);
        self.count(inputs.classes.len());
        for class in inputs.classes {
            self.text(&class.name);
            self.hash(&class.parameters);
        }
    }

    fn finish(self) -> String {
        let digest = self.0.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
