//! Refused constructs, each with its position and the remedy.

use super::wrong;

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    let said = wrong(text);
    for part in parts {
        assert!(said.contains(part), "{text}\n{said}\nhas no {part:?}");
    }
}

#[test]
fn ruby_is_not_run() {
    for text in [
        "if true\n mod 'a/b'\nend",
        "mod 'a/b', '1.0.0' if x",
        "['a', 'b'].each do |m|\n mod m\nend",
        "def foo(x)\n mod x\nend",
        "require 'json'",
        "mod 'a/b', version",
        "x = File.read('y')",
        "x = 'a'.upcase",
        "x = `ls`",
        "@x = 1",
        "mod 'a', git: @librarian.environment_name",
        "mod 'a', git: \"#{`ls`}\"",
        "$x = 1",
        "mod 'a/b', <<~X\n1.0.0\nX",
        "load 'x' ? 1 : 2",
        "->{}",
        "x ||= 'a'",
        "%x(ls)",
    ] {
        wrong(text);
    }
    says(
        "if x\n mod 'a/b'\nelse\n mod 'a/c'\nend\n",
        &["line 1, column 1: if is Ruby that is not run"],
    );
    assert_eq!(wrong("if x\nelse\nend").lines().count(), 1);
    says(
        "mod 'a', git: ENV['X']",
        &["line 1, column 15: ENV is not read", ":control_branch"],
    );
}

#[test]
fn modules_that_cannot_be_deployed() {
    says("mod 'apt'", &["owner/apt", "git:"]);
    says("mod 'a/b', '1.2'", &["\"1.2\" is no version", "'1.2.3'"]);
    says("mod 'a/b', '>= 1.0.0'", &["ranges are not resolved"]);
    says("mod 'a/b', 1.2", &["in quotes"]);
    says("mod 'a/b/c'", &["no module's name"]);
    says("mod '../b'", &["no module's name"]);
    says("mod 'a/b\\0'", &["no module's name"]);
    says("mod :a", &["a module's name first"]);
    says("mod", &["a module's name first"]);
    says("mod 'x', git: 'u', reff: 'y'", &["reff is not known"]);
    says(
        "mod 'x', git: 'u', ref: 'y', tag: 'z'",
        &["ref and tag are both given"],
    );
    says(
        "mod 'x', git: 'u', ref: 'y', ref: 'z'",
        &["ref is given twice"],
    );
    says(
        "mod 'x', git: 'u', svn: 'y'",
        &["several sources: git, svn"],
    );
    says("mod 'x', ref: 'y'", &["ref name no source"]);
    says("mod 'x', type: 'hg'", &["no type \"hg\""]);
    says("mod 'x', type: 'git'", &["source is missing"]);
    says("mod 'x', git: '--upload-pack=evil'", &["cannot be used"]);
    says("mod 'x', git: 'u', branch: '-x'", &["cannot be used"]);
    says("mod 'x', git: 'u', branch: :main", &[":main is unknown"]);
    says(
        "mod 'x', type: 'tarball', source: 'u', version: '1'",
        &["64 hexadecimal digits"],
    );
    says(
        "mod 'x', type: 'tarball', source: 'u', version: '1', checksum: '1'",
        &["one of them is enough"],
    );
    says(
        "mod 'a/x', '1.0.0'\nmod 'b/x', '1.0.0'",
        &["line 2", "modules/x", "a/x in line 1"],
    );
}

#[test]
fn paths_that_leave_the_environment() {
    for path in ["../x", "/etc", "a/../../b", "", "."] {
        says(&format!("moduledir '{path}'"), &["moduledir"]);
        wrong(&format!("mod 'x', git: 'u', install_path: '{path}'"));
    }
    says("mod 'x', git: 'u', install_path: \"a\\0b\"", &["NUL"]);
}

#[test]
fn all_mistakes_come_at_once_and_in_order() {
    let said = wrong("mod 'a'\nmod 'b/c', '1.0.0'\nfoo 'x'\nmod 'd', git: 'unended\n");
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("line 1,"), "{said}");
    assert!(lines[1].starts_with("line 3,"), "{said}");
    assert!(
        lines[2].starts_with("line 4, column 15: this text has no end"),
        "{said}"
    );
    let many = "foo\n".repeat(50);
    assert!(wrong(&many).ends_with("and 30 more"));
}

#[test]
fn bounds() {
    says(&"#".repeat(5 << 20), &["larger than"]);
    says(
        &format!("x = {}", "[".repeat(100_000)),
        &["nested more than"],
    );
    let mut doubling = "a = 'xxxxxxxxxxxxxxxx'\n".to_owned();
    for _ in 0..40 {
        doubling += "a = \"#{a}#{a}\"\n";
    }
    says(&doubling, &["more than 65536 bytes"]);
}
