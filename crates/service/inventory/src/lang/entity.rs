//! The four entities and their columns, with PuppetDB's names: [`QueryEntity`].

/// A table of the embedded inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueryEntity {
    Nodes,
    Facts,
    Inventory,
    Reports,
}

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Text,
    Bool,
    Time,
    /// Any JSON; a path may lead into it.
    Json,
}

use ColumnType::{Bool, Json, Text, Time};

const NODES: &[(&str, ColumnType)] = &[
    ("certname", Text),
    ("deactivated", Time),
    ("expired", Time),
    ("facts_environment", Text),
    ("facts_timestamp", Time),
    ("catalog_environment", Text),
    ("catalog_timestamp", Time),
    ("report_environment", Text),
    ("report_timestamp", Time),
    ("latest_report_hash", Text),
    ("latest_report_status", Text),
    ("latest_report_noop", Bool),
    ("latest_report_noop_pending", Bool),
    ("latest_report_corrective_change", Bool),
    ("latest_report_job_id", Text),
    ("cached_catalog_status", Text),
    ("connected", Bool),
];

const FACTS: &[(&str, ColumnType)] = &[
    ("certname", Text),
    ("environment", Text),
    ("name", Text),
    ("value", Json),
];

const INVENTORY: &[(&str, ColumnType)] = &[
    ("certname", Text),
    ("environment", Text),
    ("facts", Json),
    ("timestamp", Time),
    ("trusted", Json),
];

const REPORTS: &[(&str, ColumnType)] = &[
    ("certname", Text),
    ("hash", Text),
    ("transaction_uuid", Text),
    ("status", Text),
    ("noop", Bool),
    ("noop_pending", Bool),
    ("corrective_change", Bool),
    ("environment", Text),
    ("configuration_version", Text),
    ("catalog_uuid", Text),
    ("code_id", Text),
    ("cached_catalog_status", Text),
    ("job_id", Text),
    ("puppet_version", Text),
    ("start_time", Time),
    ("end_time", Time),
    ("receive_time", Time),
    ("latest_report?", Bool),
];

/// Every entity with its name.
pub(crate) const ALL: &[(&str, QueryEntity)] = &[
    ("facts", QueryEntity::Facts),
    ("inventory", QueryEntity::Inventory),
    ("nodes", QueryEntity::Nodes),
    ("reports", QueryEntity::Reports),
];

impl QueryEntity {
    /// The entity with this name, or an error that lists the valid names.
    pub(crate) fn from_name(name: &str) -> Result<Self, String> {
        let found = ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, entity)| *entity).ok_or_else(|| {
            format!(
                "`{}` is not in the embedded inventory, which answers for facts, inventory, nodes \
                 and reports; configure a PuppetDB for more",
                clip_name(name)
            )
        })
    }

    pub(crate) fn name(self) -> &'static str {
        let found = ALL.iter().find(|(_, entity)| *entity == self);
        found.map_or("", |(name, _)| name)
    }

    /// The columns of the entity, in the order of an answer.
    pub(crate) fn columns(self) -> &'static [(&'static str, ColumnType)] {
        match self {
            Self::Nodes => NODES,
            Self::Facts => FACTS,
            Self::Inventory => INVENTORY,
            Self::Reports => REPORTS,
        }
    }
}

/// A name truncated for an error message.
pub(crate) fn clip_name(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(64).collect()
}
