//! A node of the embedded inventory in the form that rules are evaluated on: [`InventorySubject`].
//!
//! Invariant: none of its facts is copied, because a group's rule is evaluated on every node.

use std::borrow::Cow;

use classifier::{ClassifiedNode, FactPath, FactPathStep, find_below};
use inventory::{CompactNodeRecord, FactValue, InventoryNode};
use pcp::Certname;

/// A node, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InventorySubject<'s> {
    certname: &'s Certname,
    /// The node's record; `None`: the node has sent no facts yet.
    record: Option<&'s CompactNodeRecord>,
}

impl<'s> InventorySubject<'s> {
    pub(crate) fn new(certname: &'s Certname, node: Option<&'s InventoryNode>) -> Self {
        Self {
            certname,
            record: node.and_then(|node| node.record.as_deref()),
        }
    }

    /// The trusted facts from the node's certificate; for a node of which only the name is known,
    /// its name.
    fn trusted(&self, steps: &[FactPathStep]) -> Option<Cow<'s, str>> {
        let trusted = self.record.map(CompactNodeRecord::trusted);
        match trusted.filter(|trusted| trusted.entries().next().is_some()) {
            Some(trusted) => value_at(trusted, steps)?.text(),
            None => match steps {
                [FactPathStep::Key(key)] if key == "certname" => {
                    Some(self.certname.as_str().into())
                }
                _ => None,
            },
        }
    }
}

impl ClassifiedNode for InventorySubject<'_> {
    fn certname(&self) -> &Certname {
        self.certname
    }

    fn requested_environment(&self) -> Option<&str> {
        self.record?.environment()
    }

    fn text(&self, path: &FactPath) -> Option<Cow<'_, str>> {
        match path {
            FactPath::Name => Some(self.certname.as_str().into()),
            FactPath::Fact(steps) => value_at(self.record?.facts(), steps)?.text(),
            FactPath::Trusted(steps) => self.trusted(steps),
        }
    }
}

fn value_at<'s>(value: &'s FactValue, steps: &[FactPathStep]) -> Option<&'s FactValue> {
    find_below(value, steps, FactValue::get, FactValue::element_at)
}
