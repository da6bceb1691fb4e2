//! Types of the Resource API, which Debian's Puppet 7 has.

use oracles::{Puppet, ask_puppet};
use resource_types::{StaticReading, read_ruby_type};
use serde_json::{Value, json};

use super::modules::Libraries;
use super::{comparable, describe};

/// Definitions without the name; all of them are read.
const DEFINITIONS: &[&str] = &[
    "attributes: { name: { type: 'String', behaviour: :namevar } }",
    "attributes: { ensure: { type: 'Enum[present, absent]', default: 'present' }, id: { type: 'String', behaviour: :namevar } }",
    "attributes: { value: { type: 'Integer' }, ensure: { type: 'Enum[present, absent]' }, id: { type: 'String', behavior: :namevar } }",
    "attributes: { a: { type: 'String', behaviour: :namevar }, b: { type: 'String', behaviour: :namevar } }",
    "attributes: { a: { type: 'String', behaviour: :namevar }, b: { type: 'String', behaviour: :namevar } },
     title_patterns: [ { pattern: %r{^(?<b>.*)/(?<a>[^/]*)$}, desc: 'both' }, { pattern: /^(?<a>.*)$/m, desc: 'one' } ]",
    "attributes: { a: { type: 'String', behaviour: :namevar } }, title_patterns: []",
    "attributes: { a: { type: 'String', behaviour: :namevar }, p: { type: 'Boolean', behaviour: :parameter },
     r: { type: 'Integer', behaviour: :read_only }, i: { type: 'Optional[String]', behaviour: :init_only },
     q: { type: 'Variant[Integer, String]', default: 5 } }, features: ['canonicalize', 'supports_noop']",
    "features: %w[remote_resource simple_get_filter], attributes: { a: { type: 'String', behaviour: :namevar } },
     autorequire: { file: '$a', package: ['x', 'y'] }",
    "features: ['custom_insync'], attributes: { a: { type: 'String', behaviour: :namevar }, v: { type: 'String' } }",
    ":attributes => { :a => { :type => 'String', :desc => <<-EOS, :behaviour => :namevar } }\n  A text.\nEOS\n",
];

#[test]
fn definitions_are_read_as_puppet_7_loads_them() {
    let directory = tempfile::tempdir().unwrap();
    let library = Libraries {
        directories: Vec::new(),
    };
    let mut types = Vec::new();
    let mut ours = Vec::new();
    for (index, definition) in DEFINITIONS.iter().enumerate() {
        let name = format!("defined{index}");
        let text = format!(
            "require 'puppet/resource_api'\n\nPuppet::ResourceApi.register_type(\n  name: '{name}',\n  {definition}\n)\n"
        );
        let path = directory.path().join(format!("{name}.rb"));
        std::fs::write(&path, &text).unwrap();
        match read_ruby_type(&name, &text, &library) {
            StaticReading::Complete(read) => ours.push(describe(&read)),
            StaticReading::NeedsRuby { reason, line } => panic!("{line}: {reason}\n{text}"),
        }
        types.push(json!({"name": name, "file": path}));
    }
    let question = json!({"libraries": [], "types": types});
    let answer = ask_puppet(Puppet::Seven, "resource_types.rb", &question).unwrap();
    let theirs = answer["types"].as_array().unwrap();
    let theirs: Vec<Value> = theirs.iter().map(comparable).collect();
    for ((ours, theirs), definition) in ours.iter().zip(&theirs).zip(DEFINITIONS) {
        assert_eq!(ours, theirs, "{definition}");
    }
}
