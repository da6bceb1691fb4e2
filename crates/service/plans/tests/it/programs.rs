//! The plans of the tests, by name.

use std::sync::Arc;
use std::time::Duration;

use jobs::{JobSpec, JobWork, NodeScope, TaskWork};
use plans::{
    BranchResult, PlanBranch, PlanEventMessage, PlanFault, PlanLaunch, PlanProgram,
    PlanProgramSource, StepOutcome, StepRequest, StepWork,
};
use serde_json::{Map, Value, json};

/// The source of the test plans.
pub(crate) struct Library;

impl PlanProgramSource for Library {
    fn program(&self, launch: &PlanLaunch) -> Result<Arc<dyn PlanProgram>, PlanFault> {
        let program: fn(&mut PlanBranch<'_>) -> BranchResult = match launch.plan.as_str() {
            "sequence" => sequence,
            "parallel" => parallel,
            "background" => background,
            "caught" => caught,
            "failing" => failing,
            "naps" => naps,
            "asking" => asking,
            "secret" => secret,
            "panics" => panics,
            "ignores" => ignores,
            "greedy" => greedy,
            "refused" => refused,
            "deadlock" => deadlock,
            "impatient" => impatient,
            "sleeper" => sleeper,
            name => {
                let msg = format!("there is no plan {name}");
                return Err(PlanFault::new("bolt/unknown-plan", &msg));
            }
        };
        Ok(Arc::new(program))
    }
}

/// Plans whose end does not depend on races, with their results.
pub(crate) fn steady() -> Vec<(&'static str, Value)> {
    let n = |n: i64| json!({"n": n});
    vec![
        ("sequence", Value::Array((0..8).map(n).collect())),
        (
            "parallel",
            json!(
                (0..4)
                    .map(|b| json!([n(b * 10), n(b * 10 + 1)]))
                    .collect::<Vec<_>>()
            ),
        ),
        ("background", json!([n(1), [n(2), n(3)]])),
        ("caught", json!([{"failed": n(1)}, n(2)])),
        ("naps", json!([n(0), n(1), n(2)])),
        ("asking", json!([n(1), "yes", n(2)])),
    ]
}

pub(crate) fn task(branch: &PlanBranch<'_>, task: &str, n: i64) -> Result<StepOutcome, PlanFault> {
    let mut params = Map::new();
    params.insert("n".to_owned(), json!(n));
    let work = JobWork::Task(TaskWork {
        params,
        ..TaskWork::new("production".parse().unwrap(), task.parse().unwrap())
    });
    branch.step(StepRequest {
        kind: "task".into(),
        site: format!("test (test.pp:{n})"),
        arguments: json!({"task": task, "n": n}),
        work: StepWork::Run(Box::new(JobSpec::new(work, NodeScope::default()))),
    })
}

fn work(branch: &PlanBranch<'_>, n: i64) -> BranchResult {
    let outcome = task(branch, "works", n)?;
    Ok((*outcome.value).clone())
}

fn say(branch: &PlanBranch<'_>, message: &str) -> Result<(), PlanFault> {
    let mut details = Map::new();
    details.insert("message".to_owned(), Value::from(message));
    branch.step(StepRequest {
        kind: "out::message".into(),
        site: String::new(),
        arguments: json!(message),
        work: StepWork::RecordEvent(PlanEventMessage {
            kind: "out_message".to_owned(),
            details,
            message: message.to_owned(),
        }),
    })?;
    Ok(())
}

fn sleep(branch: &PlanBranch<'_>, time: Duration) -> Result<(), PlanFault> {
    branch.step(StepRequest {
        kind: "sleep".into(),
        site: String::new(),
        arguments: json!(time.as_millis().to_string()),
        work: StepWork::Sleep(time),
    })?;
    Ok(())
}

fn ask(branch: &PlanBranch<'_>, text: &str) -> BranchResult {
    asked(branch, text, false)
}

fn asked(branch: &PlanBranch<'_>, text: &str, sensitive: bool) -> BranchResult {
    let mut details = Map::new();
    details.insert("sensitive".to_owned(), Value::Bool(sensitive));
    let outcome = branch.step(StepRequest {
        kind: "prompt".into(),
        site: String::new(),
        arguments: json!(text),
        work: StepWork::Ask(PlanEventMessage {
            kind: "prompt".to_owned(),
            details,
            message: text.to_owned(),
        }),
    })?;
    Ok((*outcome.value).clone())
}

