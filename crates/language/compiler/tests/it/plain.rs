//! Catalogs without rich data whose values are deep, huge or many.

use compiler::{CompileRequest, DocumentForm, PlainCatalog, defaults};

use crate::world::environment;

fn plain(body: &str) -> Result<PlainCatalog, String> {
    let environment = environment(body);
    let request = CompileRequest {
        certname: "n".to_owned(),
        ..CompileRequest::default()
    };
    let compiled = compiler::compile(&environment, &request).map_err(|error| error.to_string())?;
    let plain = compiled.document.to_plain_json();
    plain.map_err(|error| error.to_string())
}

#[test]
fn values_are_refused_before_they_are_too_deep_to_write() {
    for nested in ["[$m]", "{ 1 => $m }", "{ $m => 1 }", "Sensitive([$m])"] {
        let body = format!(
            "$v = Integer[1, 50000].reduce(default) |$m, $i| {{ {nested} }}
             notify {{ 'n': message => [$v] }}"
        );
        let error = plain(&body).expect_err("a value that deep");
        assert!(error.contains("deep inside each other"), "{error:.200}");
    }
}

#[test]
fn conversions_are_counted_and_clipped() {
    let many = "notify { 'n': message => Array(Integer[1, 5000].map |$n| { /x/ }) }";
    let plain_catalog = plain(many).expect("a document");
    assert_eq!(plain_catalog.conversions.len(), defaults::LOGS_MAX);

    let long = "$text = Integer[1, 20].reduce('x') |$m, $i| { \"${m}${m}\" }
        notify { 'n': message => { $text => Deferred($text) } }";
    let plain_catalog = plain(long).expect("a document");
    let text: usize = plain_catalog
        .conversions
        .iter()
        .map(|it| it.message.len())
        .sum();
    assert_eq!(plain_catalog.conversions.len(), 1);
    assert!(text <= defaults::MESSAGE_BYTES_MAX, "{text}");
    // the value itself is complete
    assert!(plain_catalog.document.to_string().len() > 2 << 20);
}

#[test]
fn a_value_that_json_has_not_is_named_once() {
    let environment = environment("notify { 'n': message => $facts['load'] }");
    let request = CompileRequest {
        certname: "n".to_owned(),
        facts: [("load", f64::INFINITY)].into_iter().collect(),
        ..CompileRequest::default()
    };
    let compiled = compiler::compile(&environment, &request).expect("a catalog");
    let error = compiled.document.to_text(DocumentForm::Rich);
    assert_eq!(
        error.expect_err("an infinite number").to_string(),
        "the attribute 'message' of Notify[n]: the value holds a number that JSON has not"
    );
}
