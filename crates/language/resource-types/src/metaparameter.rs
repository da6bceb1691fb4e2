//! Attributes that every resource type has: [`Metaparameter`].
//!
//! Invariant: the order is the one in which Puppet 8 declares them.

/// An attribute that every resource type has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metaparameter {
    /// Name of the attribute, as manifests write it.
    pub name: &'static str,
    /// True if the values are references to resources, and the attribute becomes edges.
    pub is_relationship: bool,
}

/// All metaparameters of Puppet 8. Puppet 6 also had `consume` and `export`.
pub const METAPARAMETERS: &[Metaparameter] = &[
    plain("noop"),
    plain("schedule"),
    plain("audit"),
    plain("loglevel"),
    plain("alias"),
    plain("tag"),
    relationship("require"),
    relationship("subscribe"),
    relationship("before"),
    relationship("notify"),
    plain("stage"),
];

impl Metaparameter {
    /// The metaparameter with this name; `None` if there is none.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        METAPARAMETERS.iter().find(|it| it.name == name)
    }
}

const fn plain(name: &'static str) -> Metaparameter {
    Metaparameter {
        name,
        is_relationship: false,
    }
}

const fn relationship(name: &'static str) -> Metaparameter {
    Metaparameter {
        name,
        is_relationship: true,
    }
}
