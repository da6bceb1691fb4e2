//! Type files in Ruby: forms that are left to Ruby.

use crate::ruby::{body, needs_ruby};

#[test]
fn hidden_declarations_need_ruby() {
    for statement in [
        "newparam(name)",
        "newparam(\"a#{1}\")",
        "newparam(:a) if x",
        "newparam(:a, options)",
        "newparam(:a, **options)",
        "newparam(:a, :namevar => x)",
        "newparam(:'a-b')",
        "newparam",
        "newparam(:a) do\nisnamevar if x\nend",
        "newparam(:a) do\nif x\nisnamevar\nend\nend",
        "newparam(:a) do\nself.isnamevar\nend",
        "newparam(:a)\nnewparam(:a)",
        "newparam(:a).foo",
        "self.newparam(:a)",
        "send(:newparam, :a)",
        "x = method(:newparam)",
        "eval 'x'",
        "class_eval(code)",
        "%w[a].each { |n| next; newparam(n) }",
        "names.each { |n| newparam(n) }",
        "if x\nnewparam(:a)\nend",
        "begin\nnewparam(:a)\nrescue\nend",
        "newmetaparam(:a)",
        "ensurable if x",
        "ensurable\nensurable",
        "def exists?; end\ndef create; end\ndef destroy; end",
        "create_things",
        "extend Things",
        "include things",
        "PuppetX::Things.add(self)",
        "return if x",
        "next unless x",
        "@parameters = []",
        "@isomorphic = x",
        "def self.key_attributes\n[]\nend",
        "def self.name\n:x\nend",
        "class << self\ndef parameters\n[]\nend\nend",
        "require name",
        "require 'unknown_gem'",
        "desc \"a\nnewparam(:b)\n\"",
        "desc \"#{newparam(:b)}\"",
        "desc \"#{send('new' + 'param', :b)}\"",
        "desc \"#{@parameters = []}\"",
        "desc <<-EOT\n  a #{newproperty(:x)}\nEOT",
        "desc <<~\"EOT\"\n  a #{send('new' + 'param', :b)}\nEOT",
        "desc <<~EOT\n  a #{@parameters.clear}\nEOT",
        "Puppet::Type.newtype(:other) { }",
        "provide(:x) if y",
        "alias newthing newparam",
    ] {
        needs_ruby(&body(statement), "");
    }
    for source in [
        "",
        "x = 1",
        "Puppet::Type.newtype(name) do\nend",
        "Puppet::Type.newtype(:other) do\nend",
        "Puppet::Type.newtype(:thing) do\nend\nPuppet::Type.newtype(:thing) do\nend",
        "Puppet::Type.newtype(:thing) do\nend\nPuppet::Type.type(:thing).newparam(:x)",
        "if x\nPuppet::Type.newtype(:thing) do\nend\nend",
        "Puppet::Type.newtype(:thing) do\nend if x",
        "return if x\nPuppet::Type.newtype(:thing) do\nend",
        "load 'x'\nPuppet::Type.newtype(:thing) do\nend",
    ] {
        needs_ruby(source, "");
    }
}

#[test]
fn computed_title_patterns_need_ruby() {
    for patterns in [
        "def self.title_patterns\nx = /a/\n[[x, [[:a]]]]\nend",
        "def self.title_patterns\n[[/#{x}/, [[:a]]]]\nend",
        "def self.title_patterns\n[[/(.)/, [[:a, lambda { |x| x.upcase }]]]]\nend",
        "def self.title_patterns\n[[/(.)/, [:a]]]\nend",
        "def self.title_patterns\nsuper\nend",
        "def self.title_patterns; end",
        "define_singleton_method(:title_patterns) { [] }",
        "class << self\ndef title_patterns\n[]\nend\nend",
    ] {
        needs_ruby(&body(&format!("newparam(:a)\n{patterns}")), "");
    }
}

#[test]
fn unusual_resource_api_types_need_ruby() {
    for definition in [
        "name: 'thing', attributes: ATTRIBUTES",
        "name: 'thing', attributes: { **common, name: { behaviour: :namevar } }",
        "name: 'thing', attributes: { name: { behaviour: kind } }",
        "name: 'thing', attributes: { name: { behaviour: :namevar } }.merge(more)",
        "name: 'thing', attributes: { name: { type: 'String' } }",
        "name: 'other', attributes: { name: { behaviour: :namevar } }",
        "name: 'thing', attributes: { provider: {}, name: { behaviour: :namevar } }",
        "name: 'thing', features: ['custom_insync'], attributes: { name: { behaviour: :namevar } }",
        "name: 'thing', features: FEATURES, attributes: { name: { behaviour: :namevar } }",
        "definition",
        "",
    ] {
        needs_ruby(
            &format!("Puppet::ResourceApi.register_type({definition})"),
            "",
        );
    }
}
