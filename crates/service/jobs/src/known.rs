//! A node of the embedded inventory in the form that rules are evaluated on: [`Known`].
//!
//! Invariant: none of its facts is copied, because a group's rule is evaluated on every node.

use std::borrow::Cow;

use classifier::{Path, Step, Subject};
use inventory::{FactValue, HeldRecord, Node};
use pcp::Certname;

/// A node, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'s> {
    certname: &'s Certname,
    /// The node's record; `None`: the node has sent no facts yet.
    record: Option<&'s HeldRecord>,
}

impl<'s> Known<'s> {
    pub(crate) fn new(certname: &'s Certname, node: Option<&'s Node>) -> Self {
        Self {
            certname,
            record: node.and_then(|node| node.record.as_deref()),
        }
    }

    /// The trusted facts from the node's certificate; for a node of which only the name is known,
    /// its name.
    fn trusted(&self, steps: &[Step]) -> Option<Cow<'s, str>> {
        let trusted = self.record.map(HeldRecord::trusted);
        match trusted.filter(|trusted| trusted.entries().next().is_some()) {
            Some(trusted) => at(trusted, steps)?.text(),
            None => match steps {
                [Step::Key(key)] if key == "certname" => Some(self.certname.as_str().into()),
                _ => None,
            },
        }
    }
}

impl Subject for Known<'_> {
    fn certname(&self) -> &Certname {
        self.certname
    }

    fn requested_environment(&self) -> Option<&str> {
        self.record?.environment()
    }

    fn text(&self, path: &Path) -> Option<Cow<'_, str>> {
        match path {
            Path::Name => Some(self.certname.as_str().into()),
            Path::Fact(steps) => at(self.record?.facts(), steps)?.text(),
            Path::Trusted(steps) => self.trusted(steps),
        }
    }
}

fn at<'s>(value: &'s FactValue, steps: &[Step]) -> Option<&'s FactValue> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.at(usize::try_from(*index).ok()?),
    })
}
