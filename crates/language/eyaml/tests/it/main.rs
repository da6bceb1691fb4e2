//! Tests of `eyaml`. The values below `values` were encrypted by Ruby's OpenSSL in the format of
//! hiera-eyaml, for the keys below `keys`, which protect nothing.
#![cfg(test)]

mod entry;

use eyaml::{Error, EyamlKeyError, EyamlKeys};
use proptest::prelude::*;

const ONE: &str = include_str!("keys/one.pem");
const TWO: &str = include_str!("keys/two.pem");

fn keys(pems: &[&str]) -> EyamlKeys {
    let mut keys = EyamlKeys::default();
    for pem in pems {
        keys.add_pem(pem).unwrap();
    }
    keys
}

#[test]
fn values_of_hiera_eyaml_are_read() {
    let one = keys(&[ONE]);
    let clear = |text: &str| one.decrypt(text).unwrap();
    assert_eq!(
        clear(include_str!("values/one.txt")),
        "the secret of one: é"
    );
    assert_eq!(clear(include_str!("values/both.txt")), "for both");
    assert_eq!(clear(include_str!("values/empty.txt")), "");
    assert_eq!(clear(include_str!("values/long.txt")), "x".repeat(5000));
    let two = keys(&[TWO]);
    assert_eq!(
        two.decrypt(include_str!("values/both.txt")).unwrap(),
        "for both"
    );
    assert_eq!(
        two.decrypt(include_str!("values/two128.txt")).unwrap(),
        "short key"
    );
    let both = keys(&[ONE, TWO]);
    assert_eq!(
        both.decrypt(include_str!("values/two128.txt")).unwrap(),
        "short key"
    );
}

#[test]
fn a_text_may_hold_several_and_be_folded() {
    let one = keys(&[ONE]);
    let value = include_str!("values/both.txt");
    let text = format!("a {value} b {value}\n");
    assert_eq!(one.decrypt(&text).unwrap(), "a for both b for both");
    let folded: Vec<&str> = value.split_inclusive('A').collect();
    assert_eq!(one.decrypt(&folded.join("\n  ")).unwrap(), "for both");
    let unnamed = value.replace("PKCS7,", "");
    assert_eq!(one.decrypt(&unnamed).unwrap(), "for both");
    assert_eq!(one.decrypt("plain ENC[open").unwrap(), "plain ENC[open");
}

#[test]
fn what_cannot_be_read_says_why() {
    let two = keys(&[TWO]);
    let fault = |text: &str| two.decrypt(text).unwrap_err();
    assert_eq!(fault(include_str!("values/one.txt")), Error::Key);
    assert_eq!(fault(include_str!("values/des.txt")), Error::Envelope);
    assert_eq!(fault("ENC[GPG,abc]"), Error::Encryptor("GPG".into()));
    assert_eq!(fault("ENC[PKCS7,%%]"), Error::Base64);
    assert_eq!(fault("ENC[PKCS7,aGVsbG8=]"), Error::Envelope);
    assert_eq!(
        EyamlKeys::default().decrypt(include_str!("values/one.txt")),
        Err(Error::Key)
    );
}

#[test]
fn keys_that_cannot_be_used() {
    let add = |pem: &str| EyamlKeys::default().add_pem(pem).unwrap_err();
    assert_eq!(add("no key"), EyamlKeyError::Pem);
    let body = "-----BEGIN X-----\naGVsbG8=\n-----END X-----\n";
    assert_eq!(add(body), EyamlKeyError::Pem);
    assert_eq!(
        add(&body.replace('X', "RSA PRIVATE KEY")),
        EyamlKeyError::Unusable
    );
    assert_eq!(
        add(&body.replace('X', "ENCRYPTED PRIVATE KEY")),
        EyamlKeyError::Encrypted
    );
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        entry::value(&bytes);
    }

    #[test]
    fn no_damage_makes_it_panic(at in 10usize..500, with in "[A-Za-z0-9+/]{1,4}") {
        let one = keys(&[ONE]);
        let mut value = include_str!("values/one.txt").to_owned();
        value.replace_range(at..at + with.len(), &with);
        let _ = one.decrypt(&value);
    }
}

/// An envelope with deep nesting in the issuer, or in whatever element is in its place.
#[test]
fn no_nesting_takes_the_stack() {
    use base64::Engine as _;
    let one = keys(&[ONE]);
    let head = |length: usize| {
        let mut head = vec![
            0x30, 0x80, 6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 3, 0xa0, 0x80,
        ];
        head.extend([0x30, 0x80, 2, 1, 0, 0x31, 0x80, 0x30, 0x80, 2, 1, 0]);
        head.truncate(length);
        head
    };
    for (length, nested) in [
        (27, [0x30, 0x80]),
        (0, [0x30, 0x80]),
        (13, [0xa0, 0x80]),
        (27, [0x24, 0x80]),
    ] {
        let mut envelope = head(length);
        envelope.extend(nested.repeat(200_000));
        let data = base64::engine::general_purpose::STANDARD.encode(envelope);
        assert_eq!(
            one.decrypt(&format!("ENC[PKCS7,{data}]")),
            Err(Error::Envelope)
        );
    }
}
