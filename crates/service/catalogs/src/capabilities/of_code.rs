//! Capabilities as a compilation finds them: [`CapabilitiesOfCode`].
//!
//! Invariant: of two servers that compiled a node, the one with the newer catalog counts.

use std::collections::BTreeMap;

use compiler::{CapabilitySearch, CapabilitySearchError, ProducedCapabilities, StoredCapability};

use super::embedded::{EmbeddedCapabilities, OwnCapability};
use super::puppetdb::{ForeignCapabilities, PuppetdbCapabilities};

/// The sources of the capabilities of other nodes.
#[derive(Debug, Clone, Default)]
pub struct CapabilitySources {
    /// Of nodes that this server compiles; `None` to keep and find none.
    pub embedded: Option<EmbeddedCapabilities>,
    /// Of nodes that other servers compile; `None` if there are none.
    pub puppetdb: Option<PuppetdbCapabilities>,
}

/// The capabilities of all nodes for a compilation. Producers of its code version come first, so that the limit
/// cuts off others.
#[derive(Debug)]
pub struct CapabilitiesOfCode {
    sources: CapabilitySources,
    code_id: Option<String>,
}

impl CapabilitySources {
    pub(super) fn is_empty(&self) -> bool {
        self.embedded.is_none() && self.puppetdb.is_none()
    }

    /// The capabilities as a compilation of the version `code_id` finds them; `None` if there is no source.
    #[must_use]
    pub fn of_code(&self, code_id: Option<&str>) -> Option<CapabilitiesOfCode> {
        (!self.is_empty()).then(|| CapabilitiesOfCode {
            sources: self.clone(),
            code_id: code_id.map(str::to_owned),
        })
    }
}

impl ProducedCapabilities for CapabilitiesOfCode {
    fn find(
        &self,
        search: &CapabilitySearch<'_>,
    ) -> Result<Vec<StoredCapability>, CapabilitySearchError> {
        let failure = |place: &str, cause: String| {
            CapabilitySearchError(format!(
                "Could not retrieve capabilities from {place}: {cause}"
            ))
        };
        let own = match &self.sources.embedded {
            Some(embedded) => embedded
                .find(search, self.code_id.clone())
                .map_err(|cause| failure("the database of this server", cause))?,
            None => Vec::new(),
        };
        let Some(puppetdb) = &self.sources.puppetdb else {
            return Ok(own.into_iter().map(|it| it.capability).collect());
        };
        let producers = own.iter().map(|it| it.capability.certname.clone());
        let producers: Vec<String> = producers.collect();
        let foreign = puppetdb
            .find(search, &producers)
            .map_err(|cause| failure(&format!("the PuppetDB at {}", puppetdb.location()), cause))?;
        Ok(newest(own, foreign))
    }
}

/// For each node the capability of its newest catalog, in the order of certnames.
fn newest(own: Vec<OwnCapability>, foreign: ForeignCapabilities) -> Vec<StoredCapability> {
    let ForeignCapabilities {
        catalogs,
        mut attributes,
    } = foreign;
    let mut found = BTreeMap::new();
    for OwnCapability {
        capability,
        produced_ms,
    } in own
    {
        let certname = &capability.certname;
        let is_replaced = catalogs
            .get(certname)
            .is_some_and(|other| produced_ms.is_none_or(|own| own < other.produced_ms));
        if !is_replaced {
            attributes.remove(certname);
            found.insert(certname.clone(), capability);
        }
    }
    for (certname, attributes) in attributes {
        // without one, it was replaced by a catalog of this server between the two queries
        if let Some(catalog) = catalogs.get(&certname) {
            let capability = StoredCapability {
                certname: certname.clone(),
                code_id: catalog.code_id.clone(),
                attributes,
            };
            found.insert(certname, capability);
        }
    }
    found.into_values().collect()
}

#[cfg(test)]
mod tests {
    use pcore::{Hash, Value};

    use super::super::puppetdb::ForeignCatalog;
    use super::*;

    fn attributes(host: &str) -> Hash {
        let mut attributes = Hash::default();
        attributes.insert("host", Value::from(host));
        attributes
    }

    fn own(certname: &str, produced_ms: Option<i64>) -> OwnCapability {
        OwnCapability {
            capability: StoredCapability {
                certname: certname.to_owned(),
                code_id: None,
                attributes: attributes("own"),
            },
            produced_ms,
        }
    }

    fn foreign(catalogs: &[(&str, i64)], producers: &[&str]) -> ForeignCapabilities {
        let catalog = |&(certname, produced_ms): &(&str, i64)| {
            let catalog = ForeignCatalog {
                code_id: Some("c".to_owned()),
                produced_ms,
                transaction_uuid: None,
            };
            (certname.to_owned(), catalog)
        };
        let producer = |certname: &&str| ((*certname).to_owned(), attributes("foreign"));
        ForeignCapabilities {
            catalogs: catalogs.iter().map(catalog).collect(),
            attributes: producers.iter().map(producer).collect(),
        }
    }

    fn hosts(found: &[StoredCapability]) -> Vec<String> {
        let host = |it: &StoredCapability| it.attributes.get_str("host").unwrap().to_string();
        found
            .iter()
            .map(|it| format!("{} {}", it.certname, host(it)))
            .collect()
    }

    #[test]
    fn the_newer_catalog_of_a_node_counts() {
        let cases = [
            // other server, own time of the capability, result
            (foreign(&[], &[]), Some(5), vec!["db own"]),
            (foreign(&[("db", 4)], &["db"]), Some(5), vec!["db own"]),
            (foreign(&[("db", 6)], &["db"]), Some(5), vec!["db foreign"]),
            // its newer catalog does not produce it any more
            (foreign(&[("db", 6)], &[]), Some(5), vec![]),
            // kept by an older release, which knew no time
            (foreign(&[("db", 6)], &["db"]), None, vec!["db foreign"]),
            // a catalog of this server replaced it between the two queries
            (foreign(&[], &["db"]), Some(5), vec!["db own"]),
        ];
        for (foreign, produced_ms, expected) in cases {
            let shown = format!("{foreign:?}");
            let found = newest(vec![own("db", produced_ms)], foreign);
            assert_eq!(hosts(&found), expected, "{shown}");
        }
    }

    #[test]
    fn nodes_of_both_servers_are_found() {
        let foreign = foreign(&[("b", 1)], &["b", "gone"]);
        let found = newest(vec![own("c", Some(1)), own("a", None)], foreign);
        assert_eq!(hosts(&found), ["a own", "b foreign", "c own"]);
    }
}
