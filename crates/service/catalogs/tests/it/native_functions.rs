//! Functions in Ruby that need no Ruby: the program that should be `ruby` does not exist here.

use std::path::Path;

use catalogs::{CompilerOptions, EnvironmentOnDisk};
use compiler::{CompileRequest, DocumentForm};
use ruby_workers::{RubyWorkerSettings, RubyWorkers};

/// The title of the only `notify` of a manifest, or the message of the error.
fn title(manifest: &str, files: &[(&str, &str)]) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("manifests/site.pp", manifest);
    for (path, text) in files {
        write(&format!("modules/{path}"), text);
    }
    let hiera = Path::new("/nonexistent");
    let on_disk = EnvironmentOnDisk::open("production", directory.path(), &[], hiera).unwrap();
    let settings = RubyWorkerSettings {
        ruby: "/nonexistent/ruby".into(),
        ..RubyWorkerSettings::default()
    };
    let environment = on_disk.into_compiler(CompilerOptions {
        ruby: Some(RubyWorkers::new(settings)),
        ..CompilerOptions::default()
    });
    let request = CompileRequest {
        certname: "node".to_owned(),
        ..CompileRequest::default()
    };
    let compiled = compiler::compile(&environment, &request).map_err(|it| it.to_string())?;
    let document = compiled.document.to_json(DocumentForm::Rich).unwrap();
    let resources = document["resources"].as_array().unwrap();
    let notify = resources.iter().find(|it| it["type"] == "Notify").unwrap();
    Ok(notify["title"].as_str().unwrap().to_owned())
}

fn function(name: &str, parameter: &str, body: &str) -> String {
    let method = name.rsplit("::").next().unwrap();
    format!(
        "Puppet::Functions.create_function(:'{name}') do\n  dispatch :{method} do\n    \
         param '{parameter}', :value\n  end\n  def {method}(value)\n    {body}\n  end\nend\n"
    )
}

#[test]
fn a_function_and_a_template_that_calls_it_need_no_ruby() {
    let shout = function("m::shout", "String", "value.upcase + '!'");
    let files = [
        ("m/lib/puppet/functions/m/shout.rb", shout.as_str()),
        (
            "m/templates/t.erb",
            "<%= scope.call_function('m::shout', [@word]) %>",
        ),
    ];
    let called = title("notify { m::shout('hello'): }", &files);
    assert_eq!(called.as_deref(), Ok("HELLO!"));
    let rendered = title("$word = 'it'\nnotify { template('m/t.erb'): }", &files);
    assert_eq!(rendered.as_deref(), Ok("IT!"));
}

#[test]
fn types_of_the_environment_are_types_of_parameters() {
    let port = function("m::port", "M::Port", "value + 1");
    let files = [
        ("m/lib/puppet/functions/m/port.rb", port.as_str()),
        ("m/types/port.pp", "type M::Port = Integer[1, 65535]"),
    ];
    let good = title("notify { \"${m::port(80)}\": }", &files);
    assert_eq!(good.as_deref(), Ok("81"));
    let bad = title("notify { \"${m::port(0)}\": }", &files).unwrap_err();
    assert!(bad.contains("/nonexistent/ruby"), "{bad}");
}

#[test]
fn functions_that_call_each_other_without_end_are_left_to_ruby() {
    let ping = function("m::ping", "Any", "call_function('m::pong', value)");
    let pong = function("m::pong", "Any", "call_function('m::ping', value)");
    let deep = function("m::deep", "Any", "call_function('m::deep2', value) + 'x'");
    let deep2 = function("m::deep2", "Any", "value.to_s");
    let files = [
        ("m/lib/puppet/functions/m/ping.rb", ping.as_str()),
        ("m/lib/puppet/functions/m/pong.rb", pong.as_str()),
        ("m/lib/puppet/functions/m/deep.rb", deep.as_str()),
        ("m/lib/puppet/functions/m/deep2.rb", deep2.as_str()),
    ];
    let endless = title("notify { m::ping(1): }", &files).unwrap_err();
    assert!(endless.contains("/nonexistent/ruby"), "{endless}");
    let nested = title("notify { m::deep(1): }", &files);
    assert_eq!(nested.as_deref(), Ok("1x"));
}

