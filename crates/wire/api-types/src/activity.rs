//! `GET /activity-api/v1|v2/events`: the audit log in the format of Puppet Enterprise's activity
//! service.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::defaults::{AUDIT_ENTRIES, AUDIT_ENTRIES_MAX};
use crate::order::Order;
use crate::parameters::Parameters;
use crate::{ApiError, Timestamp};

/// Audit events in the format of version 1, newest first by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityV1 {
    /// Audit events of this page.
    pub commits: Vec<ActivityCommitV1>,
    /// Number of items in the whole list, without `limit` and `offset`.
    #[serde(rename = "total-rows")]
    pub total_rows: u64,
    /// Limit of the request, or 1000.
    pub limit: u64,
    /// Offset of the request, or 0.
    pub offset: u64,
}

/// One audit event in the format of version 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityCommitV1 {
    /// Object that the operation changed.
    pub object: ActivityName,
    /// User or program that performed the operation.
    pub subject: ActivityName,
    /// Time of the operation, in UTC.
    pub timestamp: Timestamp,
    /// Description of the event as text; always exactly one.
    pub events: Vec<ActivityMessage>,
}

/// Id and name of a user, a program or an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityName {
    /// Id of the subject or object; may be empty.
    pub id: String,
    /// Name of the subject or object; may be empty.
    pub name: String,
}

/// Text of an audit event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityMessage {
    /// Sentence that describes the operation.
    pub message: String,
}

/// Audit events in the format of version 2, newest first by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityV2 {
    /// Audit events of this page.
    pub commits: Vec<ActivityCommitV2>,
    /// Size of the whole list, and the part of it that was returned.
    pub pagination: ActivityPagination,
}

/// One audit event in the format of version 2.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityCommitV2 {
    /// Objects that the operation changed; at most one.
    pub objects: Vec<ActivityObject>,
    /// User or program that performed the operation.
    pub subject: ActivityName,
    /// Time of the operation, in UTC.
    pub timestamp: Timestamp,
    /// Address from which the request came; null if it is unknown.
    pub ip_address: Option<String>,
    /// Description of the event as text; always exactly one.
    pub events: Vec<ActivityEvent>,
}

/// Object that an operation changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityObject {
    /// Id of the object.
    pub id: String,
    /// Name of the object.
    pub name: String,
    /// Type of the object: `job`, `role`, …
    #[serde(rename = "type")]
    pub kind: String,
}

/// Operation of an audit event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityEvent {
    /// The operation's id in the API document, for example `command_task`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Type of the object that the operation changed.
    pub what: String,
    /// Summary of the operation, from the API document.
    pub description: String,
    /// Sentence that describes the operation.
    pub message: String,
}

/// Size of the whole list, and the part of it that was returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityPagination {
    /// Number of items in the whole list, without `limit` and `offset`.
    pub total: u64,
    /// Limit of the request, or 1000.
    pub limit: u64,
    /// Offset of the request, or 0.
    pub offset: u64,
}

/// Filters and page of a query for audit events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityQuery {
    /// Only events of this service; `None`: of all services.
    pub service: Option<String>,
    /// Only events of this type of subject, for example `users`; `None`: of all types.
    pub subject_type: Option<String>,
    /// Only events of these subjects; empty: of all subjects.
    pub subject_ids: Vec<String>,
    /// Only events about this type of object, for example `job`; `None`: about all types.
    pub object_type: Option<String>,
    /// Only events about these objects; empty: about all objects.
    pub object_ids: Vec<String>,
    /// Only events of requests from this address; `None`: from all addresses.
    pub ip_address: Option<String>,
    /// Earliest time of the events, inclusive; `None`: no limit.
    pub start: Option<Timestamp>,
    /// Latest time of the events, inclusive; `None`: no limit.
    pub end: Option<Timestamp>,
    /// Largest number of events to return.
    pub limit: u64,
    /// Number of events to skip at the beginning.
    pub offset: u64,
    /// True if the oldest event comes first.
    pub ascending: bool,
}

// === impl ActivityQuery ===

