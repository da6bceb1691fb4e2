//! Functions in Puppet as backends, and the methods of their context.

use crate::world::World;

fn world(hierarchy: &str, function: &str) -> World {
    World::of(&[
        (
            "hiera.yaml",
            &format!("version: 5\nhierarchy:\n{hierarchy}"),
        ),
        (
            "data/common.yaml",
            "a: from a file\nwhere: \"%{lookup('asked')}\"\n",
        ),
        ("data/text.txt", "some text"),
        ("functions/back.pp", function),
    ])
}

#[test]
fn data_hash_is_asked_once() {
    let world = world(
        "  - {name: x, data_hash: back, options: {o: 1}}\n",
        "function back(Hash $options, Puppet::LookupContext $context) {
           notice('asked')
           $data = { 'options' => $options, 'filled' => '%{facts.os.family}' }
           $data
         }",
    );
    let both = world.value("[lookup('options'), lookup('filled')]");
    assert_eq!(both, "[{'o' => 1}, 'Debian']");
    assert_eq!(world.logged.borrow().len(), 1);
    let fault = world.error("lookup('no')");
    assert_eq!(
        fault,
        "Function lookup() did not find a value for the name 'no'"
    );
}

#[test]
fn lookup_key_may_find_nothing() {
    let hierarchy = "  - {name: x, lookup_key: back, uris: ['x://one', 'x://two']}\n  \
                     - {name: y, path: common.yaml}\n";
    let function = "function back($key, $options, $context) {
           if $key == 'known' and $options['uri'] == 'x://two' { 'v' } else { $context.not_found }
         }";
    let world = world(hierarchy, function);
    assert_eq!(world.value("lookup('known')"), "'v'");
    assert_eq!(world.value("lookup('a')"), "'from a file'");
}

#[test]
fn data_dig_gets_the_key_taken_apart() {
    let world = world(
        "  - {name: x, data_dig: back}\n",
        "function back(Array $key, Hash $options, $context) {
           if $key == ['lookup_options'] { $context.not_found }
           $key
         }",
    );
    assert_eq!(world.value("lookup('a.b.0')"), "['a', 'b', 0]");
}

#[test]
fn a_backend_may_look_up() {
    let hierarchy = "  - {name: y, path: common.yaml}\n  - {name: x, lookup_key: back}\n";
    let function = "function back($key, $options, $context) {
           case $key {
             'asked': { lookup('a') }
             'filled': { $context.interpolate(\"<%{literal('%')}{lookup('a')}>\") }
             'again': { lookup('again') }
             'outer': { $context.interpolate('%{v}') }
             default: { $context.not_found() }
           }
         }";
    let world = world(hierarchy, &function.replace("<%{literal('%')}", "<%"));
    assert_eq!(world.value("lookup('asked')"), "'from a file'");
    assert_eq!(world.value("lookup('where')"), "'from a file'");
    assert_eq!(world.value("lookup('filled')"), "'<from a file>'");
    assert_eq!(world.value("$v = 'mine' lookup('outer')"), "'mine'");
    let fault = world.error("lookup('again')");
    assert!(
        fault.contains("Recursive lookup detected in [again]"),
        "{fault}"
    );
}

#[test]
fn a_context_keeps_values() {
    let world = world(
        "  - {name: x, lookup_key: back}\n",
        "function back($key, $options, $context) {
           if $key == 'lookup_options' { $context.not_found }
           $was = $context.cached_value('n')
           $had = $context.cache_has_key('n')
           $context.cache('n', $key)
           $context.cache_all({'m' => 1})
           $pairs = $context.cached_entries
           $context.cached_entries |$k, $v| { notice(\"${k}=${v}\") }
           [$was, $had, $pairs, $context.module_name, $context.environment_name]
         }",
    );
    assert_eq!(
        world.value("[lookup('a'), lookup('b')[0], lookup('b')[1]]"),
        "[[undef, false, [['n', 'a'], ['m', 1]], undef, 'production'], 'a', true]"
    );
    assert_eq!(*world.logged.borrow(), ["n=a", "m=1", "n=b", "m=1"]);
}

#[test]
fn a_context_reads_files_once() {
    let world = world(
        "  - {name: x, lookup_key: back}\n",
        "function back($key, $options, $context) {
           if $key == 'lookup_options' { $context.not_found }
           $context.cached_file_data('/env/data/text.txt') |$text| { notice($text) $text.upcase }
         }",
    );
    assert_eq!(
        world.value("[lookup('a'), lookup('b')]"),
        "['SOME TEXT', 'SOME TEXT']"
    );
    assert_eq!(world.logged.borrow().len(), 1);
}

#[test]
fn what_goes_wrong_in_a_backend() {
    let lookup_key = "  - {name: x, lookup_key: back}\n";
    let failing = world(
        lookup_key,
        "function back($key, $o, $c) { fail('out of order') }",
    );
    let fault = failing.error("lookup('a')");
    assert!(fault.contains("out of order"), "{fault}");
    let fault = world("  - {name: x, lookup_key: nobody}\n", "").error("lookup('a')");
    assert_eq!(
        fault,
        "Unable to find 'lookup_key' function named 'nobody' (file: /env/hiera.yaml)"
    );
    let list = world(
        "  - {name: x, data_hash: back}\n",
        "function back($o, $c) { [] }",
    );
    assert_eq!(
        list.error("lookup('a')"),
        "Value returned from data_hash function 'back' has wrong type, expects a Hash value, got Array"
    );
    let keys = world(
        lookup_key,
        "function back($key, $o, $c) {
           if $key == 'a' { {'h' => {[1] => 2}}['h'] } else { $c.not_found } }",
    );
    assert_eq!(
        keys.error("lookup('a')"),
        "Value for key 'a', returned from lookup_key function 'back' has wrong type, expects \
         Puppet::LookupValue, got Hash[Array[Integer[1, 1], 1, 1], \
         Integer[2, 2], 1, 1]"
    );
}

#[test]
fn an_interruption_passes_through() {
    let lookup_key = "  - {name: x, lookup_key: back}\n";
    let world = world(lookup_key, "function back($key, $o, $c) { interrupt() }");
    assert!(world.is_interrupted("lookup('a')"));
    assert!(world.is_interrupted("lookup('a', undef, undef, 'default')"));
}

#[test]
fn another_stack_is_not_within_a_lookup() {
    let world = world(
        "  - {name: x, lookup_key: back}\n",
        "function back($key, $options, $context) {
           if $key == 'lookup_options' { $context.not_found }
           if $context.cache_has_key('asked') { 'the second' } else {
             $context.cache('asked', true)
             elsewhere('lookup(\"a\")')
           }
         }",
    );
    assert_eq!(world.value("lookup('a')"), "'the second'");
}
