//! Failing, catching, messages, prompts, sleeping.

use serde_json::json;

use crate::world::{World, body, failure, value};

#[tokio::test]
async fn a_plan_fails_with_its_own_error() {
    let ended = body("fail_plan('no', 'm/no', { 'a' => 1 })").await;
    assert_eq!(ended.1["details"]["a"], 1);
    assert_eq!(ended.1["details"]["line"], 2);
    assert_eq!(failure(ended), ("m/no".to_owned(), "no".to_owned()));
    let again = "$e = catch_errors() || { fail_plan('no') }\nfail_plan($e)";
    assert_eq!(failure(body(again).await).0, "bolt/plan-failure");
}

#[tokio::test]
async fn only_errors_of_plan_functions_are_caught() {
    let text = "$r = catch_errors(['m/no']) || { fail_plan('no', 'm/no') }\nreturn $r.kind";
    assert_eq!(value(body(text).await), "m/no");
    let text = "catch_errors(['m/other']) || { fail_plan('no', 'm/no') }";
    assert_eq!(failure(body(text).await).0, "m/no");
    let (kind, msg) = failure(body("catch_errors() || { fail('a mistake') }").await);
    assert_eq!(kind, "bolt/pal-error");
    assert!(msg.contains("a mistake"), "{msg}");
    let text = "return catch_errors() || { run_task('m::fails', 'a') }.details['action']";
    assert_eq!(value(body(text).await), "run_task");
}

#[tokio::test]
async fn what_a_plan_says_stands_in_its_events() {
    let plan =
        "plan m::p() { out::message('one') log::warn(['two']) notice('three') out::verbose(4) }";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let plan = world.launch("m::p", json!({})).await;
    value(world.over(plan).await);
    assert_eq!(world.told(plan, "out_message").await, ["one"]);
    assert_eq!(world.told(plan, "out_verbose").await, ["4"]);
    assert_eq!(world.told(plan, "log").await, ["[\n  \"two\"\n]", "three"]);
}

#[tokio::test]
async fn a_person_answers() {
    let plan = "plan m::p() { \
                $name = prompt('who?', 'default' => 'nobody') \
                $pw = prompt('password?', sensitive => true) \
                $day = prompt::menu('when?', ['mon', 'tue']) \
                return [$name, $pw =~ Sensitive, $day] }";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let plan = world.launch("m::p", json!({})).await;
    for (number, answer, secret) in [
        (1, "", false),
        (2, "s3cret", true),
        (3, "9", false),
        (4, "2", false),
    ] {
        // Two earlier steps read the plan's code: the file and its module.
        let asked = world
            .until("the plan asks", async || {
                let journal = world.plans().journal(plan).await.unwrap();
                let asked = journal.into_iter().filter(|row| row.step.kind == "prompt");
                let asked: Vec<_> = asked.collect();
                (asked.len() == number).then(|| asked.last().unwrap().step.key.step)
            })
            .await;
        let step = asked.to_string().parse().unwrap();
        let plans = world.plans();
        plans
            .answer(plan, step, "ann", &json!(answer), secret)
            .await
            .unwrap();
    }
    assert_eq!(
        value(world.over(plan).await),
        json!(["nobody", true, "tue"])
    );
}

#[tokio::test]
async fn a_plan_waits() {
    let text = "ctrl::sleep(0.01)\n\
                $n = ctrl::do_until(limit => 3, interval => 0.01) || { false }\n\
                $r = wait_until_available(['a', 'gone'], wait_time => 0, _catch_errors => true)\n\
                return [$n, $r.ok_set.names, $r.error_set.first.error.message]";
    let expected = json!([false, ["a"], "Timed out waiting for target"]);
    assert_eq!(value(body(text).await), expected);
}

/// Plans that were started without a user who could answer, for example with `--no-wait`.
#[tokio::test]
async fn an_unattended_plan_takes_defaults_and_fails_where_there_is_none() {
    let run = async |body: &str| {
        let plan = format!("plan m::p() {{ {body} }}");
        let mut world = World::new(&[("m/plans/p.pp", &plan)]).await;
        world.is_unattended = true;
        let plan = world.launch("m::p", json!({})).await;
        let ended = world.over(plan).await;
        (ended, world.told(plan, "prompt_default").await)
    };
    let (ended, told) = run("return prompt('Go on?', 'default' => 'yes')").await;
    assert_eq!(value(ended), "yes");
    assert_eq!(
        told,
        ["Go on?: the plan is unattended, so the default is taken"]
    );
    let menu = "return prompt::menu('Which?', ['a', 'b'], 'default' => 'b')";
    assert_eq!(value(run(menu).await.0), "b");
    for question in ["prompt('Go on?')", "prompt::menu('Go on?', ['a', 'b'])"] {
        let (ended, told) = run(question).await;
        let (kind, msg) = failure(ended);
        assert_eq!(kind, "bolt/no-tty-error");
        assert!(
            msg.starts_with("the plan asks 'Go on?', which has no default, and is unattended"),
            "{msg}"
        );
        assert_eq!(told, [""; 0]);
    }
}
