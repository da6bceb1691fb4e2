//! Code that is left to Ruby, with its line and reason.

use native_ruby::{ErbTemplate, NativeRubyError};

use crate::entry::render;

#[test]
fn the_first_construct_for_ruby_is_named() {
    let cases = [
        ("a\n<% require 'x' %>", 2, "a library"),
        ("<%= classes %>", 1, "classes, which is no variable"),
        ("<%= scope.catalog %>", 1, "scope.catalog"),
        ("<%= scope %>", 1, "scope as a value"),
        (
            "\n\n<% begin; 1; ensure; end %>",
            3,
            "a statement without end",
        ),
        (
            "<% begin; 1; rescue TypeError; end %>",
            1,
            "the exception TypeError",
        ),
        ("<% 1 rescue 2 %>", 1, "a rescue behind a statement"),
        ("<% def x; end %>", 1, "the keyword def"),
        ("<% @a.each_char = 1 %>", 1, "an assignment to an attribute"),
        ("<%= $global %>", 1, "a global variable"),
        ("<%= `id` %>", 1, "code that cannot be read"),
        ("<%= x = 1, 2 %>", 1, "code that cannot be read"),
        ("<% string = 1 %>", 1, "a variable named string"),
        (
            "<%= !@a.include? 'x' %>",
            1,
            "arguments of include? without brackets",
        ),
        (
            "<%= @a.join 'x', 1 %>",
            1,
            "arguments of join without brackets",
        ),
        (
            "<%= @a.map.with_index { |e| e } %>",
            1,
            "map.with_index in another form",
        ),
        ("<%= %(a(b)) %>", 1, "brackets in a string in brackets"),
        ("<%# coding: latin1 %>x", 1, "a magic comment"),
        (
            "<% if /a/ %><% end %>",
            1,
            "a range or regular expression as a condition",
        ),
    ];
    for (template, line, reason) in cases {
        let refused = ErbTemplate::parse(template).expect_err(template);
        assert_eq!((refused.line, refused.reason.as_str()), (line, reason));
    }
}

#[test]
fn failures_while_rendering_are_left_to_ruby() {
    struct Empty;
    impl native_ruby::RubyScope for Empty {
        fn instance_variable(
            &mut self,
            _: &str,
        ) -> Result<Option<pcore::Value>, native_ruby::RubyScopeError> {
            Ok(None)
        }
        fn variable(
            &mut self,
            _: &str,
        ) -> Result<Option<pcore::Value>, native_ruby::RubyScopeError> {
            Ok(None)
        }
        fn has_variable(&mut self, _: &str) -> Result<bool, native_ruby::RubyScopeError> {
            Ok(false)
        }
        fn native_template(&mut self, _: &str) -> Option<std::sync::Arc<ErbTemplate>> {
            None
        }
        fn call_function(
            &mut self,
            _: native_ruby::RubyCallKind,
            name: &str,
            _: &[pcore::Value],
        ) -> Result<Option<pcore::Value>, native_ruby::RubyScopeError> {
            match name {
                "known" => Ok(Some(1.into())),
                _ => Err(native_ruby::RubyScopeError(Box::new("failed"))),
            }
        }
    }
    let run = |text: &str| ErbTemplate::parse(text).expect(text).render(&mut Empty);
    let error = run("x\n<% scope.function_known([]) %><%= @a.size %>").expect_err("nil.size");
    let NativeRubyError::NotNative { reason, calls } = error else {
        panic!("{error}");
    };
    assert_eq!((reason.line, calls), (2, 1));
    assert_eq!(reason.reason, "the method size of nil");
    for (code, reason) in [
        ("1.each_char { |c| c }", "the method each_char"),
        ("File.join('a', 'b').size", "the constant File"),
        ("Puppet::Util::Log", "the constant Puppet::Util::Log"),
    ] {
        let reached = run(&format!("<% if true then {code} end %>"));
        let error = reached.expect_err(code).to_string();
        assert!(error.contains(reason), "{error}");
        let unreached = run(&format!("<% if @a then {code} end %>x"));
        assert_eq!(unreached.expect(code), "x");
    }
    let error = run("<%= scope['x'] %>").expect_err("unknown");
    assert!(
        error.to_string().contains("the unknown variable x"),
        "{error}"
    );
    let error = run("\n<%= scope.call_function('f', []) %>").expect_err("a failure");
    assert!(
        matches!(error, NativeRubyError::Scope { line: 2, .. }),
        "{error}"
    );
}

#[test]
fn secrets_are_not_printed() {
    let rendered = render("<%= @a %>").expect("a text");
    assert_eq!(rendered, "Sensitive [value redacted]");
    assert_eq!(render("<%= @a.inspect %>"), None);
}