#[test]
fn which_of_several_files_defines_a_function_is_for_ruby() {
    let one = function("shout", "String", "value.upcase");
    let other = function("shout", "String", "value.downcase");
    let only = [("m/lib/puppet/functions/shout.rb", one.as_str())];
    let alone = title("notify { shout('x'): }", &only);
    assert_eq!(alone.as_deref(), Ok("X"));
    let both = [only[0], ("n/lib/puppet/functions/shout.rb", other.as_str())];
    let refused = title("notify { shout('x'): }", &both).unwrap_err();
    assert!(refused.contains("/nonexistent/ruby"), "{refused}");
    // a function in the namespace of another module is no function of the module
    let foreign = function("n::shout", "String", "value.upcase");
    let files = [("m/lib/puppet/functions/n/shout.rb", foreign.as_str())];
    assert!(title("notify { n::shout('x'): }", &files).is_err());
}

#[test]
fn a_function_that_changes_its_argument_is_for_ruby() {
    let change = function("m::change", "Array", "value << 1");
    let files = [("m/lib/puppet/functions/m/change.rb", change.as_str())];
    let refused = title("notify { \"${m::change([])}\": }", &files).unwrap_err();
    assert!(refused.contains("/nonexistent/ruby"), "{refused}");
}

#[test]
fn results_count_as_memory_of_the_compilation() {
    let large = function("m::large", "Integer", "\"#{value}#{'x' * 8000000}\"");
    let files = [("m/lib/puppet/functions/m/large.rb", large.as_str())];
    let one = title("notify { \"${m::large(7).length}\": }", &files);
    assert_eq!(one.as_deref(), Ok("8000001"));
    let many = "$all = Integer[1, 200].map |$n| { m::large($n) }\nnotify { 'x': }";
    let refused = title(many, &files).unwrap_err();
    assert!(refused.contains("holds more than"), "{refused}");
}

#[test]
fn templates_see_what_the_template_around_them_sets() {
    let outer = "<% scope.setvar('_own', {}); [1, 2].each do |n| scope.lookupvar('_own')[:n] = n -%>\n\
                 <%= scope.function_template([\"m/#{@inner}.erb\"]) -%>\n<% end -%>\n";
    let files = [
        ("m/templates/outer.erb", outer),
        (
            "m/templates/inner.erb",
            "[<%= scope.lookupvar('_own')[:n] %><%= @word %>]",
        ),
        ("m/templates/ruby.erb", "<% def x; 1; end %><%= x %>"),
        ("m/templates/failing.erb", "<%= [].first.upcase %>"),
        ("m/templates/set.erb", "<% scope.setvar('_own', 1) %>"),
        ("m/templates/jump.erb", "<% break %>"),
    ];
    let render = |inner: &str| {
        let code =
            format!("$word = 'x'\n$inner = '{inner}'\nnotify {{ template('m/outer.erb'): }}");
        title(&code, &files)
    };
    assert_eq!(render("inner").as_deref(), Ok("[1x][2x]"));
    for for_ruby in ["ruby", "failing", "set", "jump", "missing", "outer"] {
        let refused = render(for_ruby).unwrap_err();
        assert!(refused.contains("/nonexistent/ruby"), "{refused}");
    }
}

#[test]
fn templates_inside_each_other_without_end_are_for_ruby() {
    let recursive = "<%= scope.function_template(['m/inner.erb']) %>";
    let outer = "<% scope.setvar('_own', 1) %><%= scope.function_template(['m/inner.erb']) %>";
    let files = [
        ("m/templates/outer.erb", outer),
        ("m/templates/inner.erb", recursive),
    ];
    let refused = title("notify { template('m/outer.erb'): }", &files).unwrap_err();
    assert!(refused.contains("/nonexistent/ruby"), "{refused}");
}

#[test]
fn a_change_of_a_variable_stays_in_its_template() {
    let change = "<% list = @list; list << { 'a' => 1 } -%>\n<%= @list.size %>";
    let several = "<% @other.size; @list << 1 -%>\n<%= @list.size %>";
    let files = [
        ("m/templates/change.erb", change),
        ("m/templates/several.erb", several),
    ];
    let code = "$list = []\n$other = $list\n$a = template('m/change.erb')\n$b = template('m/change.erb')\n\
                notify { \"${a}${b}${list}\": }";
    assert_eq!(title(code, &files).as_deref(), Ok("11[]"));
    let code = "$list = []\n$other = $list\nnotify { template('m/several.erb'): }";
    let refused = title(code, &files).unwrap_err();
    assert!(refused.contains("/nonexistent/ruby"), "{refused}");
}
