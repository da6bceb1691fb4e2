//! Queries of other nodes' data, with digests of their results: [`DataQuery`], [`DataQueryResult`].
//!
//! A catalog that depends on such queries can be used again if they have the same results. Invariant: a query
//! that is run again is the one that the compilation ran, on the same node, and two results with the same
//! digest give the same catalog.

use std::fmt;
use std::sync::Arc;

use evaluator::CollectorQuery;
use partial_debug::partial_debug;
use pcore::Value;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

use crate::applications::{CapabilitySearch, ProducedCapabilities, StoredCapability};
use crate::exports::{ExportSearch, ExportedResource};
use crate::{CompileInterrupt, ExportedResources, PuppetdbQueries};

/// A query of the data of other nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DataQuery {
    /// A collector of exported resources.
    Exports {
        resource_type: String,
        /// The collector's condition, in the form of PuppetDB's AST; `None` for all resources of the type.
        condition: Option<Json>,
    },
    /// A query of the function `puppetdb_query`.
    Puppetdb(Json),
    /// A capability of an application that other nodes produce.
    Capability(CapabilityQuery),
}

/// A capability that a catalog took from another node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapabilityQuery {
    pub environment: String,
    /// Type of the capability: `Sql`, `Foo::Bar`.
    pub type_name: String,
    pub title: String,
    /// Certnames of the nodes that had produced it as well, and from which it was not taken: the components of an
    /// application were mapped to them before. In alphabetical order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_producers: Vec<String>,
}

/// A query with a digest of its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataQueryResult {
    pub query: DataQuery,
    /// SHA-256, as 64 hexadecimal digits. The result may contain secrets that it helps to guess.
    pub digest: String,
}

/// Sources of other nodes' data.
#[derive(Clone, Default)]
pub struct DataSources {
    /// Exported resources of other nodes; `None` if there is no source of them.
    pub exports: Option<Arc<dyn ExportedResources>>,
    /// Answers to `puppetdb_query`; `None` if the function is unknown.
    pub puppetdb_queries: Option<Arc<dyn PuppetdbQueries>>,
    /// Capabilities that other nodes produced; `None` if there is no source of them.
    pub capabilities: Option<Arc<dyn ProducedCapabilities>>,
}

partial_debug!(DataSources {});

impl DataQuery {
    /// The collector as a query; `None` if its condition has a value that JSON cannot represent.
    pub(crate) fn of_collector(
        resource_type: &str,
        query: Option<&CollectorQuery>,
    ) -> Option<Self> {
        let condition = match query {
            Some(query) => Some(condition_to_json(query)?),
            None => None,
        };
        Some(Self::Exports {
            resource_type: resource_type.to_owned(),
            condition,
        })
    }

    /// The digest of the result that the query has now for a node; the error names the source and the cause.
    ///
    /// # Errors
    /// The source of the data cannot be queried, or the query or its result is in no form that this version
    /// knows.
    pub fn run(
        &self,
        certname: &str,
        sources: &DataSources,
        interrupt: &Arc<CompileInterrupt>,
    ) -> Result<String, String> {
        let digest = match self {
            Self::Exports {
                resource_type,
                condition,
            } => {
                let exports = sources.exports.as_ref();
                let exports = exports.ok_or("there is no source of exported resources")?;
                let query = condition.as_ref().map(condition_from_json);
                let query = query.map(|it| it.ok_or("the condition is malformed"));
                let query = query.transpose()?;
                let found = exports.search(&ExportSearch {
                    certname,
                    type_name: resource_type,
                    query: query.as_ref(),
                    interrupt: Some(interrupt),
                });
                exports_digest(&found.map_err(|error| error.to_string())?)
            }
            Self::Puppetdb(query) => {
                let source = sources.puppetdb_queries.as_ref();
                let source = source.ok_or("there is no PuppetDB")?;
                let rows = source.rows(query, Some(interrupt));
                Some(rows_digest(&rows.map_err(|error| error.to_string())?))
            }
            Self::Capability(query) => {
                let source = sources.capabilities.as_ref();
                let source = source.ok_or("there is no source of capabilities")?;
                let found = source.find(&query.search(interrupt));
                let mut found = found.map_err(|error| error.to_string())?;
                found.retain(|it| it.certname != certname && !query.is_former(&it.certname));
                capabilities_digest(&mut found)
            }
        };
        digest.ok_or_else(|| "the result has values without a form in JSON".to_owned())
    }

