//! Runs the `openssl` program: an independent check of Tutti's files, and a source of files as
//! other tools write them.

use std::path::Path;
use std::process::{Command, Stdio};

/// Output of a program, and true if it succeeded.
pub(crate) struct Ran {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

/// Runs `openssl` in `dir`.
pub(crate) fn try_openssl(dir: &Path, args: &[&str]) -> Ran {
    let output = Command::new("openssl")
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
        .expect("these tests need the program openssl (apt-get install openssl)");
    let text = [output.stdout, output.stderr].concat();
    Ran {
        ok: output.status.success(),
        text: String::from_utf8_lossy(&text).into_owned(),
    }
}

/// Runs `openssl` in `dir` and panics unless it succeeds.
pub(crate) fn openssl(dir: &Path, args: &[&str]) -> String {
    let ran = try_openssl(dir, args);
    assert!(ran.ok, "openssl {args:?}\n{}", ran.text);
    ran.text
}

/// Creates a CA as puppetserver does: RSA with a PKCS#1 key, SHA-1 subject key identifier, an empty
/// list, in `dir` as ca_crt.pem, ca_key.pem, ca_crl.pem.
pub(crate) fn puppetserver_like_ca(dir: &Path) {
    openssl(
        dir,
        &["genrsa", "-traditional", "-out", "ca_key.pem", "2048"],
    );
    std::fs::write(dir.join("ca.cnf"), CA_CONFIG).unwrap();
    openssl(
        dir,
        &[
            "req",
            "-x509",
            "-new",
            "-key",
            "ca_key.pem",
            "-out",
            "ca_crt.pem",
            "-days",
            "100",
            "-config",
            "ca.cnf",
            "-extensions",
            "v3_ca",
            "-set_serial",
            "1",
        ],
    );
    std::fs::write(dir.join("index.txt"), "").unwrap();
    std::fs::write(dir.join("crlnumber"), "05\n").unwrap();
    openssl(
        dir,
        &["ca", "-config", "ca.cnf", "-gencrl", "-out", "ca_crl.pem"],
    );
}

const CA_CONFIG: &str = r"
[req]
distinguished_name = dn
prompt = no
[dn]
CN = Puppet CA: puppet.example.com
[v3_ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid, issuer
nsComment = Puppet Server Internal Certificate
[ca]
default_ca = it
[it]
database = index.txt
crlnumber = crlnumber
certificate = ca_crt.pem
private_key = ca_key.pem
default_md = sha256
default_crl_days = 100
default_days = 100
policy = any
serial = serial
new_certs_dir = .
crl_extensions = crl_ext
[crl_ext]
authorityKeyIdentifier = keyid
[any]
commonName = supplied
";
