//! ERB templates.

use pcore::{Hash, Value};
use ruby_workers::{RubyCallError, RubyTemplate};

use crate::fixture::{DEBIAN_MODULES, Fixture, TestCompiler, strings};

fn render(
    fixture: &Fixture,
    compiler: &mut TestCompiler,
    text: &str,
) -> Result<String, RubyCallError> {
    let template = RubyTemplate::Text(text.to_owned());
    fixture.session().render_erb(&template, compiler)
}

#[test]
fn templates_see_variables_and_functions() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let mut compiler = TestCompiler::with_variables(&[
        ("name", "x".into()),
        ("nothing", Value::Undef),
        ("list", strings(&["a", "b"])),
        ("a::b", 5.into()),
    ]);
    let cases = [
        ("<%= @name %>", "x"),
        ("<%= @nothing.inspect %>", "nil"),
        (
            "<% @list.each do |e| -%>\n- <%= e %>\n<% end -%>\n",
            "- a\n- b\n",
        ),
        ("<%= scope['a::b'] + 1 %>", "6"),
        ("<%= scope.lookupvar('name') %>", "x"),
        (
            "<%= has_variable?('name') %> <%= has_variable?('nothing') %> <%= has_variable?('no') %>",
            "true false false",
        ),
        ("<%= scope.function_host(['v']).inspect %>", "[\"v\"]"),
        (
            "<%= scope.call_function('any2array', ['v']).inspect %>",
            "[\"v\"]",
        ),
        (
            "<%= all_tags.join(',') %> <%= classes.join(',') %>",
            "red,blue settings,site",
        ),
        ("<%= instance_variable_get('@na' + 'me') %>", "x"),
        ("<%= scope.to_hash.keys.sort.join(',') %>", "list,name"),
        ("<%# nothing %>%% ü", "%% ü"),
    ];
    for (text, expected) in cases {
        let rendered = render(&fixture, &mut compiler, text).expect(text);
        assert_eq!(rendered, expected, "{text}");
    }
    // only named variables are asked for
    assert_eq!(compiler.asked[0], "variables Some([\"name\"])");
}

#[test]
fn failures_have_file_and_line() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let mut compiler = TestCompiler::default();
    let path = fixture.write("templates/bad.erb", "one\n<%= nil.size %>\n");
    let template = RubyTemplate::File(path.clone());
    let session = fixture.session();
    let error = session.render_erb(&template, &mut compiler);
    let Err(RubyCallError::Raised { exception, .. }) = error else {
        panic!("{error:?}");
    };
    assert_eq!((exception.file, exception.line), (Some(path), Some(2)));
    let template = RubyTemplate::Text("a\n\n<%= raise 'x' %>".to_owned());
    let error = session.render_erb(&template, &mut compiler);
    assert!(error.expect_err("an error").to_string().contains("line: 3"));
    let template = RubyTemplate::File("/nonexistent.erb".into());
    let error = session.render_erb(&template, &mut compiler);
    assert!(
        error
            .expect_err("no file")
            .to_string()
            .contains("No such file")
    );
}

#[test]
fn templates_of_debians_modules_render() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let mut compiler = TestCompiler::with_variables(&[
        ("servers", strings(&["a.example", "b.example"])),
        ("iburst_enable", true.into()),
        ("disable_monitor", true.into()),
        ("driftfile", "/var/lib/ntp/drift".into()),
        ("ports", Hash::new().into()),
    ]);
    let session = fixture.session();
    let mut rendered = 0;
    let mut failed = 0;
    let modules = std::fs::read_dir(DEBIAN_MODULES).expect("modules");
    for module in modules.filter_map(Result::ok) {
        let Ok(templates) = std::fs::read_dir(module.path().join("templates")) else {
            continue;
        };
        for template in templates.filter_map(Result::ok) {
            if template
                .path()
                .extension()
                .is_some_and(|ending| ending == "erb")
            {
                let template = RubyTemplate::File(template.path());
                match session.render_erb(&template, &mut compiler) {
                    Ok(_) => rendered += 1,
                    // most need more variables than these
                    Err(RubyCallError::Raised { .. }) => failed += 1,
                    Err(error) => panic!("{error}"),
                }
            }
        }
    }
    assert!(rendered > 10, "{rendered} rendered, {failed} failed");
}

#[test]
fn variables_that_templates_set_are_seen_by_the_templates_inside_them() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let mut compiler = TestCompiler::with_variables(&[("known", "k".into())]);
    let text =
        "<% scope.setvar('own', {}); scope.lookupvar('own')[:a] = 1 %><%= scope['own'][:a] %>";
    assert_eq!(render(&fixture, &mut compiler, text).expect(text), "1");
    let text = "<% scope.setvar('known', 1) %>";
    let error = render(&fixture, &mut compiler, text).expect_err("an error");
    assert!(
        error
            .to_string()
            .contains("Cannot reassign variable '$known'")
    );
}

/// Templates are compiled to methods, which later sessions have from the beginning.
#[test]
fn a_template_renders_alike_again_and_in_later_sessions() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let mut compiler = TestCompiler::with_variables(&[("name", "x".into())]);
    let cases = [
        (
            "<%= @name %> <%= string.size %> <%= result.inspect %>",
            "x 53 nil",
        ),
        ("<% result = 1 -%>\n<%= result %>\n<%= __LINE__ %>", "1\n3"),
        // code that is none of a method's body
        ("<% Own = 1 unless defined?(Own) %><%= Own %>", "1"),
        (
            "<% class Inner; end %><%= Inner.name %>",
            "TuttiWorker::Template4Erb::Inner",
        ),
        ("a <% return 'early' %> b", "early"),
    ];
    for (number, (text, expected)) in cases.into_iter().enumerate() {
        let path = fixture.write(&format!("templates/t{number}.erb"), text);
        let template = RubyTemplate::File(path);
        for _ in 0..3 {
            let session = fixture.session();
            for _ in 0..2 {
                let rendered = session.render_erb(&template, &mut compiler).expect(text);
                assert_eq!(rendered, expected, "{text}");
            }
        }
    }
}

/// A text that would end the method and run in the process from which all sessions are forked.
#[test]
fn no_code_of_a_template_runs_before_it_is_rendered() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    let mut compiler = TestCompiler::default();
    let mark = fixture.write("mark", "");
    std::fs::remove_file(&mark).expect("removed");
    let touch = format!("File.write('{}', $$.to_s)", mark.display());
    let attacks = [
        format!("<% end; {touch}; def x %>"),
        format!("<%\nend\n{touch}\ndef x\n%>"),
        format!("<%\nEND {{ {touch} }}\n%>"),
        format!("<%\nBEGIN {{ {touch} }}\n%>"),
        format!("<%\n=begin\n%>\n<%\n=end\nend; {touch}; begin\n%>"),
        format!("<%\n__END__\nend; {touch}\n%>"),
        format!("<%# -*- coding: utf-8; \nend; {touch} -*- %>"),
    ];
    for (number, text) in attacks.iter().enumerate() {
        let path = fixture.write(&format!("templates/attack{number}.erb"), text);
        let template = RubyTemplate::File(path);
        let first = fixture.session().render_erb(&template, &mut compiler);
        // what the session itself ran is not the point
        let _ = std::fs::remove_file(&mark);
        // forked after the template was loaded in advance, if that succeeded
        drop(fixture.session());
        assert!(!mark.exists(), "{text}: {first:?}");
        let again = fixture.session().render_erb(&template, &mut compiler);
        let _ = std::fs::remove_file(&mark);
        assert_eq!(first.is_ok(), again.is_ok(), "{text}");
    }
}
