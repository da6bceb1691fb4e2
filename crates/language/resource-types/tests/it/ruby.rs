//! Type files in Ruby: forms that are read.

use std::collections::HashMap;

use resource_types::{
    ResourceAttributeKind, ResourceType, RubyLibrary, StaticReading, read_ruby_type,
};

/// Files by feature.
#[derive(Default)]
struct Files(HashMap<&'static str, &'static str>);

impl RubyLibrary for Files {
    fn read(&self, feature: &str) -> Option<String> {
        self.0.get(feature).map(|text| (*text).to_owned())
    }

    fn provider_features(&self, type_name: &str) -> Vec<String> {
        let below = format!("puppet/provider/{type_name}/");
        let features = self.0.keys().filter(|it| it.starts_with(&below));
        features.map(|it| (*it).to_owned()).collect()
    }
}

fn read_with(source: &str, files: &[(&'static str, &'static str)]) -> StaticReading {
    let files = Files(files.iter().copied().collect());
    read_ruby_type("thing", source, &files)
}

fn complete(source: &str) -> ResourceType {
    match read_with(source, &[]) {
        StaticReading::Complete(read) => read,
        StaticReading::NeedsRuby { reason, line } => panic!("line {line}: {reason}\n{source}"),
    }
}

/// Attributes as text: properties, then parameters, name variables with a star.
fn attributes(source: &str) -> String {
    let read = complete(source);
    let variables: Vec<&str> = read.name_variables().collect();
    let names = read.attributes().map(|(name, kind)| {
        let star = if variables.contains(&name) { "*" } else { "" };
        match kind {
            ResourceAttributeKind::Property => format!("{star}{name}="),
            ResourceAttributeKind::Parameter => format!("{star}{name}"),
        }
    });
    names.collect::<Vec<_>>().join(" ")
}

/// The body of a type.
pub(crate) fn body(statements: &str) -> String {
    format!("Puppet::Type.newtype(:thing) do\n{statements}\nend\n")
}

pub(crate) fn needs_ruby(source: &str, reason: &str) {
    needs_ruby_with(source, &[], reason);
}

fn needs_ruby_with(source: &str, files: &[(&'static str, &'static str)], expected: &str) {
    match read_with(source, files) {
        StaticReading::Complete(read) => panic!("read: {read:?}\n{source}"),
        StaticReading::NeedsRuby { reason, .. } => {
            assert!(reason.contains(expected), "{reason}\n{source}");
        }
    }
}

#[test]
fn a_plain_type_is_read() {
    let source = r#"# frozen_string_literal: true
require 'pathname'
require 'puppet/parameter/boolean'

Puppet::Type.newtype(:thing) do
  @doc = <<-'EOT'
    A thing. `newparam` adds a parameter; do not end here.
  EOT

  ensurable do
    defaultvalues
    defaultto :present
  end

  newparam(:name, namevar: true) do
    desc "The name's #{'text'}"
    validate { |value| raise ArgumentError, "no #{value}" unless value =~ /\A[a-z\/]+\z/ }
  end

  newparam :force, boolean: true, parent: Puppet::Parameter::Boolean do
    defaultto(false)
  end

  newproperty(:value, :array_matching => :all)

  newproperty(:other) do |it|
    newvalues(:a, %r{^b\d+$})
    munge do |value|
      case value
      when 'x' then return 1
      else
        if value then value else nil end
      end
    end
    def insync?(is)
      is.sort == should.sort
    end
  end

  autorequire(:file) { [self[:name]] }

  validate do
    fail 'no' if self[:name].nil?
  end

  def retrieve = nil

  def refresh
    provider.send(:restart) while stale?
  end
end
"#;
    assert_eq!(attributes(source), "ensure= value= other= *name force");
}

#[test]
fn forms_of_the_call_are_read() {
    for source in [
        "Puppet::Type.newtype(:thing) { newparam(:name) { isnamevar } }",
        "::Puppet::Type.newtype :thing do\nnewparam 'name', :namevar => :true\nend",
        "Puppet::Type.newtype('thing', :self_refresh => true) do |type|\nnewparam(:NAME) do\nend\nend",
        "module Puppet\n  Type.newtype(:thing) do\n    newparam(:name)\n  end\nend",
        "Puppet::Type.newtype(:thing) do newparam(:name); end\n__END__\nnewparam(:x)",
        "=begin\nnewparam(:x)\n=end\nPuppet::Type.newtype(:thing) do\r\nnewparam(:name)\r\nend\r\n",
    ] {
        assert_eq!(attributes(source), "*name");
    }
}

