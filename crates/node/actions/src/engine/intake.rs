//! Intake of messages: accepts, answers or refuses requests.
//!
//! Invariant: nothing here waits. A request that cannot be accepted is refused with an error; it is
//! only logged if even the error cannot be sent.

use std::sync::Arc;
use std::time::Instant;

use pcp::{MessageId, PcpUri};
use pxp::action::CancelParams;
use pxp::{PxpMessageBody, PxpRequest, TransactionId};
use serde_json::{Value, json};

use super::requester::{ActionRequester, label, refusal_text};
use super::state::ActionEngineState;
use super::transactions::TransactionAdmission;
use super::{leases, run, status};
use crate::modules::{self, FactPrograms, RequestPlan};
use crate::spool::OutputEncoding;

pub(super) fn handle(
    shared: &Arc<ActionEngineState>,
    sender: PcpUri,
    message_id: MessageId,
    body: PxpMessageBody,
) {
    let asker = ActionRequester {
        uri: sender,
        message_id,
    };
    match body {
        PxpMessageBody::BlockingRequest(request) => accept_request(shared, asker, request, true),
        PxpMessageBody::NonBlockingRequest(request) => {
            accept_request(shared, asker, request, false)
        }
        PxpMessageBody::OutcomeAck { transaction_id } => {
            let owned = Arc::clone(shared);
            shared.spawn(async move {
                owned
                    .handle_acknowledgement(&asker.uri, transaction_id)
                    .await
            });
        }
        PxpMessageBody::OutputCredit {
            transaction_id,
            until,
        } => {
            shared
                .live
                .credit(shared, &transaction_id, &asker.uri, until);
        }
        PxpMessageBody::Cancel {
            transaction_id,
            force,
        } => {
            let order = CancelParams {
                transaction_id,
                force,
            };
            cancel(shared, &asker, &order);
        }
        other => {
            let message_type = other.message_type();
            tracing::debug!(sender = %asker.uri, message_type, "ignored: agents only take requests");
        }
    }
}

/// Stops an action. `false`: it is not running; if it has already ended, its outcome has the end.
fn cancel(shared: &ActionEngineState, asker: &ActionRequester, order: &CancelParams) -> bool {
    let CancelParams {
        transaction_id,
        force,
    } = order;
    let Some(active) = shared.transactions.get(transaction_id) else {
        tracing::debug!(%transaction_id, "cancel of an action that does not run");
        return false;
    };
    tracing::info!(%transaction_id, sender = %asker.uri, force, "cancel");
    active.stop(*force);
    true
}

fn accept_request(
    shared: &Arc<ActionEngineState>,
    asker: ActionRequester,
    request: PxpRequest,
    blocking: bool,
) {
    if modules::is_quick(&request.module) {
        reply(
            shared,
            answer_quick(Arc::clone(shared), asker, request, blocking),
        );
        return;
    }
    let id = &request.transaction_id;
    match shared.transactions.admit(id, request.params.get().len()) {
        Ok(TransactionAdmission::Admitted(turn)) if blocking => {
            shared.spawn(run::run_blocking_request(
                Arc::clone(shared),
                turn,
                asker,
                request,
            ));
        }
        Ok(TransactionAdmission::Admitted(turn)) => {
            shared.spawn(run::run_non_blocking_request(
                Arc::clone(shared),
                turn,
                asker,
                request,
            ));
        }
        Ok(TransactionAdmission::Duplicate) if blocking => {
            let why = "an action with this transaction id is running".to_owned();
            refuse(shared, asker, request.transaction_id, why);
        }
        Ok(TransactionAdmission::Duplicate) => {
            let body = PxpMessageBody::ProvisionalResponse {
                transaction_id: request.transaction_id,
            };
            let owned = Arc::clone(shared);
            reply(shared, async move {
                owned.send(&asker.uri, body).await;
            });
        }
        Err(full) => refuse(shared, asker, request.transaction_id, full.to_string()),
    }
}

/// Runs modules that answer at once, even if the agent is busy.
async fn answer_quick(
    shared: Arc<ActionEngineState>,
    asker: ActionRequester,
    request: PxpRequest,
    blocking: bool,
) {
    let id = request.transaction_id;
    let carriage = OutputEncoding::of(request.extended == Some(true));
    let planned = if blocking {
        modules::plan(&request.module, &request.action, &request.params)
            .expect("quick modules are our own")
    } else {
        Err(modules::RequestRefusal::OnlyBlocking(
            request.module.clone(),
        ))
    };
    let results = match planned {
        Ok(RequestPlan::Reply(results)) => results,
        Ok(RequestPlan::Status(asked)) => match status::query(&shared, asked, carriage).await {
            Ok(results) => results,
            Err(error) => return shared.send_error(&asker, id, error.to_string()).await,
        },
        Ok(RequestPlan::Cancel(order)) => json!({"cancelled": cancel(&shared, &asker, &order)}),
        Ok(RequestPlan::HoldLease(params)) => match leases::hold(&shared, &asker, params).await {
            Ok(results) => results,
            Err(error) => return shared.send_error(&asker, id, error).await,
        },
        Ok(RequestPlan::ReleaseLease(params)) => match leases::release(&shared, params).await {
            Ok(results) => results,
            Err(error) => return shared.send_error(&asker, id, error).await,
        },
        Ok(RequestPlan::ShowLease) => match leases::show(&shared).await {
            Ok(results) => results,
            Err(error) => return shared.send_error(&asker, id, error).await,
        },
        Ok(RequestPlan::Facts) => facts(&shared).await,
        Ok(RequestPlan::Work(_)) => unreachable!("quick modules plan no work"),
        Err(refusal) => {
            let label = label(&request.module, &request.action, &id, blocking);
            shared
                .send_error(&asker, id, refusal_text(&refusal, &label))
                .await;
            return;
        }
    };
    shared.send_results(&asker, id, &results).await;
}

/// Collects facts, one collection at a time: each starts a program that takes seconds. Requests
/// that arrive meanwhile, or soon after it, get the same answer.
async fn facts(shared: &ActionEngineState) -> Value {
    let mut last = shared.last_facts.lock().await;
    if let Some((at, answer)) = &*last
        && at.elapsed() < shared.config.facts_min_interval
    {
        return answer.clone();
    }
    let config = &shared.config;
    let programs = FactPrograms {
        attendant: &config.wrapper,
        directory: &config.facts_programs,
    };
    let answer = modules::collect_facts(programs, &shared.environment).await;
    *last = Some((Instant::now(), answer.clone()));
    answer
}

fn refuse(shared: &Arc<ActionEngineState>, asker: ActionRequester, id: TransactionId, why: String) {
    tracing::warn!(transaction_id = %id, sender = %asker.uri, why, "request refused");
    let owned = Arc::clone(shared);
    reply(
        shared,
        async move { owned.send_error(&asker, id, why).await },
    );
}

/// Sends a small answer in the background, unless too many are being sent.
fn reply(shared: &Arc<ActionEngineState>, work: impl Future<Output = ()> + Send + 'static) {
    match Arc::clone(&shared.replies).try_acquire_owned() {
        Ok(permit) => shared.spawn(async move {
            work.await;
            drop(permit);
        }),
        Err(_) => tracing::error!("request not answered: too many answers wait for the broker"),
    }
}
