//! The functions and their forms.

use crate::world::World;

const CONFIG: &str = "version: 5
hierarchy:
  - {name: one, path: one.yaml}
  - {name: two, path: two.yaml}
";

fn world() -> World {
    World::of(&[
        ("hiera.yaml", CONFIG),
        (
            "data/one.yaml",
            "a: 1\nlist: [1, 2]\nhash: {x: 1}\nby: \"%{where}\"\nfact: \"%{facts.os.family}\"\n\
             port: '080'\nloop: \"%{lookup('loop')}\"\nsecret: s3cret\nbad: x\nnot_a_type: 1\n\
             lookup_options:\n  '^po': {convert_to: [Integer, 10]}\n  secret: {convert_to: Sensitive}\n  \
             bad: {convert_to: Integer}\n  not_a_type: {convert_to: 'Integer['}\n",
        ),
        ("data/two.yaml", "list: [2, 3]\nhash: {y: 2}\nb: two\n"),
        ("modules/m/hiera.yaml", "version: 5\n"),
        ("modules/m/data/common.yaml", "m::x: of m\n"),
        (
            "functions/asks.pp",
            "function asks($key) { $where = 'there' lookup($key) }",
        ),
    ])
}

#[test]
fn all_forms() {
    let world = world();
    for (program, expected) in [
        ("lookup('a')", "1"),
        ("lookup('a', Integer)", "1"),
        ("lookup('list', Array, 'unique')", "[1, 2, 3]"),
        (
            "lookup('list', Array, {strategy => deep, sort_merged_arrays => true})",
            "[1, 2, 3]",
        ),
        ("lookup('list', {merge => 'unique'})", "[1, 2, 3]"),
        ("lookup('hash', Hash, 'hash')", "{'y' => 2, 'x' => 1}"),
        ("lookup('no', undef, undef, 'default')", "'default'"),
        ("lookup('no', undef, undef, undef)", "undef"),
        ("lookup(['no', 'b'])", "'two'"),
        ("lookup('no') |$name| { \"for ${name}\" }", "'for no'"),
        ("lookup(['no', 'nor']) |$name| { $name }", "['no', 'nor']"),
        ("lookup({name => 'no', default_value => 7})", "7"),
        ("lookup({name => 'no', default_value => 7}) |$n| { 8 }", "8"),
        ("lookup('no', {default_values_hash => {no => 5}})", "5"),
        (
            "lookup('a', {override => {a => 'o'}, value_type => String})",
            "'o'",
        ),
        ("lookup('m::x')", "'of m'"),
        ("lookup('hash.x')", "1"),
        ("lookup('port')", "80"),
        ("lookup('secret').unwrap", "'s3cret'"),
        ("type(lookup('secret'))", "Sensitive[String]"),
    ] {
        assert_eq!(world.value(program), expected, "{program}");
    }
}

#[test]
fn variables_are_those_of_the_code_that_looks_up() {
    let world = world();
    assert_eq!(world.value("$where = 'here' lookup('by')"), "'here'");
    assert_eq!(world.value("$where = 'here' asks('by')"), "'there'");
    assert_eq!(
        world.value("['a', 'b'].map |$where| { lookup('by') }"),
        "['a', 'b']"
    );
    assert_eq!(world.value("lookup('fact')"), "'Debian'");
    assert_eq!(world.error("lookup('by')"), "Undefined variable 'where'; ");
}

#[test]
fn mistakes_are_told_in_puppets_words() {
    let world = world();
    for (program, expected) in [
        (
            "lookup('no')",
            "Function lookup() did not find a value for the name 'no'",
        ),
        (
            "lookup(['no', 'nor'])",
            "Function lookup() did not find a value for any of the names ['no', 'nor']",
        ),
        (
            "lookup('a', String)",
            "Found value has wrong type, expects a String value, got Integer",
        ),
        (
            "lookup('no', Integer) |$x| { 'text' }",
            "Value returned from default block has wrong type, expects an Integer value, got String",
        ),
        (
            "lookup('a', Integer, 'nope')",
            "Unknown merge strategy: 'nope'",
        ),
        (
            "lookup('loop')",
            "Lookup of key 'loop' failed: Recursive lookup detected in [loop]",
        ),
        (
            "lookup('bad')",
            "The convert_to lookup_option for key 'bad' raised error: 'new' The string 'x' cannot be \
             converted to Integer",
        ),
    ] {
        assert_eq!(world.error(program), expected, "{program}");
    }
    let fault = world.error("lookup('not_a_type')");
    let expected = "Invalid data type in lookup_options for key 'not_a_type' could not parse \
                    'Integer[', error: '";
    assert!(fault.starts_with(expected), "{fault}");
    let fault = world.error("lookup(1)");
    let expected = "The function 'lookup' was called with arguments it does not accept.";
    assert!(fault.starts_with(expected), "{fault}");
}

#[test]
fn the_functions_of_hiera_3() {
    let world = world();
    for (program, expected) in [
        ("hiera('list')", "[1, 2]"),
        ("hiera_array('list')", "[1, 2, 3]"),
        ("hiera_hash('hash')", "{'y' => 2, 'x' => 1}"),
        ("hiera('no', 'default')", "'default'"),
        ("hiera(['no', 'default'])", "'default'"),
        ("hiera('no') |$key| { \"for ${key}\" }", "'for no'"),
    ] {
        assert_eq!(world.value(program), expected, "{program}");
    }
    assert_eq!(
        world.error("hiera('no')"),
        "Function lookup() did not find a value for the name 'no'"
    );
    assert_eq!(
        world.error("hiera_include('classes')"),
        "The catalog operation 'hiera_include' is only available when compiling a catalog"
    );
    let logged = world.logged.borrow();
    let warned = logged
        .iter()
        .filter(|it| it.contains("'hiera' is deprecated"));
    assert_eq!(warned.count(), 1, "{logged:?}");
}

#[test]
fn they_see_the_global_layer_only_where_the_environment_has_no_configuration() {
    let world = World::of(&[
        ("global/hiera.yaml", "version: 5\n"),
        ("global/data/common.yaml", "g: global\n"),
        ("modules/m/hiera.yaml", "version: 5\n"),
        ("modules/m/data/common.yaml", "m::x: of m\n"),
    ]);
    assert_eq!(world.value("hiera('g')"), "'global'");
    assert_eq!(world.value("lookup('m::x')"), "'of m'");
    assert_eq!(world.value("hiera('m::x', 'default')"), "'default'");
}
