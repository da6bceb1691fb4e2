//! `POST command/stop`: end a job.

use std::collections::BTreeMap;

use api_types::{ApiError, NodeCounts, StopCommand, StopReply, StoppedJob, kinds};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jobs::StopError;

use crate::Shared;
use crate::base::Base;
use crate::body::Strict;
use crate::failure::Failure;
use crate::given::job_number;
use crate::jobs::unknown_job;

pub(crate) async fn stop(
    State(api): State<Shared>,
    base: Base,
    Strict(command): Strict<StopCommand>,
) -> Result<(StatusCode, Json<StopReply>), Failure> {
    let number = job_number("job", &command.job)?;
    api.jobs
        .stop(number, command.force)
        .await
        .map_err(refusal)?;
    let states = api.store.node_states(&[number]).await?;
    let job = base.job(number);
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

pub(crate) fn refusal(error: StopError) -> Failure {
    match error {
        StopError::UnknownJob(number) => unknown_job(number).into(),
        StopError::ShuttingDown => ApiError::new(kinds::UNAVAILABLE, error.to_string()).into(),
        StopError::Store(_) => Failure::internal("stop the job", &error),
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
