//! Hiera 5 backends in Ruby.

use pcore::{Hash, Value};
use ruby_workers::{RubyCallError, RubyHieraCall, RubySession};

use crate::fixture::{Fixture, TestCompiler, strings};

const LOOKUP_KEY: &str = "Puppet::Functions.create_function(:'site::by_key') do
  dispatch(:by_key) do
    param 'Variant[String, Numeric]', :key
    param 'Hash', :options
    param 'Puppet::LookupContext', :context
  end
  def by_key(key, options, context)
    context.explain { \"looking for #{key}\" }
    case key
    when 'cached' then context.cache_has_key('n') ? context.cached_value('n') : context.cache('n', 41) && nil
    when 'file' then context.cached_file_data(options['path']) { |text| text.strip }
    when 'text' then context.interpolate('%{x}')
    when 'module' then [context.module_name, context.environment_name.to_s]
    else context.not_found
    end
  end
end
";

fn call(
    session: &RubySession,
    compiler: &mut TestCompiler,
    function: &str,
    arguments: Vec<Value>,
) -> Result<Option<Value>, RubyCallError> {
    let call = RubyHieraCall {
        function: function.to_owned(),
        arguments,
        module: Some("site".to_owned()),
        cache: "entry 1".to_owned(),
    };
    session.call_hiera(&call, compiler)
}

#[test]
fn a_lookup_key_function_has_its_context() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.write("lib/puppet/functions/site/by_key.rb", LOOKUP_KEY);
    let file = fixture.write("data.txt", "text of the file\n");
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let options: Hash = [("path", file.display().to_string())].into_iter().collect();
    let mut get = |key: &str| {
        let arguments = vec![key.into(), options.clone().into()];
        let found = call(&session, &mut compiler, "site::by_key", arguments);
        found.expect("an answer")
    };
    assert_eq!(get("missing"), None);
    assert_eq!(get("cached"), Some(Value::Undef));
    assert_eq!(get("cached"), Some(41.into()));
    assert_eq!(get("file"), Some("text of the file".into()));
    assert_eq!(get("text"), Some("interpolated %{x}".into()));
    assert_eq!(get("module"), Some(strings(&["site", "test"])));
    let explained = "explain looking for missing".to_owned();
    assert_eq!(compiler.asked.first(), Some(&explained));
}

#[test]
fn data_hash_and_data_dig_functions_get_their_arguments() {
    let Some(fixture) = Fixture::new() else {
        return;
    };
    fixture.write(
        "lib/puppet/functions/site/all.rb",
        "Puppet::Functions.create_function(:'site::all') do
           dispatch(:all) { param 'Hash', :options; param 'Puppet::LookupContext', :context }
           def all(options, context) = { 'options' => options }
         end",
    );
    fixture.write(
        "lib/puppet/functions/site/dig.rb",
        "Puppet::Functions.create_function(:'site::dig') do
           dispatch(:dig) { param 'Array', :segments; param 'Hash', :options; param 'Puppet::LookupContext', :context }
           def dig(segments, options, context) = segments.reverse
         end",
    );
    let session = fixture.session();
    let mut compiler = TestCompiler::default();
    let mut get = |name: &str, arguments: Vec<Value>| {
        let found = call(&session, &mut compiler, name, arguments);
        found.expect("an answer").expect("a value").to_string()
    };
    let options: Value = [("a", 1)]
        .map(|(k, v)| (k, Value::from(v)))
        .into_iter()
        .collect::<Hash>()
        .into();
    assert_eq!(
        get("site::all", vec![options.clone()]),
        "{options => {a => 1}}"
    );
    let segments = strings(&["x", "y"]);
    assert_eq!(get("site::dig", vec![segments, options]), "[y, x]");
}
