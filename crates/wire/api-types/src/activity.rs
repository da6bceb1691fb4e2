//! `GET /activity-api/v1|v2/events`: the audit in the shape of Puppet Enterprise's activity
//! service.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::defaults::{AUDIT_ENTRIES, AUDIT_ENTRIES_MAX};
use crate::order::Order;
use crate::parameters::Parameters;
use crate::{ApiError, Timestamp};

/// What happened, the latest first unless asked otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityV1 {
    /// What happened.
    pub commits: Vec<ActivityCommitV1>,
    /// How many there are without `limit` and `offset`.
    #[serde(rename = "total-rows")]
    pub total_rows: u64,
    /// As asked, or 1000.
    pub limit: u64,
    /// As asked, or 0.
    pub offset: u64,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityCommitV1 {
    /// To what.
    pub object: ActivityName,
    /// By whom.
    pub subject: ActivityName,
    /// When.
    pub timestamp: Timestamp,
    /// In words; always one.
    pub events: Vec<ActivityMessage>,
}

/// Something with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityName {
    /// May be empty.
    pub id: String,
    /// May be empty.
    pub name: String,
}

/// In words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityMessage {
    /// For people.
    pub message: String,
}

/// What happened, the latest first unless asked otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityV2 {
    /// What happened.
    pub commits: Vec<ActivityCommitV2>,
    /// How much there is.
    pub pagination: ActivityPagination,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityCommitV2 {
    /// To what; none or one.
    pub objects: Vec<ActivityObject>,
    /// By whom.
    pub subject: ActivityName,
    /// When.
    pub timestamp: Timestamp,
    /// From where; null where nobody knows.
    pub ip_address: Option<String>,
    /// In words; always one.
    pub events: Vec<ActivityEvent>,
}

/// To what.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityObject {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `job`, `role`, …
    #[serde(rename = "type")]
    pub kind: String,
}

/// What it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityEvent {
    /// The operation's id in the API document, for example `command_task`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The type of the object.
    pub what: String,
    /// What the operation does.
    pub description: String,
    /// For people.
    pub message: String,
}

/// How much there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ActivityPagination {
    /// How many there are without `limit` and `offset`.
    pub total: u64,
    /// As asked, or 1000.
    pub limit: u64,
    /// As asked, or 0.
    pub offset: u64,
}

/// What to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityQuery {
    /// Of one service.
    pub service: Option<String>,
    /// `users`, …
    pub subject_type: Option<String>,
    /// By one of these.
    pub subject_ids: Vec<String>,
    /// `job`, …
    pub object_type: Option<String>,
    /// To one of these.
    pub object_ids: Vec<String>,
    /// From one address.
    pub ip_address: Option<String>,
    /// Not before.
    pub start: Option<Timestamp>,
    /// Not after.
    pub end: Option<Timestamp>,
    /// How many at most.
    pub limit: u64,
    /// How many are left out.
    pub offset: u64,
    /// The oldest first.
    pub ascending: bool,
}

// === impl ActivityQuery ===

impl ActivityQuery {
    /// From the query parameters of version 1.
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

    /// From the query parameters of version 2, where filters are a JSON array of objects in
    /// `query`. All of them have to match; several ids of one kind are alternatives.
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

/// Both are in use.
fn plural(kind: String) -> String {
    match kind.as_str() {
        "user" => "users".to_owned(),
        _ => kind,
    }
}
