//! `POST command/stop`: stops a job.

use std::collections::BTreeMap;

use api_types::{ApiError, NodeCounts, StopCommand, StopReply, StoppedJob, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jobs::StopError;

use crate::SharedApiContext;
use crate::base_url::BaseUrl;
use crate::body::StrictBody;
use crate::failure::ApiFailure;
use crate::jobs::unknown_job_error;
use crate::request_parameters::job_number;

pub(crate) async fn stop(
    State(api): State<SharedApiContext>,
    base: BaseUrl,
    StrictBody(command): StrictBody<StopCommand>,
) -> Result<(StatusCode, Json<StopReply>), ApiFailure> {
    let number = job_number("job", &command.job)?;
    api.jobs
        .stop(number, command.force)
        .await
        .map_err(stop_error)?;
    let states = api.store.node_states(&[number]).await?;
    let job = base.job_url(number);
    let nodes = counts(states.get(&number));
    let reply = StopReply {
        job: StoppedJob {
            id: job.id,
            name: job.name,
            nodes,
        },
    };
    Ok((StatusCode::ACCEPTED, Json(reply)))
}

pub(crate) fn stop_error(error: StopError) -> ApiFailure {
    match error {
        StopError::UnknownJob(number) => unknown_job_error(number).into(),
        StopError::ShuttingDown => ApiError::new(kinds::UNAVAILABLE, error.to_string()).into(),
        StopError::Store(_) => ApiFailure::internal("stop the job", &error),
    }
}

fn counts(states: Option<&BTreeMap<String, u64>>) -> NodeCounts {
    let of = |state: &str| {
        states
            .and_then(|states| states.get(state))
            .copied()
            .unwrap_or(0)
    };
    NodeCounts {
        new: of("new") + of("ready"),
        running: of("running"),
        failed: of("failed"),
        errored: of("errored"),
        skipped: of("skipped"),
        finished: of("finished"),
    }
}
