//! Resource types in Ruby.

use ruby_workers::{RubyCallError, RubyTitlePattern};

use crate::fixture::{Fixture, TestCompiler};

#[test]
fn types_of_puppet_and_of_modules_are_described() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let mut get = |name: &str| session.resource_type(name, &mut compiler);
    let file = get("file").expect("an answer").expect("a type");
    assert_eq!(file.namevars, ["path"]);
    assert!(file.isomorphic);
    assert!(file.properties.contains(&"mode".to_owned()));
    assert!(file.parameters.contains(&"source".to_owned()));
    let exec = get("exec").expect("an answer").expect("a type");
    assert!(!exec.isomorphic);
    let ini = get("ini_setting").expect("an answer").expect("a type");
    assert_eq!(ini.namevars, ["name"]);
    assert_eq!(
        ini.title_patterns,
        [RubyTitlePattern(
            "(.*)".to_owned(),
            false,
            true,
            Some(vec!["name".to_owned()])
        )]
    );
    assert_eq!(get("no_such_type").expect("an answer"), None);
}

#[test]
fn types_of_the_module_are_found_and_broken_ones_named() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.write(
        "lib/puppet/type/pair.rb",
        "Puppet::Type.newtype(:pair) do
           newparam(:left, namevar: true)
           newparam(:right, namevar: true)
           newproperty(:size)
           def self.title_patterns
             [[/\\A(\\w+)-(\\w+)\\z/, [[:left], [:right]]], [/(.*)/m, [[:left, ->(x) { x }]]]]
           end
         end",
    );
    fixture.write(
        "lib/puppet/type/broken.rb",
        "Puppet::Type.newtype(:broken) do\n  raise 'oh'\nend\n",
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let pair = session.resource_type("pair", &mut compiler);
    let pair = pair.expect("an answer").expect("a type");
    assert_eq!(pair.namevars, ["left", "right"]);
    let names = Some(vec!["left".to_owned(), "right".to_owned()]);
    assert_eq!(pair.title_patterns[0].3, names);
    assert_eq!(pair.title_patterns[1].3, None);
    let error = session.resource_type("broken", &mut compiler);
    let Err(RubyCallError::Raised { .. }) = &error else {
        panic!("{error:?}");
    };
}