#[test]
fn loops_over_literals_are_read() {
    let source = body(
        "newparam(:name)\n[:a, 'b'].each do |it|\nnewproperty(it) do\nvalidate { |v| fail \"#{it}\" }\nend\nend\n\
         %w[c d].each { |name| newparam(name, :namevar => false) }\n",
    );
    assert_eq!(attributes(&source), "a= b= *name c d");
}

#[test]
fn a_type_need_not_be_isomorphic() {
    let source = body("@isomorphic = false\nnewparam(:name)");
    assert!(!complete(&source).is_isomorphic());
    assert!(complete(&body("newparam(:name)")).is_isomorphic());
}

#[test]
fn title_patterns_are_read() {
    let source = body(
        r"newparam(:a, namevar: true)
newparam(:b, namevar: true)
def self.title_patterns
  identity = lambda { |x| x } # no change
  [
    [ /^(\w+)\/([^\/]+)$/, [ [:a, identity], [:b, ->(y) { y }] ] ],
    [ %r{^(/.*)$}mx, [[:a]] ],
  ]
end",
    );
    let read = complete(&source);
    assert_eq!(
        read.parse_title("x/y").unwrap(),
        [("a", Some("x")), ("b", Some("y"))]
    );
    let patterns = read.title_patterns().unwrap();
    assert_eq!(patterns[0].source(), r"^(\w+)/([^/]+)$");
    assert_eq!(patterns[1].source(), "^(/.*)$");
    assert!(patterns[1].flags().multiline && patterns[1].flags().extended);
}

#[test]
fn a_resource_api_type_is_read() {
    let source = r"require 'puppet/resource_api'

Puppet::ResourceApi.register_type(
  name: 'thing',
  docs: <<-EOS,
@summary a thing
EOS
  features: ['canonicalize', 'simple_get_filter'],
  title_patterns: [
    {
      pattern: %r{^(?<package>.*[^-])-(?<manager>.*)$},
      desc: 'both',
    },
    { pattern: %r{^(?<package>.*)$}, desc: 'one' },
  ],
  attributes: {
    ensure: {
      type: 'Enum[present, absent]',
      desc: 'state',
      default: 'present',
    },
    package: { type: 'String', behaviour: :namevar },
    manager: { type: 'String', :behavior => :namevar },
    id: { type: 'Integer', behaviour: :read_only },
    prefix: { type: 'String', behaviour: :parameter },
    birth: { type: 'String', behaviour: :init_only },
    value: { type: 'Optional[String]' },
  },
  autorequire: {
    file: '$source',
  },
)
";
    assert_eq!(
        attributes(source),
        "ensure= birth= value= *package *manager id prefix"
    );
    assert_eq!(
        complete(source).parse_title("a-b").unwrap(),
        [("package", Some("a")), ("manager", Some("b"))]
    );
    let short = "Puppet::ResourceApi.register_type({ :name => 'thing', :attributes => { :name => { :type => 'String', :behaviour => :namevar } } })";
    assert_eq!(attributes(short), "*name");
}

#[test]
fn providers_add_a_parameter() {
    let source = body("newparam(:name)");
    let provider = "Puppet::Type.type(:thing).provide(:ruby, :parent => X) do\n  initvars\nend";
    let read = read_with(&source, &[("puppet/provider/thing/ruby", provider)]);
    let StaticReading::Complete(read) = read else {
        panic!("{read:?}");
    };
    assert!(read.has_attribute("provider"));
    let class = "class Puppet::Provider::Thing::Thing\nend";
    let read = read_with(&source, &[("puppet/provider/thing/thing", class)]);
    let StaticReading::Complete(read) = read else {
        panic!("{read:?}");
    };
    assert!(!read.has_attribute("provider"));
    for unclear in [
        "Puppet::Type.type(:thing).provide(:a) do\nend if x",
        "if x\nPuppet::Type.type(:thing).provide(:a)\nend",
        "Puppet::Type.type(:other).provide(:a)",
        "Puppet::Type.type(:thing).provide(:a) do\n(",
        "Puppet::Type.type(:thing).newparam(:x)",
    ] {
        needs_ruby_with(
            &source,
            &[("puppet/provider/thing/a", unclear)],
            "the provider",
        );
    }
    assert_eq!(
        attributes(&body("newparam(:name)\nprovide(:x) do\nend\nnewparam(:y)")),
        "*name provider y"
    );
}

