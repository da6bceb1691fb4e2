//! Schemas of transports, with the answers of puppetserver 7.9.5.

use resource_types::read_ruby_transport;
use serde_json::json;

const CISCO: &str = r#"# frozen_string_literal: true

require 'puppet/resource_api'

Puppet::ResourceApi.register_transport(
  name: 'cisco',
  desc: <<-EOS,
      This transport connects
        to devices.
  EOS
  features: ['a', "b"],
  connection_info: {
    host: {
      type: 'String',
      desc: "The \"host\"",
      order: 1,
    },
    port: { type: 'Optional[Integer]', desc: 'Port', default: 22, order: 0, },
    password: { type: 'Optional[String]', desc: %q(pw), sensitive: true, nothing: nil, ratio: 1.5 },
    quoted: { 'type' => 'Boolean', neg: -3 },
    words: { type: 'Enum[a, b]', list: %w[a b], empty: {}, },
  },
)
"#;

const ORDERED: &str = r"require 'puppet/resource_api'
Puppet::ResourceApi.register_transport({
  :name => 'sq', desc: <<~EOS, connection_info_order: [:b, :a],
    Squiggly
      text
  EOS
  connection_info: { a: { type: 'String' }, b: { type: 'String', desc: 'x' } }
})
";

#[test]
fn plain_schemas_are_read_without_ruby() {
    let read = |source| serde_json::Value::Object(read_ruby_transport(source).unwrap());
    assert_eq!(
        read(CISCO),
        json!({
            "name": "cisco",
            "desc": "      This transport connects\n        to devices.\n",
            "features": ["a", "b"],
            "connection_info": {
                "host": {"type": "String", "desc": "The \"host\"", "order": 1},
                "port": {"type": "Optional[Integer]", "desc": "Port", "default": 22, "order": 0},
                "password": {"type": "Optional[String]", "desc": "pw", "sensitive": true, "nothing": null, "ratio": 1.5},
                "quoted": {"type": "Boolean", "neg": -3},
                "words": {"type": "Enum[a, b]", "list": ["a", "b"], "empty": {}},
            },
            "connection_info_order": ["host", "port", "password", "quoted", "words"],
        })
    );
    assert_eq!(
        read(ORDERED),
        json!({
            "name": "sq",
            "desc": "Squiggly\n  text\n",
            "connection_info": {"a": {"type": "String"}, "b": {"type": "String", "desc": "x"}},
            "connection_info_order": ["b", "a"],
        })
    );
}

#[test]
fn other_code_is_named_with_its_line() {
    let schema = |more: &str| {
        format!(
            "Puppet::ResourceApi.register_transport(name: 'x', desc: 'x',\n connection_info: {{ {more} }})"
        )
    };
    for (source, line, reason) in [
        (String::new(), 1, "no call of `register_transport`"),
        ("raise 'x'".to_owned(), 1, "code other than"),
        (schema("a: { type: String.name }"), 2, "no literal"),
        (schema("a: { type: \"x#{1}\" }"), 2, "no literal"),
        (schema("a: { type: 017 }"), 2, "no literal"),
        (schema("a: {}"), 1, "`a` has no type"),
        (
            schema("a: { type: 'A' }, a: { type: 'B' }"),
            2,
            "stands twice",
        ),
        (schema("a => 1"), 2, "no plain name"),
        (
            format!("{}\n{}", schema(""), schema("")),
            3,
            "a second transport",
        ),
        (
            "Puppet::ResourceApi.register_transport(name: 'x')".to_owned(),
            1,
            "requires `:desc`",
        ),
        (
            schema(&format!("a: {}{}", "[".repeat(100), "]".repeat(100))),
            2,
            "too deeply",
        ),
    ] {
        let error = read_ruby_transport(&source).unwrap_err();
        assert_eq!(error.line, line, "{source}: {error}");
        assert!(error.reason.contains(reason), "{source}: {error}");
    }
}
