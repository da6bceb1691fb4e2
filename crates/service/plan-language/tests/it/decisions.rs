//! Effects in a preview after the plan branched on an unknown result.

use plans::PlanPreviewMode;

use crate::preview::{Seen, steps};
use crate::world::value;

/// Each body branches on the result of step 1 before its second effect, and continues.
#[tokio::test]
async fn what_follows_a_decision_may_depend_on_it() {
    for body in [
        "if $x == 'a' { run_command('then', 'a') }",
        "unless $x { run_command('then', 'a') }",
        "if !($x == 'a') { run_command('then', 'a') }",
        "if $x =~ /a/ and true { run_command('then', 'a') }",
        "if false or $x > 3 { run_command('then', 'a') }",
        "$x =~ /a(.)/\nrun_command(\"then\", 'a')",
        "case $x { 'a': { run_command('a', 'a') } default: { run_command('then', 'a') } }",
        "case $x { 'a': { run_command('then', 'a') } }",
        "case 'a' { $x: { } default: { run_command('then', 'a') } }",
        "$y = $x ? { 'a' => 1, default => 2 }\nrun_command('then', 'a')",
        "if $x in ['a', 'b'] { run_command('then', 'a') }",
        "if 'a' in [$x] { run_command('then', 'a') }",
        "if $x =~ String { run_command('then', 'a') }",
        "if $x == undef { run_command('then', 'a') }",
        "if [$x] == ['a'] { run_command('then', 'a') }",
        "if $x.empty { run_command('then', 'a') }",
        "if $r == run_command('noted', 'b') { run_command('then', 'a') }",
        "if ['a', 'b'].any |$y| { $y == $x } { run_command('then', 'a') }",
        "['a', 'b'].filter |$y| { $x }.length\nrun_command('then', 'a')",
        "$r.filter_set |$one| { $one['stdout'] }\nrun_command('then', 'a')",
        "[$x].then |$y| { run_command('then', 'a') }",
        "$x.then |$y| { run_command('then', 'a') }",
        "if ($x and true) { run_command('then', 'a') }",
        "if { 'a' => 1 }[$x] { run_command('then', 'a') }",
        "if { $x => 1 }['a'] { run_command('then', 'a') }",
        "if type($x) == String { run_command('then', 'a') }",
        "if String($r) == 'a' { run_command('then', 'a') }",
        "if $x { fail_plan('guarded') }\nrun_command('then', 'a')",
        "if $x { return 'early' }\nrun_command('then', 'a')",
        "[1].each |$i| { if $x { next() } run_command('then', 'a') }",
        "$x.each |$y| { }\nrun_command('then', 'a')",
        "parallelize($x) |$y| { }\nrun_command('then', 'a')",
        "parallelize([1]) |$y| { if $x { } }\nrun_command('then', 'a')",
        "wait(background() || { if $x { } })\nrun_command('then', 'a')",
        "ctrl::do_until() || { $x }\nrun_command('then', 'a')",
        "add_to_group($x, 'g')\nrun_command('then', 'g')",
        "$none = {}\nrun_task_with('m::echo', $x) |$t| { if $t.name == 'a' { run_command('then', 'a') } $none }",
        "if $r.find($x) == undef { run_command('then', 'a') }",
        "get_target('a').set_var('v', $x)\nif get_target('a').vars['v'] { run_command('then', 'a') }",
        "set_var(get_target('a'), 'v', $x)\nif get_target('a').vars['v'] { run_command('then', 'a') }",
        "[$a, $b] = $x\nrun_command('then', 'a')",
        "run_plan('m::inner', 'x' => $x)",
        "if $x.lest || { 'x' } { run_command('then', 'a') }",
        "$t = inline_epp('<%= $v %>', { 'v' => $x })\nif $t == 'a' { run_command('then', 'a') }",
        "$e = catch_errors() || { fail_plan('no', 'k', { 'd' => $x }) }\n\
         if $e.details['d'] == 1 { run_command('then', 'a') }",
        "if $r.first.message == 'a' { run_command('then', 'a') }",
        "if 'a'.stdlib::start_with($x) { run_command('then', 'a') }",
    ] {
        let inner = (
            "m/plans/inner.pp",
            "plan m::inner(Integer $x) { if $x > 1 { run_command('then', 'a') } }",
        );
        let body = format!("$r = run_command('one', 'a')\n$x = $r.first['stdout']\n{body}");
        let seen = Seen::files(&[inner], &body, PlanPreviewMode::Show).await;
        let given = value(seen.ended.clone());
        assert_eq!(
            given["preview"].get("ended_early"),
            None,
            "{body}\n{given:#}"
        );
        let then = seen.effects.iter().find(|it| it["object"] == "then");
        let then = then.unwrap_or_else(|| panic!("{body}\n{:?} {given:#}", seen.shown()));
        let named = [&then["depends_on"], &then["may_depend_on"]];
        let named = named.into_iter().flat_map(|it| it.as_array().unwrap());
        assert!(named.clone().any(|it| *it == 1), "{body}\n{then:#}");
    }
}

#[tokio::test]
async fn the_ways_that_are_not_taken_are_told() {
    let seen = Seen::of(
        "$x = run_command('one', 'a').first['stdout']\n\
         if $x != 'ok' { fail_plan('not ok') }\n\
         case $x { 'a': { run_command('a', 'a') } default: { run_command('b', 'a') } }",
    )
    .await;
    assert_eq!(value(seen.ended.clone())["preview"]["decisions"], 3);
    assert_eq!(seen.shown(), ["run_command one", "run_command b"]);
    assert_eq!(seen.depends(2), steps(&[], &[1]));
    let by = "the result of step 1 decides here; the preview goes on";
    let expected = [
        format!("m/plans/p.pp:3: {by} as if it were true"),
        format!(
            "m/plans/p.pp:3: {by} as if it were not true: otherwise the plan would fail (not ok)"
        ),
        format!("m/plans/p.pp:4: {by} with the default"),
    ];
    assert_eq!(seen.decisions().await, expected);
}