#[test]
fn required_files_are_searched() {
    let source = format!(
        "require 'puppet_x/mixin'\n{}",
        body("extend PuppetX::Mixin\nadd_things\nnewparam(:name)")
    );
    let harmless =
        "require_relative 'deep'\nmodule PuppetX\nmodule Mixin\ndef add_things\nend\nend\nend";
    let read = read_with(&source, &[("puppet_x/mixin", harmless)]);
    assert!(matches!(read, StaticReading::Complete(_)), "{read:?}");
    let deep = [
        ("puppet_x/mixin", harmless),
        ("puppet_x/deep", "def x; newparam(:y); end"),
    ];
    needs_ruby_with(&source, &deep, "puppet_x/deep.rb uses `newparam`");
    needs_ruby_with(&source, &[], "which is in no module");
    let cyclic = [
        (
            "puppet_x/mixin",
            "require 'puppet_x/deep'\nmodule Mixin\ndef add_things; end\nend",
        ),
        ("puppet_x/deep", "require 'puppet_x/mixin'"),
    ];
    assert!(matches!(
        read_with(&source, &cyclic),
        StaticReading::Complete(_)
    ));
    let relative = format!(
        "require_relative '../../puppet_x/mixin'\n{}",
        body("newparam(:name)")
    );
    needs_ruby_with(&relative, &deep, "puppet_x/deep.rb");
    let joined = "require File.expand_path(File.join(File.dirname(__FILE__), '..', '..', 'puppet_x', 'mixin'))\n";
    needs_ruby_with(&format!("{joined}{}", body("")), &deep, "puppet_x/deep.rb");
    let expanded = "require File.expand_path('../../../puppet_x/mixin', __FILE__)\n";
    needs_ruby_with(
        &format!("{expanded}{}", body("")),
        &deep,
        "puppet_x/deep.rb",
    );
}

#[test]
fn reasons_have_lines() {
    let source = body("newparam(:name)\n\n# a comment\nnewparam(:a, *options)");
    let StaticReading::NeedsRuby { line, .. } = read_with(&source, &[]) else {
        panic!("read");
    };
    assert_eq!(line, 5);
}

#[test]
fn text_that_resembles_code_is_no_code() {
    let source = body(
        r##"newparam(:name)
x = 6 / 2; y = x /3
z = x ? 'do' : "end"
w = ?d
v = %w[do end if] + %i(begin)
u = "#{x} #{"nested #{'deep'} }"} end"
t = { if: 1, end: 2, 'do': 3, :def => 4 }
s = /do #{x} [\/"'] end/x
r = `true`
q = <<~A + <<'B'
  do #{x}
A
  end "
B
p = x.class.end.if
o = [1, 2].map do |i| i end
n = x if y unless z
m = begin 1 end while false
l = %q(a (nested) b)
k = 'it''s'
j = x.
  y
i = x
  # a comment
  .y
h = !x && y || z
g = $1 || $! || @@a
f = -> { 1 }
e = :"quoted do"
d = x ?y :z
c = 1_000.5e3"##,
    );
    assert_eq!(attributes(&source), "*name");
}

#[test]
fn only_paths_below_lib_are_read() {
    struct Strict;
    impl RubyLibrary for Strict {
        fn read(&self, feature: &str) -> Option<String> {
            panic!("asked for {feature:?}");
        }

        fn provider_features(&self, _: &str) -> Vec<String> {
            Vec::new()
        }
    }
    for path in [
        "'../x'",
        "'/etc/passwd'",
        "'a/../../x'",
        "'a//b'",
        "''",
        "\"a\0\"",
        "'.'",
    ] {
        let source = format!("require {path}\n{}", body("newparam(:name)"));
        let reading = read_ruby_type("thing", &source, &Strict);
        assert!(matches!(reading, StaticReading::NeedsRuby { .. }), "{path}");
    }
}

#[test]
fn texts_that_run_no_dangerous_code_are_read() {
    for description in [
        "<<-'EOT'\n  `newproperty` in #{a} text\nEOT",
        "<<-EOT\n  the method `newproperty` and send\nEOT",
        "<<-EOT\n  the value #{DEFAULT} of the options\nEOT",
        "\"the #{DEFAULT} and send\"",
    ] {
        complete(&body(&format!(
            "DEFAULT = 1\ndesc {description}\nnewparam(:a)"
        )));
    }
}

#[test]
fn capabilities_are_read_from_the_options_of_the_type() {
    let body = "do\n  newparam(:name)\n  newparam(:host)\nend\n";
    for (options, expected) in [
        ("", false),
        (", :is_capability => true", true),
        (", is_capability: true", true),
        (", :is_capability => false", false),
        (", :parent => Foo", false),
    ] {
        let read = complete(&format!("Puppet::Type.newtype(:thing{options}) {body}"));
        assert_eq!(read.is_capability(), expected, "{options}");
    }
    let read = complete(&format!(
        "Puppet::Type.newtype :thing, :is_capability => true {body}"
    ));
    assert!(read.is_capability());
}
