//! Values of hiera-eyaml. The key protects nothing; it is the one of the tests of `eyaml`.

use crate::world::World;

const KEY: &str = include_str!("../../../eyaml/tests/it/keys/one.pem");
const OTHER: &str = include_str!("../../../eyaml/tests/it/keys/two.pem");
const VALUE: &str = include_str!("../../../eyaml/tests/it/values/one.txt");

fn world(options: &str, key: &str) -> World {
    let config = format!(
        "version: 5\nhierarchy:\n  - name: e\n    lookup_key: eyaml_lookup_key\n    \
         path: e.eyaml\n    options: {{{options}}}\n"
    );
    let data = format!(
        "plain: p\nsecret: '{VALUE}'\nnested: {{list: ['{VALUE}']}}\n\
         lookup_options: {{secret: {{convert_to: Sensitive}}}}\n"
    );
    World::of(&[
        ("hiera.yaml", &config),
        ("data/e.eyaml", &data),
        ("keys/private.pem", key),
    ])
}

#[test]
fn values_are_decrypted_with_the_key_of_the_entry() {
    let world = world("pkcs7_private_key: /env/keys/private.pem", KEY);
    assert_eq!(world.value("lookup('plain')"), "'p'");
    assert_eq!(
        world.value("lookup('secret').unwrap"),
        "'the secret of one: é'"
    );
    assert_eq!(
        world.value("\"${lookup('secret')}\""),
        "'Sensitive [value redacted]'"
    );
    assert_eq!(
        world.value("lookup('nested.list.0')"),
        "'the secret of one: é'"
    );
}

#[test]
fn keys_that_do_not_fit_say_so_and_nothing_else() {
    let private = "pkcs7_private_key: /env/keys/private.pem";
    for (options, key, expected) in [
        (
            private,
            OTHER,
            "Error was the value was encrypted for another key",
        ),
        (
            private,
            "no key at all",
            "Error was the private key /env/keys/private.pem cannot be used: it is no PEM of an RSA \
             private key",
        ),
        (
            "pkcs7_private_key: /env/nowhere",
            KEY,
            "Error was cannot read /env/nowhere",
        ),
        (
            "pkcs7_private_key_env_var: X",
            KEY,
            "Error was the option pkcs7_private_key_env_var is not supported: name a file with \
             pkcs7_private_key",
        ),
    ] {
        let fault = world(options, key).error("lookup('secret')");
        assert!(fault.ends_with(expected), "{fault}");
        assert!(
            fault.contains("when looking up secret in /env/data/e.eyaml"),
            "{fault}"
        );
        assert!(!fault.contains("no key at all"), "{fault}");
    }
}