fn sequence(branch: &mut PlanBranch<'_>) -> BranchResult {
    let mut said = Vec::new();
    for n in 0..8 {
        // The value differs in each evaluation, unless it comes from the journal.
        branch.note("uuid", "", json!(n), || {
            StepOutcome::ok(json!(format!("{:?}", std::time::Instant::now())))
        })?;
        say(branch, &format!("step {n}"))?;
        said.push(work(branch, n)?);
    }
    Ok(Value::Array(said))
}

fn parallel(branch: &mut PlanBranch<'_>) -> BranchResult {
    let branches = (0..4).map(|b| {
        branch.spawn(move |branch| Ok(json!([work(branch, b * 10)?, work(branch, b * 10 + 1)?])))
    });
    let branches = branches.collect::<Result<Vec<_>, _>>()?;
    let ended = branch.wait(&branches)?;
    Ok(Value::Array(ended.into_iter().collect::<Result<_, _>>()?))
}

fn background(branch: &mut PlanBranch<'_>) -> BranchResult {
    let beside = branch.spawn(|branch| Ok(json!([work(branch, 2)?, work(branch, 3)?])))?;
    let first = work(branch, 1)?;
    let ended = branch.wait(&[beside])?.remove(0)?;
    Ok(json!([first, ended]))
}

fn caught(branch: &mut PlanBranch<'_>) -> BranchResult {
    let failed = task(branch, "fails", 1)?;
    assert!(!failed.ok);
    Ok(json!([*failed.value, work(branch, 2)?]))
}

fn failing(branch: &mut PlanBranch<'_>) -> BranchResult {
    let first = work(branch, 1)?;
    let second = task(branch, "fails", 2)?;
    if !second.ok {
        work(branch, 9)?;
        return Err(PlanFault::Failed(
            json!({"kind": "bolt/run-failure", "msg": "failed", "details": {}}),
        ));
    }
    Ok(json!([first, *second.value, work(branch, 3)?]))
}

fn naps(branch: &mut PlanBranch<'_>) -> BranchResult {
    let mut said = Vec::new();
    for n in 0..3 {
        said.push(work(branch, n)?);
        sleep(branch, Duration::from_millis(20))?;
    }
    Ok(Value::Array(said))
}

fn asking(branch: &mut PlanBranch<'_>) -> BranchResult {
    Ok(json!([
        work(branch, 1)?,
        ask(branch, "go on?")?,
        work(branch, 2)?
    ]))
}

fn secret(branch: &mut PlanBranch<'_>) -> BranchResult {
    let password = asked(branch, "password?", true)?;
    work(branch, 1)?;
    Ok(json!(password.as_str().map(str::len)))
}

fn panics(branch: &mut PlanBranch<'_>) -> BranchResult {
    work(branch, 1)?;
    panic!("as the test wants it");
}

/// Ignores a stop, in an endless loop.
fn ignores(branch: &mut PlanBranch<'_>) -> BranchResult {
    loop {
        drop(ask(branch, "anybody?"));
    }
}

fn greedy(branch: &mut PlanBranch<'_>) -> BranchResult {
    let mut branches = Vec::new();
    loop {
        match branch.spawn(|branch| work(branch, 1)) {
            Ok(id) => branches.push(id),
            Err(error) => return Err(error),
        }
    }
}

fn refused(branch: &mut PlanBranch<'_>) -> BranchResult {
    let outcome = task(branch, "unknown", 1)?;
    assert!(!outcome.ok);
    Ok(json!([outcome.value["kind"], work(branch, 2)?]))
}

fn deadlock(branch: &mut PlanBranch<'_>) -> BranchResult {
    let root = branch.id().clone();
    let child = branch.spawn(move |branch| {
        branch.wait(&[root])?;
        Ok(Value::Null)
    })?;
    branch.wait(&[child])?;
    Ok(Value::Null)
}

fn impatient(branch: &mut PlanBranch<'_>) -> BranchResult {
    let slow = branch.spawn(|branch| ask(branch, "nobody answers"))?;
    let ended = branch.wait_for(
        std::slice::from_ref(&slow),
        "impatient",
        Duration::from_millis(20),
    )?;
    assert_eq!(ended, [None]);
    branch.cancel(std::slice::from_ref(&slow))?;
    let ended = branch.wait(&[slow])?;
    Ok(json!([
        matches!(ended[0], Err(PlanFault::Stop(plans::PlanStop::Cancelled))),
        work(branch, 1)?
    ]))
}

fn sleeper(branch: &mut PlanBranch<'_>) -> BranchResult {
    sleep(branch, Duration::from_secs(86_400))?;
    Ok(Value::Null)
}