    pub(crate) fn byte_len(&self) -> usize {
        match self {
            Self::Exports {
                resource_type,
                condition,
            } => {
                let condition = condition.as_ref().map(ToString::to_string);
                resource_type.len() + condition.map_or(0, |it| it.len())
            }
            Self::Puppetdb(query) => query.to_string().len(),
            Self::Capability(query) => {
                let former = query.former_producers.iter().map(String::len);
                query.environment.len()
                    + query.type_name.len()
                    + query.title.len()
                    + former.sum::<usize>()
            }
        }
    }
}

impl CapabilityQuery {
    fn search<'s>(&'s self, interrupt: &'s Arc<CompileInterrupt>) -> CapabilitySearch<'s> {
        CapabilitySearch {
            environment: &self.environment,
            type_name: &self.type_name,
            title: &self.title,
            interrupt: Some(interrupt),
        }
    }

    fn is_former(&self, certname: &str) -> bool {
        let mut former = self.former_producers.iter();
        former.any(|producer| *producer == certname)
    }
}

/// The query as code has it.
impl fmt::Display for DataQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exports {
                resource_type,
                condition: None,
            } => write!(f, "{resource_type} <<| |>>"),
            Self::Exports {
                resource_type,
                condition: Some(condition),
            } => {
                write!(f, "{resource_type} <<| ")?;
                write_condition(f, condition)?;
                f.write_str(" |>>")
            }
            Self::Puppetdb(Json::String(query)) => write!(f, "puppetdb_query: {query}"),
            Self::Puppetdb(query) => write!(f, "puppetdb_query: {query}"),
            Self::Capability(query) => write!(f, "{}[{}]", query.type_name, query.title),
        }
    }
}

fn write_condition(f: &mut fmt::Formatter<'_>, condition: &Json) -> fmt::Result {
    match condition.as_array().map_or(&[][..], Vec::as_slice) {
        [Json::String(operator), Json::Array(parts)] => {
            f.write_str("(")?;
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    write!(f, " {operator} ")?;
                }
                write_condition(f, part)?;
            }
            f.write_str(")")
        }
        [Json::String(operator), Json::String(attribute), value] => {
            write!(f, "{attribute} {operator} {value}")
        }
        _ => write!(f, "{condition}"),
    }
}

/// The condition as JSON; `None` if a value would not be the same again.
fn condition_to_json(query: &CollectorQuery) -> Option<Json> {
    let all =
        |queries: &[CollectorQuery]| queries.iter().map(condition_to_json).collect::<Option<_>>();
    Some(match query {
        CollectorQuery::And(queries) => json!(["and", all(queries).map(Json::Array)?]),
        CollectorQuery::Or(queries) => json!(["or", all(queries).map(Json::Array)?]),
        CollectorQuery::Compare {
            is_equal,
            attribute,
            value,
        } => {
            let json = value.to_json().ok()?;
            if Value::from_json(&json) != *value {
                return None;
            }
            let operator = if *is_equal { "==" } else { "!=" };
            json!([operator, &**attribute, json])
        }
    })
}

fn condition_from_json(json: &Json) -> Option<CollectorQuery> {
    let all = |parts: &[Json]| parts.iter().map(condition_from_json).collect::<Option<_>>();
    match json.as_array()?.as_slice() {
        [Json::String(operator), Json::Array(parts)] => match operator.as_str() {
            "and" => Some(CollectorQuery::And(all(parts)?)),
            "or" => Some(CollectorQuery::Or(all(parts)?)),
            _ => None,
        },
        [Json::String(operator), Json::String(attribute), value] => Some(CollectorQuery::Compare {
            is_equal: match operator.as_str() {
                "==" => true,
                "!=" => false,
                _ => return None,
            },
            attribute: attribute.as_str().into(),
            value: Value::from_json(value),
        }),
        _ => None,
    }
}

