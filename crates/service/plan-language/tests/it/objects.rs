//! Results that plans create themselves.

use serde_json::json;

use crate::world::{body, failure, value};

#[tokio::test]
async fn results_and_sets_that_a_plan_makes_have_all_methods() {
    let text = "$one = Result.new(get_target('a'), { 'x' => 1, '_output' => 'said' })\n\
                $two = Result.new('target' => get_target('b'), 'value' => { '_error' => { 'msg' => 'm', \
                'kind' => 'x/y', 'details' => {} } })\n\
                $s = ResultSet.new([$one, $two])\n\
                return [$one.ok, $one['x'], $one.message, $one.action, $one.status, $two.error.kind, \
                $s.count, $s.ok, $s.names, $s.ok_set.names, $s.error_set.names, $s.find('b').ok, $s.first.value]";
    let expected = json!([
        true, 1, "said", "action", "success", "x/y", 2, false, ["a", "b"], ["a"], ["b"], false,
        {"x": 1, "_output": "said"}
    ]);
    assert_eq!(value(body(text).await), expected);
}

#[tokio::test]
async fn apply_results_that_a_plan_makes_have_a_report() {
    let text = "$r = ApplyResult.new(get_target('a'), { 'report' => { 'status' => 'changed' } })\n\
                return [$r.report['status'], $r.action, $r.ok, $r.target.name, $r =~ ApplyResult]";
    let expected = json!(["changed", "apply", true, "a", true]);
    assert_eq!(value(body(text).await), expected);
}

#[tokio::test]
async fn what_makes_no_object_is_a_mistake_in_the_plan() {
    for (text, expected) in [
        (
            "Result.new('a', {})",
            "'new_Result' parameter 'target' expects a Target value, got String",
        ),
        (
            "ResultSet.new([1])",
            "'new_ResultSet' parameter 'results' index 0 expects a value of type Result or ApplyResult, got Integer",
        ),
        (
            "Target.new('name' => 'n', 'vars' => 3)",
            "parameter 'hash' entry 'vars' expects a value of type Undef or Hash, got Integer",
        ),
        (
            "Target.new('name' => 'n', 'other' => 3)",
            "parameter 'hash' unrecognized key 'other'",
        ),
    ] {
        let (kind, msg) = failure(body(&format!("catch_errors() || {{ {text} }}")).await);
        assert_eq!(kind, "bolt/pal-error", "{text}: {msg}");
        assert!(msg.contains(expected), "{text}: {msg}");
    }
    let (kind, msg) = failure(body("Target.new({})").await);
    assert_eq!(
        (&*kind, &*msg),
        (
            "bolt.inventory/validation-error",
            "Target must have either a name or uri"
        )
    );
}
