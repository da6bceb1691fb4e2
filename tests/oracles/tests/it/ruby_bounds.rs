//! Blocks of Ruby code in a compilation end at the bounds of the compilation and of the workers.

use anyhow::{Context as _, Result};
use oracles::catalog_cases::parse_catalog_case;
use oracles::compiled_catalog::compile_case;

/// The error of a node whose manifest calls a function with this body.
fn error_of(body: &str) -> Result<String> {
    let text = format!(
        "# a function in Ruby\n\
         ## file modules/m/lib/puppet/functions/m/f.rb\n\
         Puppet::Functions.create_function(:'m::f') do\n  def f(n = 0)\n    {body}\n  end\nend\n\
         ## file manifests/site.pp\n\
         notify {{ 'n': message => m::f() }}\n"
    );
    let answer = compile_case(&parse_catalog_case(&text)?)?;
    answer.catalog.err().context("a catalog")
}

#[test]
fn blocks_of_ruby_are_nested_50_times_at_most() -> Result<()> {
    let error = error_of("call_function('map', [n]) { |x| call_function('m::f', x + 1) }")?;
    assert!(
        error.contains("is nested deeper than 50 calls between Ruby and the compiler"),
        "{error}"
    );
    assert!(
        error.contains("(file: /env/manifests/site.pp, line: 1, column: 26)"),
        "{error}"
    );
    Ok(())
}

#[test]
fn values_of_blocks_of_ruby_are_charged_to_the_compilation() -> Result<()> {
    let error = error_of("call_function('map', (1..200).to_a) { |x| 'x' * 15_000_000 }")?;
    assert!(error.contains("bytes of values"), "{error}");
    assert!(error.contains("line: 1"), "{error}");
    Ok(())
}
