//! Results of plans.

use serde_json::json;

use crate::world::{World, body, failure, value};

#[tokio::test]
async fn a_plan_gives_what_json_can_hold_and_what_plans_know() {
    for (text, expected) in [
        ("", json!(null)),
        ("3", json!(null)),
        ("$x = run_task('m::echo', 'a')", json!(null)),
        ("return 1", json!(1)),
        (
            "return [1.5, 'x', true, undef]",
            json!([1.5, "x", true, null]),
        ),
        ("return get_targets('a,b')", json!(["a", "b"])),
        ("return({ 'k' => { 'n' => [] } })", json!({"k": {"n": []}})),
        (
            "return catch_errors() || { fail_plan('no', 'm/no', { 'd' => 1 }) }",
            json!({"kind": "m/no", "msg": "no", "details": {"d": 1}}),
        ),
        ("if true { return 'early' } return 'late'", json!("early")),
    ] {
        assert_eq!(value(body(text).await), expected, "{text}");
    }
}

#[tokio::test]
async fn a_plan_gives_nothing_else() {
    for text in [
        "return(/x/)",
        "return Integer",
        "return({ 1 => 2 })",
        "return Sensitive('x')",
    ] {
        let (kind, msg) = failure(body(text).await);
        assert_eq!(kind, "bolt/invalid-plan-result", "{text}: {msg}");
    }
}

#[tokio::test]
async fn parameters_are_checked_and_have_defaults() {
    let plan = "plan m::p(Integer $n, String $s = \"n is ${n}\") { return $s }";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    assert_eq!(value(world.run("m::p", json!({"n": 3})).await), "n is 3");
    assert_eq!(
        value(world.run("m::p", json!({"n": 3, "s": "x"})).await),
        "x"
    );
    let (kind, msg) = failure(world.run("m::p", json!({"n": "x"})).await);
    assert_eq!(kind, "bolt/pal-error");
    assert!(
        msg.contains("parameter 'n' expects an Integer value, got String"),
        "{msg}"
    );
    let (_, msg) = failure(world.run("m::p", json!({})).await);
    assert!(msg.contains("expects a value for parameter $n"), "{msg}");
    let (_, msg) = failure(world.run("m::p", json!({"n": 1, "other": 2})).await);
    assert!(msg.contains("has no parameter named 'other'"), "{msg}");
}

#[tokio::test]
async fn plans_run_plans_and_functions_of_modules() {
    let files = [
        (
            "m/plans/p.pp",
            "plan m::p() { return run_plan('n::inner', 'a,b', word => m::twice('x')) }",
        ),
        (
            "m/functions/twice.pp",
            "function m::twice(String $s) { \"${s}${s}\" }",
        ),
        (
            "n/plans/inner.pp",
            "plan n::inner(TargetSpec $targets, String $word) { \
          return [get_targets($targets).map |$t| { $t.name }, $word] }",
        ),
        ("m/types/odd.pp", "type M::Odd = Enum['a']"),
    ];
    let world = World::new(&files).await;
    let plan = world.launch("m::p", json!({})).await;
    assert_eq!(value(world.over(plan).await), json!([["a", "b"], "xx"]));
    assert_eq!(
        world.told(plan, "plan_start").await,
        ["Starting: plan n::inner"]
    );
    let (kind, msg) = failure(world.run("m::nothing", json!({})).await);
    assert_eq!(
        (kind.as_str(), msg.as_str()),
        (
            "bolt/unknown-plan",
            "Could not find a plan named 'm::nothing'. For a list of available plans, run 'tutti plan list'."
        )
    );
}

#[tokio::test]
async fn stdlib_is_there_without_its_module() {
    let text = "return [['a', 'b'].stdlib::to_json, '/x' =~ Stdlib::Absolutepath, deep_merge({ 'a' => 1 }, {})]";
    let expected = json!(["[\"a\",\"b\"]", true, {"a": 1}]);
    assert_eq!(value(body(text).await), expected);
}

/// stdlib's functions in Ruby are built in; the functions in Puppet are those of the environment's
/// stdlib.
#[tokio::test]
async fn functions_of_the_environments_stdlib_come_before_the_built_in_ones() {
    let plan = "plan m::p() { return [stdlib::ensure(true), stdlib::to_json([1])] }";
    let own = "function stdlib::ensure($x) { \"of the environment: ${x}\" }";
    let with = World::new(&[("m/plans/p.pp", plan), ("stdlib/functions/ensure.pp", own)]).await;
    let given = value(with.run("m::p", json!({})).await);
    assert_eq!(given, json!(["of the environment: true", "[1]"]));
    let without = World::new(&[("m/plans/p.pp", plan)]).await;
    let given = value(without.run("m::p", json!({})).await);
    assert_eq!(given, json!(["present", "[1]"]));
}

#[tokio::test]
async fn a_file_is_read_by_its_name_and_by_the_path_that_find_file_tells() {
    let plan = "plan m::p() { return [file('m/x.txt'), file(find_file('m/no', 'm/d/x.txt'))] }";
    let world = World::new(&[
        ("m/plans/p.pp", plan),
        ("m/files/x.txt", "one"),
        ("m/files/d/x.txt", "two"),
    ])
    .await;
    let given = value(world.run("m::p", json!({})).await);
    assert_eq!(given, json!(["one", "two"]));
    for path in ["/etc/hostname", "/m/files/x.txt", "/nowhere/m/files/../x"] {
        let program = format!("plan m::p() {{ return file('{path}') }}");
        let world = World::new(&[("m/plans/p.pp", &program), ("m/files/x.txt", "one")]).await;
        let (_, msg) = failure(world.run("m::p", json!({})).await);
        assert!(msg.contains("Could not find any files"), "{msg}");
    }
}

/// Functions in Ruby cannot be called: the plan is warned once about each that is replaced.
#[tokio::test]
async fn a_plan_is_told_once_of_a_function_that_is_not_the_environments() {
    let plan = "plan m::p() {\n\
                $x = [1, 2, 3].map |$n| { merge({ 'a' => $n }, {})['a'] }\n\
                parallelize([1, 2]) |$n| { merge({}, {}) }\n\
                return [$x, any2bool('yes')]\n}";
    let world = World::new(&[("m/plans/p.pp", plan)]).await;
    let words = "the function merge of the module site is another one";
    let replaced = ["merge", "zip"].map(|name| (name.to_owned(), words.to_owned()));
    let launch = plans::PlanLaunch {
        plan: "m::p".to_owned(),
        environment: "production".to_owned(),
        owner: "admin".to_owned(),
        owner_id: "id-of-admin".to_owned(),
        replaced_functions: replaced.into(),
        ..plans::PlanLaunch::default()
    };
    let plan = world.plans().run(&launch).await.unwrap();
    assert_eq!(value(world.over(plan).await), json!([[1, 2, 3], true]));
    assert_eq!(world.told(plan, "log").await, [words]);
    assert_eq!(world.details(plan, "log").await[0]["level"], "warn");
}
