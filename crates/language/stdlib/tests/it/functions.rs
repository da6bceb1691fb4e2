//! Functions of arguments alone. The expected values are those of stdlib 8.5 and 9.7 on Puppet 7;
//! `tests/oracles` compares many more.

use crate::world::{error, value};

#[test]
fn the_most_used_functions_answer() {
    for (program, wanted) in [
        ("pick(undef, '', 'x')", "'x'"),
        ("pick_default('', 'x')", "'x'"),
        ("any2array({a=>1})", "['a', 1]"),
        ("merge({a=>1}, undef, '', {b=>2})", "{'a' => 1, 'b' => 2}"),
        (
            "deep_merge({a=>{b=>1}}, {a=>{c=>2}})",
            "{'a' => {'b' => 1, 'c' => 2}}",
        ),
        ("prefix(['a', 1], 'p')", "['pa', 'p1']"),
        ("suffix({a=>1}, 's')", "{'as' => 1}"),
        (
            "join_keys_to_values({a=>[1,2], b=>'undef'}, '=')",
            "['a=1', 'a=2', 'b']",
        ),
        ("concat([1], 2, [3])", "[1, 2, 3]"),
        ("delete_undef_values({a=>undef, b=>''})", "{'b' => ''}"),
        ("str2bool('yes')", "true"),
        ("bool2str(false)", "'false'"),
        ("member([1,2], [2])", "true"),
        ("has_key({a=>undef}, 'a')", "true"),
        ("dirname('/a/b')", "'/a'"),
        ("basename('/a/b.c', '.c')", "'b'"),
        ("enclose_ipv6(['::1', '1.2.3.4'])", "['[::1]', '1.2.3.4']"),
        ("values_at(['a','b','c'], '0-1')", "['a', 'b']"),
        (
            "range('host08', 'host10')",
            "['host08', 'host09', 'host10']",
        ),
        ("union([1,2],[2,3])", "[1, 2, 3]"),
        ("zip([1],['a'])", "[[1, 'a']]"),
        ("to_bytes('1 kB')", "1024"),
        ("stdlib::extname('a.b.c')", "'.c'"),
        ("stdlib::ensure(true, 'service')", "'running'"),
        ("stdlib::ensure(true)", "'present'"),
        ("stdlib::ensure('absent')", "'absent'"),
        ("stdlib::nested_values({a=>{b=>1},c=>2})", "[1, 2]"),
        (
            "fqdn_uuid('puppetlabs.com')",
            "'9c70320f-6815-5fc5-ab0f-debe68bf764c'",
        ),
        ("stdlib::crc32('dummy')", "'4ff4f23f'"),
        (
            "stdlib::sort_by(['bbb','a','cc']) |$x| { $x.length }",
            "['a', 'cc', 'bbb']",
        ),
        (
            "stdlib::sort_by({a=>2,b=>1}) |$k, $v| { $v }",
            "{'b' => 1, 'a' => 2}",
        ),
        ("stdlib::sort_by('cab') |$x| { $x }", "'abc'"),
        ("stdlib::has_function('stdlib::to_yaml')", "true"),
        ("stdlib::has_function('nothing')", "false"),
        ("parsehocon('a.b = 1')", "{'a' => {'b' => 1}}"),
        ("stdlib::validate_domain_name('a.b', 'c.')", "undef"),
    ] {
        assert_eq!(value(program), wanted, "{program}");
    }
}

#[test]
fn what_is_wrong_is_said_in_stdlibs_words() {
    for (program, wanted) in [
        (
            "pick('')",
            "pick(): must receive at least one non empty value",
        ),
        ("str2bool('x')", "str2bool(): Unknown type of boolean given"),
        ("concat(1, 2)", "concat(): Requires array to work with"),
        (
            "convert_base(1)",
            "convert_base(): Wrong number of arguments given (1 for 2)",
        ),
        (
            "has_key([], 'a')",
            "has_key(): expects the first argument to be a hash, got [] which is of type Array",
        ),
        (
            "stdlib::extname(1)",
            "'stdlib::extname' parameter 'filename' expects a String value, got Integer",
        ),
        (
            "validate_legacy(Integer, 'validate_integer', 'x')",
            "validate_legacy(validate_integer) expects an Integer value, got String",
        ),
    ] {
        assert_eq!(error(program), wanted, "{program}");
    }
    assert!(error("stdlib::sort_by([1,'a']) |$x| { $x }").contains("comparison of"));
    assert!(error("stdlib::validate_email_address('x')").contains("expects a match for"));
}

#[test]
fn both_names_of_a_function_are_one() {
    for (name, arguments) in [
        ("to_json", "{a=>[1,undef]}"),
        ("to_json_pretty", "{a=>[1,{}]}"),
        ("to_yaml", "{a=>[1,{b=>'yes'}]}"),
        ("to_toml", "{a=>{b=>1}}"),
        ("to_ruby", "{a=>undef}"),
        ("to_python", "{a=>true}"),
        ("merge", "{a=>1},{b=>2}"),
        ("shell_escape", "'a b'"),
        ("batch_escape", "'a\"b'"),
        ("powershell_escape", "'a b'"),
        ("seeded_rand", "100, 'x'"),
        ("seeded_rand_string", "10, 'x'"),
        ("fqdn_rand_string", "10, 'ab', 'x'"),
        ("fqdn_rotate", "['a','b','c'], 'x'"),
        ("type_of", "[1,'a']"),
        ("parsehocon", "'a = 1'"),
    ] {
        let plain = value(&format!("{name}({arguments})"));
        assert_eq!(
            value(&format!("stdlib::{name}({arguments})")),
            plain,
            "{name}"
        );
    }
}

#[test]
fn what_is_written_from_secrets_is_secret() {
    assert_eq!(
        value("stdlib::to_yaml({a=>Sensitive('x')}) =~ Sensitive"),
        "true"
    );
    assert_eq!(
        value("stdlib::to_json([Sensitive('x')]).unwrap"),
        "'[\"x\"]'"
    );
    assert_eq!(
        value("to_toml({a=>Sensitive('x')}).unwrap"),
        "\"a = \\\"x\\\"\\n\""
    );
    assert_eq!(value("to_json(['x'])"), "'[\"x\"]'");
    assert_eq!(
        value("stdlib::rewrap_sensitive_data({a=>[Sensitive(1)]}) |$it| { $it['a'] }.unwrap"),
        "[1]"
    );
}
