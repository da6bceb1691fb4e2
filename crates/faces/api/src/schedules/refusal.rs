//! Errors of reading and writing scheduled jobs, as clients get them.

use api_types::{ApiError, kinds};
use schedules::{ScheduleError, TimetableError};
use serde_json::json;

use crate::failure::ApiFailure;

impl From<ScheduleError> for ApiFailure {
    fn from(error: ScheduleError) -> Self {
        let text = error.to_string();
        Self(match error {
            ScheduleError::Unknown(id) => {
                ApiError::new(kinds::UNKNOWN_JOB, text).with("job", json!(id.to_string()))
            }
            ScheduleError::Disabled(id) => ApiError::new(kinds::DISABLED_SCHEDULED_JOB, text)
                .with("scheduled_job", json!(id.to_string())),
            ScheduleError::TooMany => ApiError::new(kinds::TOO_MANY_SCHEDULED_JOBS, text),
            ScheduleError::TooLarge(_) => {
                ApiError::new(kinds::VALIDATION, text).with("path", json!("input"))
            }
            ScheduleError::Timetable(error) => timetable_error(&error),
            ScheduleError::Edited(_) => ApiError::new(kinds::UNAVAILABLE, text),
            _ => return Self::internal("read or write the scheduled job", &error),
        })
    }
}

fn timetable_error(error: &TimetableError) -> ApiError {
    match error {
        TimetableError::Past | TimetableError::Never => {
            let msg = format!("schedule: {error}");
            ApiError::new(kinds::INVALID_TIME, msg).with("path", json!("schedule.start_time"))
        }
        TimetableError::Zone { place, .. } | TimetableError::Invalid { place, .. } => {
            ApiError::new(kinds::VALIDATION, error.to_string()).with("path", json!(place))
        }
    }
}
