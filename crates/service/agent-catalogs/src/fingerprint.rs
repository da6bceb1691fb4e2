//! The identity of a catalog: [`CatalogFingerprint`].
//!
//! It has digests of everything from which the catalog was compiled, except what is read from outside of the
//! version: this program, certname, environment, version of the code, classification, trusted data,
//! `$server_facts`, the facts that were read, and the form that the agent asked for.
//!
//! Invariant: two catalogs of a node with the same fingerprint have the same content, if nothing that was
//! read outside of the version differs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use catalogs::CatalogNode;
use compiler::DocumentForm;
use environments::Sha256;
use pcore::{Hash, Value};
use serde::{Deserialize, Serialize};

use crate::digest::digest_of;
use crate::{ChecksumType, FactsPolicy};

/// Something from which a catalog is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatalogInput {
    /// This build of the program, and its settings.
    Program,
    Environment,
    /// Version of the code.
    Code,
    /// Classes of the node's groups, with their parameters.
    Classes,
    /// Configuration data of the node's groups.
    ConfigData,
    /// Variables of the node's groups.
    Variables,
    /// Data of the node's certificate.
    Trusted,
    ServerFacts,
    /// Form of the document, and checksum type, that the agent asked for.
    Format,
    /// Names of facts with other characters than letters, digits and `_`.
    FactNames,
}

impl CatalogInput {
    /// Name of the input as the kind of a cause.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Environment => "environment",
            Self::Code => "code",
            Self::Classes => "classes",
            Self::ConfigData => "config_data",
            Self::Variables => "variables",
            Self::Trusted => "trusted",
            Self::ServerFacts => "server_facts",
            Self::Format => "format",
            Self::FactNames => "fact_names",
        }
    }

    /// The input as the subject of a sentence.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Self::Program => "this program or its settings",
            Self::Environment => "the environment",
            Self::Code => "the version of the code",
            Self::Classes => "the classes of the node's groups",
            Self::ConfigData => "the configuration data of the node's groups",
            Self::Variables => "the variables of the node's groups",
            Self::Trusted => "the data of the node's certificate",
            Self::ServerFacts => "$server_facts",
            Self::Format => "the format that the agent accepts",
            Self::FactNames => "the names of facts with special characters",
        }
    }
}

/// Everything that a catalog is compiled from, except what is read from outside of the version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CatalogInputs<'i> {
    /// The build of this program, and its settings: another one may compile otherwise.
    pub(crate) program: &'i str,
    pub(crate) node: &'i CatalogNode,
    pub(crate) environment: &'i str,
    pub(crate) code_id: &'i str,
    pub(crate) server_facts: &'i Hash,
    pub(crate) form: DocumentForm,
    /// Checksum type of a static catalog; `None` for one that is not static.
    pub(crate) static_files: Option<ChecksumType>,
}

/// Form of a document, and the checksum type of its files if it is static.
pub(crate) type CatalogFormat = (DocumentForm, Option<ChecksumType>);

/// Path of a fact that a compilation read, such as `os`, `family`. The empty path stands for all facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ReadFact(pub(crate) Vec<Arc<str>>);

/// The identity of a catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CatalogFingerprint {
    inputs: BTreeMap<CatalogInput, Sha256>,
    /// The facts that were read. Catalogs of nodes with the same code share them.
    pub(crate) read_facts: Arc<Vec<ReadFact>>,
    /// Digests of their values.
    values: Vec<Sha256>,
    all_facts: Sha256,
}

/// Inputs that differ from those of a catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ChangedInputs {
    pub(crate) inputs: Vec<CatalogInput>,
    pub(crate) facts: Vec<String>,
}

impl CatalogFingerprint {
    /// The identity of a catalog for which these facts were read.
    pub(crate) fn new(inputs: &CatalogInputs<'_>, read_facts: Arc<Vec<ReadFact>>) -> Self {
        let facts = inputs.node.facts();
        let values = read_facts.iter().map(|path| path.digest(facts));
        Self {
            inputs: input_digests(inputs),
            values: values.collect(),
            all_facts: digest_of(|hasher| hasher.hash(facts)),
            read_facts,
        }
    }

