//! Schemas of transports.

use std::path::Path;
use std::time::Duration;

use ruby_workers::RubyCallError;
use serde_json::{Value as Json, json};

use crate::fixture::{Fixture, TestCompiler};

/// `None` without the Resource API.
fn fixture(call_time: Duration) -> Option<Fixture> {
    if !Path::new("/usr/lib/ruby/vendor_ruby/puppet/resource_api.rb").exists() {
        return None;
    }
    Fixture::with(|settings| settings.call_time_max = call_time)
}

fn load(fixture: &Fixture, file: &str, text: &str) -> Result<Json, RubyCallError> {
    let path = fixture.write(&format!("lib/puppet/transport/schema/{file}.rb"), text);
    let session = fixture.session();
    let schemas = session.transport_schemas(&path, &mut TestCompiler::default())?;
    Ok(schemas.into_iter().map(Json::Object).collect())
}

#[test]
fn schemas_are_what_the_code_of_a_file_registers() {
    let Some(fixture) = fixture(Duration::from_secs(30)) else {
        return;
    };
    fixture.write(
        "lib/puppet_x/site/connection.rb",
        "module PuppetX; module Site; BASE = { host: { type: 'String' } }.freeze; end; end",
    );
    let text = "require 'puppet/resource_api'
        require 'puppet_x/site/connection'
        port = { port: { type: 'Integer', default: 20 + 2, behaviour: :parameter } }
        %w[one two].each do |name|
          Puppet::ResourceApi.register_transport(
            name: name, desc: \"Connects to #{name}\", features: [],
            connection_info: PuppetX::Site::BASE.merge(port), connection_info_order: %i[port host],
          )
        end";
    let schemas = load(&fixture, "several", text).unwrap();
    let expected = |name: &str| {
        json!({
            "name": name, "desc": format!("Connects to {name}"), "features": [],
            "connection_info": {
                "host": {"type": "String"},
                "port": {"type": "Integer", "default": 22, "behaviour": "parameter"},
            },
            "connection_info_order": ["port", "host"],
        })
    };
    assert_eq!(schemas, json!([expected("one"), expected("two")]));
}

#[test]
fn files_without_a_schema_end_the_call_with_their_reason() {
    let Some(fixture) = fixture(Duration::from_secs(2)) else {
        return;
    };
    let register = |value: &str| {
        format!(
            "require 'puppet/resource_api'
            Puppet::ResourceApi.register_transport(name: 'x', desc: 'd', connection_info: {{ a: {{ type: 'String', default: {value} }} }})"
        )
    };
    for (number, (text, words)) in [
        ("raise 'no such device'".to_owned(), "no such device"),
        ("def (".to_owned(), "syntax error"),
        ("exit".to_owned(), "called exit"),
        ("loop { }".to_owned(), "took longer than 2 s"),
        (register("/re/"), "a value of class Regexp"),
        (register("\"\\xff\""), "not"),
        (register("2**70"), "64 bits"),
        (
            "require 'puppet/resource_api'
            Puppet::ResourceApi.register_transport(name: 'x', desc: 'd')"
                .to_owned(),
            "requires `:connection_info`",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let failed = load(&fixture, &format!("failed{number}"), &text);
        let failed = failed.unwrap_err().to_string();
        assert!(failed.contains(words), "{words}: {failed}");
        assert!(failed.contains(&format!("failed{number}.rb")), "{failed}");
    }
    assert_eq!(load(&fixture, "nothing", "1 + 1").unwrap(), json!([]));
}
