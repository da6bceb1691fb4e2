//! Catalogs that would be huge when they are written out.

use crate::world::attack;

#[test]
fn a_value_that_contains_itself_many_times_is_refused() {
    let body = "notify { 'x': message => Integer[1, 40].reduce([1]) |$m, $i| { [$m, $m] } }";
    let error = attack("", body).unwrap_err();
    assert!(error.contains("the catalog is too large"), "{error:.200}");
}

#[test]
fn thousands_of_tags_on_hundreds_of_resources_end_or_finish() {
    let class = "class tagged {
        $tags = Integer[1, 2000].map |$n| { \"t${n}\" }
        tag($tags)
        Integer[1, 300].each |$n| { notify { \"n${n}\": } }
    }";
    assert!(attack(class, "include tagged").is_ok());
}

#[test]
fn relationships_of_all_with_all_are_bounded() {
    let body = "Integer[1, 100].each |$n| { notify { \"n${n}\": } } Notify<||> -> Notify<||>";
    assert!(attack("", body).is_ok());
}

#[test]
fn a_metaparameter_that_many_resources_inherit_is_refused() {
    let define = "define many { Integer[1, 300].each |$n| { notify { \"n${n}\": } } }";
    let body = "many { 'x': audit => Integer[1, 100000].map |$n| { 'mode' } }";
    let error = attack(define, body).unwrap_err();
    assert!(error.contains("the catalog is too large"), "{error:.200}");
}

#[test]
fn very_many_operands_and_attributes_take_little_time() {
    let body = "$files = Integer[1, 20000].map |$n| { File[\"/${n}\"] }
        [] -> $files
        $some = Hash(Integer[1, 20000].map |$n| { [\"a${n}\", 1] })
        $others = Hash(Integer[1, 20000].map |$n| { [\"b${n}\", 1] })
        notify { default: * => $some; 'x': * => $others + { 'a1' => 2 } }";
    assert!(attack("", body).is_err());
}

/// Catalogs with 100,000 of something, each with its least number of resources, or the error.
#[test]
fn shapes_of_a_hundred_thousand_end_in_seconds() {
    for (shape, body, end) in [
        (
            "resources of a loop",
            "Integer[1, 100000].each |$n| { notify { \"n${n}\": } }",
            Ok(100_000),
        ),
        (
            "titles of a resource",
            "notify { Array(Integer[1, 100000].map |$n| { \"n${n}\" }): }",
            Ok(100_000),
        ),
        (
            "keys of create_resources",
            "create_resources('notify', Hash(Integer[1, 100000].map |$n| { [\"n${n}\", {}] }))",
            Ok(100_000),
        ),
        (
            "a chain",
            "Integer[1, 100000].each |$n| { notify { \"n${n}\": } }
             Integer[2, 100000].each |$n| { Notify[\"n${$n - 1}\"] -> Notify[\"n${n}\"] }",
            Ok(100_000),
        ),
        (
            "a cycle of 50",
            "Integer[0, 49].each |$n| { notify { \"n${n}\": require => Notify[\"n${($n + 1) % 50}\"] } }",
            Ok(50),
        ),
        (
            "a cycle",
            "Integer[0, 99999].each |$n| { notify { \"n${n}\": require => Notify[\"n${($n + 1) % 100000}\"] } }",
            Ok(100_000),
        ),
        (
            "nested arrays",
            "notify { 'x': message => Integer[1, 100000].reduce([]) |$m, $n| { [$m] } }",
            Err(()),
        ),
    ] {
        let begin = std::time::Instant::now();
        let environment = crate::world::environment(body);
        let document = crate::world::compile(&environment, "node");
        let took = begin.elapsed();
        println!("{shape}: {took:?}");
        assert!(took.as_secs() < 60, "{shape} took {took:?}");
        match (document, end) {
            (Ok(document), Ok(count)) => {
                assert!(
                    document.matches("\"type\":\"Notify\"").count() >= count,
                    "{shape}"
                );
            }
            (Err(_), Err(())) => {}
            (Err(error), _) => panic!("{shape}: {error:.300}"),
            (Ok(_), Err(())) => panic!("{shape} compiles"),
        }
    }
}

#[test]
fn the_message_of_an_error_is_bounded_and_keeps_its_place() {
    let text = "Integer[1, 100000].map |$n| { 'ü' }.join";
    let error = attack("", &format!("fail({text})")).unwrap_err();
    assert!(error.len() < 20_000, "{}", error.len());
    let end = error.rsplit('ü').next().unwrap_or_default();
    assert!(end.starts_with("… (") && end.contains("line: 3"), "{end}");
    assert!(end.ends_with(" on node bad"), "{end}");
}