/// Digest of resources in their order; `None` if a parameter has no form in JSON.
pub(crate) fn exports_digest(resources: &[ExportedResource]) -> Option<String> {
    let mut hasher = Sha256::new();
    let mut add = |text: &str| {
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    for resource in resources {
        add(&resource.certname);
        add(&resource.title);
        let parameters = Value::hash(resource.parameters.clone());
        add(&parameters.to_rich_json().ok()?.to_string());
        add(&json!(resource.tags).to_string());
    }
    Some(hexadecimal(hasher))
}

/// Digest of capabilities, whose order does not count; `None` if an attribute has no form in JSON.
pub(crate) fn capabilities_digest(capabilities: &mut [StoredCapability]) -> Option<String> {
    capabilities.sort_by(|a, b| a.certname.cmp(&b.certname));
    let mut hasher = Sha256::new();
    for capability in capabilities {
        let attributes = Value::hash(capability.attributes.clone());
        let attributes = attributes.to_rich_json().ok()?.to_string();
        for text in [&capability.certname, &attributes] {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
    }
    Some(hexadecimal(hasher))
}

/// Digest of rows in their order.
pub(crate) fn rows_digest(rows: &[Json]) -> String {
    let mut hasher = Sha256::new();
    for row in rows {
        let text = row.to_string();
        hasher.update((text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hexadecimal(hasher)
}

fn hexadecimal(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use evaluator::CollectorQuery;
    use pcore::{Hash, Value};
    use serde_json::json;

    use super::{DataQuery, condition_from_json, condition_to_json, exports_digest, rows_digest};
    use crate::exports::ExportedResource;

    fn compare(attribute: &str, value: Value) -> CollectorQuery {
        CollectorQuery::Compare {
            is_equal: attribute != "not",
            attribute: attribute.into(),
            value,
        }
    }

    #[test]
    fn a_condition_is_the_same_after_it_was_stored() {
        let values = [
            Value::from("x"),
            Value::Int(3),
            Value::Float(1.5),
            Value::Bool(true),
            Value::Undef,
            Value::array(vec![Value::from("a"), Value::Int(1)]),
        ];
        let compared = values.iter().cloned().map(|value| compare("not", value));
        let query = CollectorQuery::Or(vec![
            CollectorQuery::And(compared.collect()),
            compare("tag", Value::from("it's")),
        ]);
        let stored = condition_to_json(&query).unwrap();
        let read = condition_from_json(&stored).unwrap();
        assert_eq!(format!("{read:?}"), format!("{query:?}"));
        for value in [
            Value::sensitive(Value::from("x")),
            Value::Default,
            Value::array(vec![Value::sensitive(Value::Int(1))]),
        ] {
            assert_eq!(condition_to_json(&compare("a", value)), None);
        }
        for malformed in [
            json!(1),
            json!([]),
            json!(["xor", []]),
            json!(["==", 1, 2]),
            json!(["<", "a", 1]),
            json!(["and", [["or", 1]]]),
        ] {
            assert!(condition_from_json(&malformed).is_none(), "{malformed}");
        }
    }

    #[test]
    fn a_query_is_shown_as_code_has_it() {
        let query = CollectorQuery::And(vec![
            compare("tag", Value::from("web")),
            compare("not", Value::Int(1)),
        ]);
        let shown = |query| DataQuery::of_collector("File", query).unwrap().to_string();
        assert_eq!(
            shown(Some(&query)),
            r#"File <<| (tag == "web" and not != 1) |>>"#
        );
        assert_eq!(shown(None), "File <<| |>>");
    }

    #[test]
    fn every_difference_of_a_result_has_another_digest() {
        let resource = |certname: &str, title: &str, content: Value, tags: &[&str]| {
            let mut parameters = Hash::new();
            parameters.insert("content", content);
            ExportedResource {
                certname: certname.to_owned(),
                title: title.to_owned(),
                parameters,
                tags: tags.iter().map(|it| (*it).to_owned()).collect(),
            }
        };
        let one = resource("a", "t", Value::from("x"), &["web"]);
        let others = [
            vec![],
            vec![one.clone()],
            vec![one.clone(), one.clone()],
            vec![resource("b", "t", Value::from("x"), &["web"])],
            vec![resource("a", "tt", Value::from("x"), &["web"])],
            vec![resource("a", "t", Value::from("y"), &["web"])],
            vec![resource(
                "a",
                "t",
                Value::sensitive(Value::from("x")),
                &["web"],
            )],
            vec![resource("a", "t", Value::from("x"), &["web", "db"])],
            vec![resource("a", "t", Value::from("x"), &["webdb"])],
        ];
        let digests: std::collections::BTreeSet<String> = others
            .iter()
            .map(|it| exports_digest(it).unwrap())
            .collect();
        assert_eq!(digests.len(), others.len());
        let rows = [
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!([2, 1]),
            json!([[1, 2]]),
        ];
        let digests: std::collections::BTreeSet<String> = rows
            .iter()
            .map(|it| rows_digest(it.as_array().unwrap()))
            .collect();
        assert_eq!(digests.len(), rows.len());
    }
}
