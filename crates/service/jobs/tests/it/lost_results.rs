//! Errors of agents: "did not run" is said only on a proof.

use jobs::{KIND_EXECUTION, KIND_RESULT_LOST, KIND_UNKNOWN};
use pxp::action::ActionResult;
use serde_json::{Value, json};

use crate::deploys::deploy;
use crate::sim::Manner;
use crate::world::{World, params, patient, quick, request, with_task};

const NOT_UTF8: &str = "The task executed for the non blocking 'task run' request (transaction 5f5a) \
     returned invalid UTF-8 on stdout";

/// How a run of a task ends on an agent with this manner: state, `_error`.
async fn ended(manner: Manner) -> (String, Value) {
    let world = World::with(patient()).await;
    let nodes = world.agents(1, &manner);
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    (state, result["_error"].clone())
}

fn stock(errs: &'static str, exitcode: i64) -> Manner {
    Manner {
        stock: true,
        errs: Some(errs),
        result: Some(ActionResult {
            exitcode,
            stdout: Some("x".to_owned()),
            ..ActionResult::default()
        }),
        ..Manner::default()
    }
}

#[tokio::test]
async fn a_task_that_printed_no_utf8_on_a_stock_agent_ran_and_tells_its_exit_code() {
    for (sent, meant) in [(0, 0), (3, 3), (-1, 255)] {
        let (state, error) = ended(stock(NOT_UTF8, sent)).await;
        assert_eq!(
            (state.as_str(), &error["kind"]),
            ("failed", &KIND_RESULT_LOST.into())
        );
        assert_eq!(error["details"], json!({"exit_code": meant}));
        let msg = error["msg"].as_str().unwrap();
        assert!(
            msg.contains("it ran on") && msg.contains("invalid UTF-8"),
            "{msg}"
        );
        assert!(!msg.contains("did not run"), "{msg}");
    }
}

#[tokio::test]
async fn a_lost_result_without_a_status_answer_ran_all_the_same() {
    let manner = Manner {
        status_errs: Some("Message size: 7 exceeded max-message-size 5"),
        ..stock("Message size: 7 exceeded max-message-size 5", 0)
    };
    let (state, error) = ended(manner).await;
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("failed", &KIND_RESULT_LOST.into())
    );
    assert_eq!(error["details"], json!({}));
}

#[tokio::test]
async fn an_error_after_the_start_that_proves_nothing_is_an_unknown_outcome() {
    let words = "Failed to execute the task for the non blocking 'task run' request (transaction \
                 5f5a). Unexpected error: something";
    let (state, error) = ended(stock(words, 0)).await;
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("errored", &KIND_UNKNOWN.into())
    );
    assert!(
        !error["msg"].as_str().unwrap().contains("did not run"),
        "{error}"
    );
}

#[tokio::test]
async fn a_download_that_failed_after_the_provisional_response_proves_that_nothing_ran() {
    let words = "Failed to execute the task for the non blocking 'task run' request (transaction \
                 5f5a). Error: Failed to download file with: 404";
    let (state, error) = ended(stock(words, 0)).await;
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("errored", &KIND_EXECUTION.into())
    );
    assert!(
        error["msg"].as_str().unwrap().contains("did not run it"),
        "{error}"
    );
}

#[tokio::test]
async fn a_puppet_run_whose_result_is_lost_ran() {
    let world = World::with(patient()).await;
    let words = "The task executed for the non blocking 'pxp-module-puppet run' request (transaction \
                 5f5a) returned invalid UTF-8 on stdout";
    let nodes = world.agents(1, &stock(words, 2));
    let job = world.jobs().run(deploy(&nodes)).await.unwrap();
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    assert_eq!(
        (state.as_str(), &result["_error"]["kind"]),
        ("failed", &KIND_RESULT_LOST.into())
    );
}

