//! Files of `puppet generate types`, as they are written and damaged.

use std::sync::Arc;

use resource_types::{
    GeneratedTypeError, ResourceAttributeKind, ResourceType, ResourceTypeOrigin,
    read_generated_type,
};
use syntax::SourceText;

/// The form in which Puppet 8.10 writes a type.
const WRITTEN: &str = r"# This file was automatically generated on 2026-11-24 16:30:00 +0000.
# Use the 'puppet generate types' command to regenerate this file.

# A host's key.
Puppet::Resource::ResourceType3.new(
  'hostkey',
  [
    # The state.
    Puppet::Resource::Param(Enum['present', 'absent'], 'ensure'),

    Puppet::Resource::Param(Variant[Boolean, Enum['true'], Pattern[/^a\/b$/]], 'kind', true)
  ],
  [
    Puppet::Resource::Param(Any, 'name', true),

    Puppet::Resource::Param(Any, 'provider')
  ],
  {
    /^(.*?)@(.*)$/ => ['name', 'kind'],
    /(?m-ix:(.*))/ => ['name']
  },
  false,
  false)
";

fn read(text: &str) -> Result<ResourceType, GeneratedTypeError> {
    let source = SourceText::new(Some("/code/.resource_types/hostkey.pp"), text);
    read_generated_type(&Arc::new(source))
}

#[test]
fn a_written_type_is_read() {
    use ResourceAttributeKind::{Parameter, Property};
    let hostkey = read(WRITTEN).unwrap();
    assert_eq!(hostkey.name(), "hostkey");
    assert_eq!(hostkey.origin(), ResourceTypeOrigin::Generated);
    let attributes: Vec<_> = hostkey.attributes().collect();
    assert_eq!(
        attributes,
        [
            ("ensure", Property),
            ("kind", Property),
            ("name", Parameter),
            ("provider", Parameter),
        ]
    );
    let variables: Vec<&str> = hostkey.name_variables().collect();
    assert_eq!(variables, ["kind", "name"]);
    assert!(!hostkey.is_isomorphic());
    assert_eq!(
        hostkey.parse_title("a@b").unwrap(),
        [("name", Some("a")), ("kind", Some("b"))]
    );
    assert_eq!(
        hostkey.parse_title("a\nb").unwrap(),
        [("name", Some("a\nb"))]
    );
}

#[test]
fn short_forms_are_read() {
    let bare = read("Puppet::Resource::ResourceType3.new('bare')").unwrap();
    assert!(bare.is_isomorphic());
    assert_eq!(bare.attributes().count(), 0);
    let call = "Puppet::Resource::ResourceType3('x', [], [Puppet::Resource::Param(Any, 'a', true)], undef)";
    let call = read(call).unwrap();
    assert_eq!(call.name_variable(), "a");
    assert_eq!(call.parse_title("t").unwrap(), [("a", Some("t"))]);
}

#[test]
fn errors_name_file_and_line() {
    for (text, line, message) in [
        ("", 1, "expected one call"),
        ("notice(1)\nnotice(2)\n", 1, "expected one call"),
        ("\n\nnotice('x')", 3, "expected a call of"),
        ("Puppet::Resource::ResourceType3.new()", 1, "no name"),
        ("Puppet::Resource::ResourceType3.new(\n1)", 2, "not a text"),
        ("Puppet::Resource::ResourceType3.new('')", 1, "not a text"),
        (
            "Puppet::Resource::ResourceType3.new('x', 'y')",
            1,
            "expected an array",
        ),
        (
            "Puppet::Resource::ResourceType3.new('x', [\n$y])",
            2,
            "expected a call of Puppet::Resource::Param",
        ),
        (
            "Puppet::Resource::ResourceType3.new('x', [\nPuppet::Resource::Param('y')])",
            2,
            "takes a type and a name",
        ),
        (
            "Puppet::Resource::ResourceType3.new('x', [], [], {\n'a' => ['b']})",
            2,
            "not a regular expression",
        ),
        (
            "Puppet::Resource::ResourceType3.new('x', [], [], {\n/(/ => ['b']})",
            2,
            "/(/",
        ),
        (
            "Puppet::Resource::ResourceType3.new('x', [], [], {}, 1)",
            1,
            "true or false",
        ),
        (
            "Puppet::Resource::ResourceType3.new('x',\n[",
            2,
            "Syntax error",
        ),
    ] {
        let error = read(text).unwrap_err();
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.fault.contains(message), "{text}: {error}");
        assert!(
            error
                .to_string()
                .contains("(file: /code/.resource_types/hostkey.pp, line: ")
        );
    }
}

#[test]
fn several_name_variables_need_patterns() {
    let text = WRITTEN.replace(
        "/^(.*?)@(.*)$/ => ['name', 'kind'],\n    /(?m-ix:(.*))/ => ['name']",
        "",
    );
    let error = read(&text).unwrap_err();
    assert!(
        error
            .fault
            .contains("2 name variables and no title patterns")
    );
}

#[test]
fn truncated_files_are_errors() {
    let end = WRITTEN.trim_end().len();
    for length in (0..end).filter(|length| WRITTEN.is_char_boundary(*length)) {
        assert!(read(&WRITTEN[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn deep_and_huge_files_are_errors_or_types() {
    let deep = format!(
        "Puppet::Resource::ResourceType3.new('x', {}{})",
        "[".repeat(20_000),
        "]".repeat(20_000)
    );
    assert!(read(&deep).is_err());
    let attribute = "Puppet::Resource::Param(Any, 'a'),";
    let huge = format!(
        "Puppet::Resource::ResourceType3.new('x', [{}])",
        attribute.repeat(10_001)
    );
    assert!(read(&huge).unwrap_err().fault.contains("more than 10000"));
}
