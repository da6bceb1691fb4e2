//! Names that grant rights: no certificate of such a name is issued to the first requester.

use std::process::{Output, Stdio};

use pki::{CertificateAuthority, KeyType};
use testkit::installation::Installation;

fn tutti(installation: &Installation, arguments: &[&str]) -> Output {
    let mut command = std::process::Command::new(installation.tutti());
    let config = installation.root().join("tutti.toml");
    command.args(arguments).arg("--config").arg(config);
    command.stdin(Stdio::null()).output().unwrap()
}

fn words(output: &Output) -> String {
    let texts = [&output.stdout, &output.stderr];
    texts.map(|text| String::from_utf8_lossy(text)).concat()
}

#[test]
fn a_pattern_of_autosign_that_overlaps_a_name_with_rights_stops_the_start() {
    for (sections, name, key) in [
        ("[ca]\nautosign = ['localhost']", "localhost", "certname"),
        (
            "[ca]\nautosign = ['PUPPET']",
            "puppet",
            "a usual name of servers",
        ),
        (
            "[ca]\nautosign = ['*.example']\n[access]\ncertificate_allowlist = ['ops.example']",
            "ops.example",
            "access.certificate_allowlist",
        ),
        (
            "[ca]\nautosign = ['a.compilers.example']\n[code]\nfollowers = ['*.compilers.example']",
            "*.compilers.example",
            "code.followers",
        ),
        (
            "[ca]\nautosign = ['*.test']",
            "broker.test",
            "broker.remote_brokers",
        ),
    ] {
        // The installation's own file has a section [code]; a table can be defined only once.
        let installation = crate::installation("");
        let config = installation.root().join("tutti.toml");
        let text = std::fs::read_to_string(&config).unwrap();
        let text = match sections.contains("[code]") {
            true => text.replace("[code]\ncodedir = \"code\"\n", ""),
            false => text,
        };
        std::fs::write(&config, format!("{text}\n{sections}\n")).unwrap();
        let refused = tutti(&installation, &["server"]);
        let words = words(&refused);
        assert_eq!(refused.status.code(), Some(64), "{words}");
        assert!(words.contains("ca.autosign"), "{words}");
        assert!(words.contains(&format!("{name} ({key})")), "{words}");
        assert!(words.contains("name the nodes"), "{words}");
    }
}

#[test]
fn a_name_with_rights_is_signed_by_hand_only_when_that_is_said() {
    let installation = crate::installation("[access]\ncertificate_allowlist = ['ops']\n");
    let ca = CertificateAuthority::open(&installation.ca_dir()).unwrap();
    for name in ["ops", "web1"] {
        let request = pki::csr::generate(name, KeyType::EcP256).unwrap();
        ca.submit(name, request.request_pem.as_bytes()).unwrap();
    }
    let all = tutti(&installation, &["ca", "sign", "--all"]);
    let told = words(&all);
    assert!(!all.status.success(), "{told}");
    assert!(told.contains("signed web1"), "{told}");
    assert!(told.contains("access.certificate_allowlist"), "{told}");
    assert!(
        told.contains("tutti ca sign --allow-privileged-names ops"),
        "{told}"
    );
    assert!(ca.certificate("ops").unwrap().is_none());
    let meant = ["ca", "sign", "--allow-privileged-names", "ops"];
    let meant = tutti(&installation, &meant);
    assert!(meant.status.success(), "{}", words(&meant));
    assert!(ca.certificate("ops").unwrap().is_some());
}