    /// The inputs that are others now, as far as the policy counts them.
    pub(crate) fn changes(&self, now: &CatalogInputs<'_>, policy: FactsPolicy) -> ChangedInputs {
        let facts = now.node.facts();
        let digests = input_digests(now);
        let is_ignored = |input| input == CatalogInput::FactNames && policy == FactsPolicy::Ignore;
        let changed = digests.iter().filter(|(input, digest)| {
            self.inputs.get(*input) != Some(*digest) && !is_ignored(**input)
        });
        let changed = changed.map(|(input, _)| *input).collect();
        let facts = match policy {
            FactsPolicy::Ignore => Vec::new(),
            FactsPolicy::Read => self.changed_facts(facts),
            FactsPolicy::All if self.all_facts == digest_of(|hasher| hasher.hash(facts)) => {
                Vec::new()
            }
            FactsPolicy::All => match self.changed_facts(facts) {
                read if read.is_empty() => vec![ALL_FACTS.to_owned()],
                read => read,
            },
        };
        ChangedInputs {
            inputs: changed,
            facts,
        }
    }

    /// Form and checksum type that the agent asked for; `None` if they are those of another build.
    pub(crate) fn format(&self) -> Option<CatalogFormat> {
        let digest = self.inputs.get(&CatalogInput::Format)?;
        let types = || ChecksumType::all().map(Some).chain([None]);
        let forms = [DocumentForm::Rich, DocumentForm::Texts].into_iter();
        let mut formats = forms.flat_map(|form| types().map(move |checksum| (form, checksum)));
        formats.find(|(form, checksum)| format_digest(*form, *checksum) == *digest)
    }

    fn changed_facts(&self, facts: &Hash) -> Vec<String> {
        let read = self.read_facts.iter().zip(&self.values);
        let changed = read.filter(|(path, digest)| path.digest(facts) != **digest);
        changed.map(|(path, _)| path.to_string()).collect()
    }

    /// The identity of no catalog.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        Self {
            inputs: BTreeMap::new(),
            read_facts: Arc::default(),
            values: Vec::new(),
            all_facts: digest_of(|_| {}),
        }
    }

    /// Bytes that it takes, without the paths.
    pub(crate) fn bytes(&self) -> usize {
        const DIGEST: usize = 32;
        const ENTRY: usize = 48;
        self.values.len() * DIGEST + self.inputs.len() * ENTRY
    }
}

/// The name of all facts together, in lists of paths.
const ALL_FACTS: &str = "all facts";

impl fmt::Display for ReadFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.is_empty() {
            true => f.write_str(ALL_FACTS),
            false => f.write_str(&self.0.join(".")),
        }
    }
}

impl ReadFact {
    fn digest(&self, facts: &Hash) -> Sha256 {
        let (walked, value) = fact_at(facts, &self.0);
        digest_of(|hasher| {
            hasher.count(walked);
            hasher.value(&value);
        })
    }
}

fn input_digests(inputs: &CatalogInputs<'_>) -> BTreeMap<CatalogInput, Sha256> {
    let node = inputs.node;
    let classification = node.classification();
    BTreeMap::from([
        (
            CatalogInput::Program,
            digest_of(|it| {
                it.text(inputs.program);
                it.text(node.certname().as_str());
            }),
        ),
        (
            CatalogInput::Environment,
            digest_of(|it| it.text(inputs.environment)),
        ),
        (CatalogInput::Code, digest_of(|it| it.text(inputs.code_id))),
        (
            CatalogInput::Classes,
            digest_of(|it| {
                it.count(classification.classes.len());
                for class in classification.classes {
                    it.text(&class.name);
                    it.hash(&class.parameters);
                }
            }),
        ),
        (
            CatalogInput::ConfigData,
            digest_of(|it| it.hash(classification.config_data)),
        ),
        (
            CatalogInput::Variables,
            digest_of(|it| it.hash(classification.parameters)),
        ),
        (
            CatalogInput::Trusted,
            digest_of(|it| it.hash(classification.trusted)),
        ),
        (
            CatalogInput::ServerFacts,
            digest_of(|it| it.hash(inputs.server_facts)),
        ),
        (
            CatalogInput::Format,
            format_digest(inputs.form, inputs.static_files),
        ),
        (
            CatalogInput::FactNames,
            digest_of(|it| {
                for name in names_with_special_characters(node.facts()) {
                    it.text(name);
                }
            }),
        ),
    ])
}

fn format_digest(form: DocumentForm, static_files: Option<ChecksumType>) -> Sha256 {
    let form = match form {
        DocumentForm::Rich => "rich",
        DocumentForm::Texts => "texts",
    };
    digest_of(|it| {
        it.text(form);
        it.text(static_files.map_or("", ChecksumType::as_str));
    })
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
