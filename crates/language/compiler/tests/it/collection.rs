//! Collectors that compare very much or very often.

use crate::world::attack;

#[test]
fn a_query_that_compares_all_with_very_many_tags_is_refused() {
    let body = "Integer[1, 5000].each |$n| { notify { \"n${n}\": } }
        $tags = Integer[1, 50000].map |$n| { \"t${n}\" }
        Notify<| tag == $tags |>";
    let error = attack("", body).unwrap_err();
    assert!(error.contains("steps"), "{error:.200}");
}

#[test]
fn a_realized_resource_that_is_never_declared_is_named() {
    let body = "Integer[1, 2000].each |$n| { realize(Notify[\"n${n}\"]) }";
    let error = attack("", body).unwrap_err();
    assert!(error.contains("realize"), "{error:.200}");
}

#[test]
fn a_query_of_very_many_comparisons_is_not_deep() {
    let query = "title == 'y' or ".repeat(50_000);
    let body = format!("@notify {{ 'x': }} Notify<| {query} title == 'x' |>");
    let compiled = std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(move || attack("", &body));
    assert!(compiled.unwrap().join().unwrap().is_ok());
}
