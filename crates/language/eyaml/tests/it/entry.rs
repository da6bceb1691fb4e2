//! Invariant for fuzzing and property tests with arbitrary bytes (a value, an envelope, a key): no
//! panic.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use eyaml::EyamlKeys;

const ONE: &str = include_str!("keys/one.pem");

pub(crate) fn value(data: &[u8]) {
    let mut keys = EyamlKeys::default();
    keys.add_pem(ONE).expect("the key of the tests");
    let text = String::from_utf8_lossy(data);
    let _ = keys.decrypt(&text);
    let _ = keys.decrypt(&format!("ENC[PKCS7,{}]", STANDARD.encode(data)));
    let _ = EyamlKeys::default().add_pem(&text);
    let pem = STANDARD.encode(data);
    for kind in ["PRIVATE KEY", "RSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY"] {
        let pem = format!("-----BEGIN {kind}-----\n{pem}\n-----END {kind}-----\n");
        let _ = EyamlKeys::default().add_pem(&pem);
    }
}