#[tokio::test]
async fn after_a_restart_a_status_answer_alone_tells_that_the_result_is_lost() {
    let config = jobs::JobsConfig {
        poll_limit: 1_000_000,
        ..quick()
    };
    let mut world = World::with(config).await;
    let manner = Manner {
        held: true,
        ..stock(NOT_UTF8, 4)
    };
    let nodes = world.agents(1, &manner);
    let job = world.run(request(&nodes)).await;
    world.executing(1).await;
    world.kill().await;
    world.sim.let_go();
    world.start().await;
    // It is asked again and again until it has ended.
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    let error = &result["_error"];
    assert_eq!(
        (state.as_str(), &error["kind"]),
        ("failed", &KIND_RESULT_LOST.into())
    );
    assert_eq!(error["details"], json!({"exit_code": 4}));
}

#[tokio::test]
async fn a_result_with_replaced_bytes_is_delivered_and_marked() {
    let world = World::with(patient()).await;
    let manner = Manner {
        stock: true,
        replaced_bytes: true,
        result: Some(ActionResult {
            stdout: Some("a\u{fffd}b".to_owned()),
            ..ActionResult::default()
        }),
        ..Manner::default()
    };
    let nodes = world.agents(1, &manner);
    let job = world.run(request(&nodes)).await;
    world.over(job).await;
    let (state, result) = world.only_run(job).await;
    let expected = json!({"_output": "a\u{fffd}b", "_output_info": {"replaced_bytes": true}});
    assert_eq!((state.as_str(), result), ("finished", expected));
    let job = world.jobs().run(deploy(&nodes)).await.unwrap();
    let events = world.over(job).await;
    let (_, result) = world.only_run(job).await;
    assert_eq!(result["_output_info"], json!({"replaced_bytes": true}));
    let told = events
        .iter()
        .any(|event| event.details.contains("replaced_bytes"));
    assert!(told, "{events:?}");
}

#[tokio::test]
async fn a_stock_agent_without_the_module_for_puppet_names_the_package() {
    let world = World::with(patient()).await;
    let manner = Manner {
        stock: true,
        lacks: Some("pxp-module-puppet"),
        ..Manner::default()
    };
    let nodes = world.agents(1, &manner);
    let job = world.jobs().run(deploy(&nodes)).await.unwrap();
    world.over(job).await;
    let (_, result) = world.only_run(job).await;
    let error = &result["_error"];
    assert_eq!(error["kind"], KIND_EXECUTION);
    let msg = error["msg"].as_str().unwrap();
    assert!(msg.contains("in the package puppet-agent"), "{msg}");
}

#[tokio::test]
async fn an_action_of_which_a_stock_agent_tells_nothing_names_the_usual_cause() {
    for stock in [true, false] {
        let world = World::with(quick()).await;
        let manner = Manner {
            stock,
            untellable: true,
            ..Manner::default()
        };
        let nodes = world.agents(1, &manner);
        let job = world.run(request(&nodes)).await;
        world.over(job).await;
        let (state, result) = world.only_run(job).await;
        let error = &result["_error"];
        assert_eq!(
            (state.as_str(), &error["kind"]),
            ("errored", &KIND_UNKNOWN.into())
        );
        let msg = error["msg"].as_str().unwrap();
        assert!(
            msg.contains("gave no answer to 10 status requests"),
            "{msg}"
        );
        assert_eq!(msg.contains("standard error is not UTF-8"), stock, "{msg}");
    }
}

#[tokio::test]
async fn a_parameter_that_no_variable_holds_is_sent_to_no_stock_agent() {
    for stock in [true, false] {
        let world = World::with(quick()).await;
        let manner = Manner {
            stock,
            ..Manner::default()
        };
        let nodes = world.agents(1, &manner);
        let asked = with_task(request(&nodes), |task| {
            task.params = params(json!({"message": "x".repeat(200_000)}));
        });
        let job = world.run(asked).await;
        world.over(job).await;
        let (state, result) = world.only_run(job).await;
        let msg = result["_error"]["msg"].as_str().unwrap_or_default();
        assert_eq!(state == "errored", stock, "{state}: {msg}");
        assert_eq!(
            msg.contains("its parameter `message` needs 200"),
            stock,
            "{msg}"
        );
        assert_eq!(world.sim.requests().is_empty(), stock);
    }
}
