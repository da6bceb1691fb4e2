//! Rows of the audit chain, as read and as written: [`AuditRow`], [`NewAudit`].

use crate::rows::row;

row! {
    /// An entry that is not written yet. Texts are not restricted; a NUL in them becomes `␀`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct NewAudit {
        /// Time of the entry in milliseconds since 1970.
        pub at_ms: i64,
        /// Phase: `intent`, `result`, `login`, `denied`, `event` or `checkpoint`.
        pub phase: String,
        /// Number of the entry that announced the command; only for a result.
        pub intent: Option<i64>,
        /// Type of the actor: `users`, `certificates`, `server` or `anonymous`.
        pub actor_type: String,
        /// UUID of a user, or a certname; may be empty.
        pub actor_id: String,
        /// Login of a user, or a certname; may be empty.
        pub actor_name: String,
        /// Address that the request came from, if it is known.
        pub address: Option<String>,
        /// Service that handled the request, such as `orchestrator` or `rbac`.
        pub service: String,
        /// Requested action, for example `command_task`.
        pub action: String,
        /// Type of the object; may be empty.
        pub object_type: String,
        /// Id of the object; may be empty.
        pub object_id: String,
        /// Name of the object shown to users.
        pub object_name: String,
        /// Method and path, with the variable parts named as in the list of the API.
        pub route: String,
        /// Decision: `allowed` or `denied`.
        pub decision: String,
        /// The permission that was required.
        pub permission: Option<String>,
        /// HTTP status of the reply; `None` if there is none, as before the reply.
        pub status: Option<i64>,
        /// Number of occurrences: 1, except for refusals that are counted together.
        pub times: i64,
        /// Details of the request, as JSON.
        pub details: String,
    } read write columns entry_columns
}

row! {
    /// A stored entry of the audit chain.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct AuditRow {
        /// Position in the chain, counted from 1 without gaps.
        pub seq: i64,
        /// Version of the encoding that was hashed.
        pub version: i64,
        /// Content of the entry.
        pub entry: NewAudit = entry_columns!(),
        /// Hash of the previous entry; zeroes for the first entry.
        pub prev: [u8; 32],
        /// Hash of this entry.
        pub hash: [u8; 32],
    } read select entries from "audit"
}

#[expect(
    clippy::single_component_path_imports,
    reason = "they are macros, made by `row!`"
)]
pub(crate) use {entries, entry_columns};