impl ActivityQuery {
    /// Reads the query parameters of version 1.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read_v1(mut given: Parameters) -> Result<Self, ApiError> {
        let mut query = Self::common(&mut given)?;
        query.subject_type = given.text("subject_type").map(plural);
        query.subject_ids = list(given.text("subject_id"));
        query.object_type = given.text("object_type");
        query.object_ids = list(given.text("object_id"));
        query.start = given.time("after_service_commit_time")?;
        given.finish()?;
        for (ids, kind, name) in [
            (&query.subject_ids, &query.subject_type, "subject_type"),
            (&query.object_ids, &query.object_type, "object_type"),
        ] {
            if !ids.is_empty() && kind.is_none() {
                return Err(ApiError::invalid(name, "ids need their type"));
            }
        }
        Ok(query)
    }

    /// Reads the query parameters of version 2, where `query` is a JSON array of filter objects.
    /// All filters must match; several ids of one type are alternatives.
    ///
    /// # Errors
    /// A validation error that names the parameter.
    pub fn read_v2(mut given: Parameters) -> Result<Self, ApiError> {
        let mut query = Self::common(&mut given)?;
        let filters = given.text("query");
        given.finish()?;
        let filters = filters
            .map(|text| decode_errors::json::from_str(&text))
            .transpose();
        let filters: Option<Vec<Filter>> =
            filters.map_err(|error| ApiError::invalid("query", error))?;
        for filter in filters.unwrap_or_default() {
            query.narrow(filter)?;
        }
        Ok(query)
    }

    fn common(given: &mut Parameters) -> Result<Self, ApiError> {
        let limit = given.number("limit")?.unwrap_or(AUDIT_ENTRIES);
        if limit > AUDIT_ENTRIES_MAX {
            let what = format!("at most {AUDIT_ENTRIES_MAX} at a time");
            return Err(ApiError::invalid("limit", what));
        }
        let orders = [("asc", Order::Asc), ("desc", Order::Desc)];
        let order = given.one_of("order", &orders)?;
        Ok(Self {
            service: given.text("service_id"),
            limit,
            offset: given.number("offset")?.unwrap_or(0),
            ascending: order == Some(Order::Asc),
            ..Self::default()
        })
    }

    fn narrow(&mut self, filter: Filter) -> Result<(), ApiError> {
        once(
            "subject_type",
            &mut self.subject_type,
            filter.subject_type.map(plural),
        )?;
        once("object_type", &mut self.object_type, filter.object_type)?;
        once("ip_address", &mut self.ip_address, filter.ip_address)?;
        once("start", &mut self.start, filter.start)?;
        once("end", &mut self.end, filter.end)?;
        self.subject_ids.extend(text(filter.subject_id)?);
        self.object_ids.extend(text(filter.object_id)?);
        Ok(())
    }
}

/// One object of `query`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Filter {
    subject_type: Option<String>,
    subject_id: Option<Value>,
    object_type: Option<String>,
    object_id: Option<Value>,
    ip_address: Option<String>,
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

/// Ids of roles and groups are numbers to some clients.
fn text(id: Option<Value>) -> Result<Option<String>, ApiError> {
    match id {
        None => Ok(None),
        Some(Value::String(id)) => Ok(Some(id)),
        Some(Value::Number(id)) => Ok(Some(id.to_string())),
        Some(_) => Err(ApiError::invalid("query", "an id is a text or a number")),
    }
}

fn once<T: PartialEq>(name: &str, held: &mut Option<T>, given: Option<T>) -> Result<(), ApiError> {
    if given.is_some() && held.is_some() && *held != given {
        return Err(ApiError::invalid("query", format!("{name} is given twice")));
    }
    *held = held.take().or(given);
    Ok(())
}

fn list(ids: Option<String>) -> Vec<String> {
    let ids = ids.unwrap_or_default();
    let ids = ids.split(',').filter(|id| !id.is_empty());
    ids.map(str::to_owned).collect()
}

/// Subject types are in use both in the singular and in the plural.
fn plural(kind: String) -> String {
    match kind.as_str() {
        "user" => "users".to_owned(),
        _ => kind,
    }
}
