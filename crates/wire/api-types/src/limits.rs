//! Limits that apply to every command that creates a job.

use serde_json::json;

use crate::defaults::{DESCRIPTION_CHARS, TIMEOUT_SECONDS, USERDATA_BYTES};
use crate::{ApiError, Object};

pub(crate) fn check(concurrency: Option<u32>, timeout: Option<u64>) -> Result<(), ApiError> {
    if concurrency == Some(0) {
        return Err(ApiError::invalid("concurrency", "must be at least 1"));
    }
    if timeout.is_some_and(|seconds| seconds > TIMEOUT_SECONDS) {
        let what = format!("must be at most {TIMEOUT_SECONDS} seconds (30 days)");
        return Err(ApiError::invalid("timeout", what));
    }
    Ok(())
}

pub(crate) fn check_texts(description: &str, userdata: &Object) -> Result<(), ApiError> {
    if description.chars().count() > DESCRIPTION_CHARS {
        let what = format!("must have at most {DESCRIPTION_CHARS} characters");
        return Err(ApiError::invalid("description", what));
    }
    if json!(userdata).to_string().len() > USERDATA_BYTES {
        let what = format!("must have at most {USERDATA_BYTES} bytes as JSON");
        return Err(ApiError::invalid("userdata", what));
    }
    Ok(())
}
