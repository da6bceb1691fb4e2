//! The core types: attributes, titles and keys.

use resource_types::{
    InvalidResourceType, ResourceAttributeKind, ResourceTypeBuilder, ResourceTypeOrigin,
    TitleError, TitlePattern, UniquenessKeyPart, core_type,
};
use ruby_regex::RegexFlags;

fn built(origin: ResourceTypeOrigin) -> ResourceTypeBuilder {
    ResourceTypeBuilder::new("thing", origin)
}

#[test]
fn attributes_have_kinds_and_include_metaparameters() {
    let file = core_type("file").unwrap();
    assert_eq!(
        file.attribute_kind("mode"),
        Some(ResourceAttributeKind::Property)
    );
    assert_eq!(
        file.attribute_kind("path"),
        Some(ResourceAttributeKind::Parameter)
    );
    assert_eq!(file.attribute_kind("require"), None);
    assert!(file.has_attribute("require"));
    assert!(
        file.has_attribute("name"),
        "Puppet takes it for every type in Ruby"
    );
    assert!(!file.has_attribute("nmae"));
    assert_eq!(
        file.attributes().next(),
        Some(("ensure", ResourceAttributeKind::Property))
    );
}

#[test]
fn isomorphism_is_that_of_puppet() {
    assert!(!core_type("exec").unwrap().is_isomorphic());
    assert!(!core_type("tidy").unwrap().is_isomorphic());
    assert!(core_type("file").unwrap().is_isomorphic());
}

#[test]
fn a_title_of_a_file_loses_its_trailing_slashes() {
    let file = core_type("file").unwrap();
    for (title, path) in [
        ("/etc//", "/etc"),
        ("/", "/"),
        ("C:/", "C:/"),
        ("a b", "a b"),
    ] {
        assert_eq!(file.parse_title(title).unwrap(), [("path", Some(path))]);
    }
    assert_eq!(
        file.parse_title("").unwrap_err(),
        TitleError::NoPatternMatched {
            title: String::new()
        }
    );
}

#[test]
fn a_title_with_newlines_is_the_name() {
    let notify = core_type("notify").unwrap();
    let parts = notify.parse_title("a\nb").unwrap();
    assert_eq!(parts, [("name", Some("a\nb"))]);
}

#[test]
fn a_key_has_the_parts_of_the_title_and_the_parameters() {
    use UniquenessKeyPart::{Absent, Title, Value};
    let package = core_type("package").unwrap();
    let gem = "gem".to_owned();
    let key = package.uniqueness_key("mysql", |name| (name == "provider").then_some(&gem));
    assert_eq!(key.unwrap(), [Absent, Title("mysql"), Value(&gem)]);
    let key = package.uniqueness_key("gem-mysql", |name| (name == "name").then_some(&gem));
    assert_eq!(key.unwrap(), [Absent, Value(&gem), Absent]);
}

#[test]
fn a_key_of_sshkey_is_taken_from_both_patterns() {
    use UniquenessKeyPart::{Absent, Title};
    let sshkey = core_type("sshkey").unwrap();
    let none = |_: &str| None::<&String>;
    let key = sshkey.uniqueness_key("host@rsa", none).unwrap();
    assert_eq!(key, [Title("host"), Title("rsa")]);
    let key = sshkey.uniqueness_key("host", none).unwrap();
    assert_eq!(key, [Title("host"), Absent]);
}

#[test]
fn several_name_variables_need_title_patterns() {
    for origin in [ResourceTypeOrigin::Ruby, ResourceTypeOrigin::Generated] {
        let mut builder = built(origin);
        builder.add_parameter("a", true);
        builder.add_parameter("b", true);
        let error = builder.build().unwrap_err();
        let (name, count) = ("thing".to_owned(), 2);
        assert_eq!(
            error,
            InvalidResourceType::TitlePatternsMissing { name, count }
        );
    }
}

#[test]
fn types_have_a_limit_of_attributes() {
    for origin in [ResourceTypeOrigin::Ruby, ResourceTypeOrigin::Generated] {
        let mut builder = built(origin);
        for index in 0..=10_000 {
            builder.add_property(&format!("a{index}"), false);
            assert!(!builder.has_parameter(&format!("a{index}")));
        }
        let error = builder.build().unwrap_err().to_string();
        assert!(error.contains("has 10001 properties"), "{error}");
    }
}

#[test]
fn an_unmarked_name_identifies_only_types_in_ruby() {
    let mut builder = built(ResourceTypeOrigin::Ruby);
    builder.add_parameter("name", false);
    assert_eq!(builder.build().unwrap().name_variables().len(), 1);

    let mut builder = built(ResourceTypeOrigin::Generated);
    builder.add_parameter("name", false);
    let generated = builder.build().unwrap();
    assert_eq!(generated.name_variables().len(), 0);
    assert_eq!(generated.title_patterns(), None);
    assert_eq!(
        generated.parse_title("x").unwrap(),
        [("name", Some("x"))],
        "the title is the name all the same"
    );
    assert!(
        generated
            .uniqueness_key("x", |_| None::<&String>)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_ruby_type_without_name_variables_takes_no_title() {
    let empty = built(ResourceTypeOrigin::Ruby).build().unwrap();
    assert!(empty.parse_title("x").is_err());
}

#[test]
fn ensure_is_the_first_property() {
    let mut builder = built(ResourceTypeOrigin::Ruby);
    builder.add_property("value", false);
    builder.add_property("ensure", false);
    builder.add_parameter("name", true);
    let built = builder.build().unwrap();
    let names: Vec<&str> = built.attributes().map(|(name, _)| name).collect();
    assert_eq!(names, ["ensure", "value", "name"]);
}

#[test]
fn a_pattern_with_fewer_groups_than_attributes_leaves_the_rest_absent() {
    let mut builder = built(ResourceTypeOrigin::Ruby);
    builder.add_parameter("a", true);
    builder.add_parameter("b", true);
    let flags = RegexFlags::default();
    let pattern = TitlePattern::new("^(x)(y)?$", flags, &["a", "b", "c"]).unwrap();
    builder.set_title_patterns(vec![pattern]);
    let built = builder.build().unwrap();
    let parts = built.parse_title("x").unwrap();
    assert_eq!(parts, [("a", Some("x")), ("b", None), ("c", None)]);
}

#[test]
fn a_pattern_without_end_is_an_error_that_names_the_title() {
    let flags = RegexFlags::default();
    assert!(TitlePattern::new("(", flags, &["a"]).is_err());
    let mut builder = built(ResourceTypeOrigin::Ruby);
    builder.add_parameter("a", true);
    builder.set_title_patterns(vec![
        TitlePattern::new(r"^(?:(a|aa)+)+\1$", flags, &["a"]).unwrap(),
    ]);
    let title = format!("{}b", "a".repeat(5000));
    let error = builder.build().unwrap().parse_title(&title).unwrap_err();
    assert!(error.to_string().contains("aaab"), "{error}");
}
