//! Which clients a server accepts: certificates that were verified before, CAs of one name, revoked CAs.

use std::sync::Arc;
use std::time::Duration;

use pki::{ClientAuth, ClientTls, ServerTls, TlsFiles};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, CrlDistributionPoint,
    CrlIssuingDistributionPoint, CrlScope, DnType, IsCa, Issuer, KeyIdMethod, KeyPair,
    KeyUsagePurpose, RevokedCertParams, SerialNumber,
};
use rustls::ClientConfig;
use rustls::time_provider::TimeProvider;
use rustls_pki_types::UnixTime;

use crate::tls::{Site, handshake, handshake_with};

/// A clock that stands still, in seconds since 1970.
#[derive(Debug)]
struct StoppedClock(u64);

impl TimeProvider for StoppedClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(Duration::from_secs(self.0)))
    }
}

#[test]
fn a_client_that_was_verified_before_is_refused_as_soon_as_it_is_not_valid() {
    let site = Site::new();
    let server = site.server(ClientAuth::Required);
    let client = ClientTls::load(&site.files("node1")).unwrap();
    let at = |seconds| {
        let mut config = (*server.current()).clone();
        config.time_provider = Arc::new(StoppedClock(seconds));
        handshake_with(Arc::new(config), client.clone(), "server.test")
    };
    let now = UnixTime::now().as_secs();
    for _ in 0..2 {
        assert!(at(now).unwrap().is_some());
    }
    let days = |days: u64| days * 24 * 3600;
    for (seconds, reason) in [
        (now + days(6 * 365), "expired"),
        (now - days(2), "not valid yet"),
    ] {
        let refused = at(seconds).unwrap_err().to_string();
        assert!(refused.contains(reason), "{refused}");
    }
    assert!(at(now).unwrap().is_some());

    site.ca.revoke("node1").unwrap();
    site.update_crl();
    server.reload().unwrap();
    handshake(&server, client.clone(), "server.test").unwrap_err();
}

#[test]
fn a_client_that_was_verified_before_is_refused_when_its_ca_is_not_trusted_any_more() {
    let (site, other) = (Site::new(), Site::new());
    let server = site.server(ClientAuth::Required);
    let client = ClientTls::load(&site.files("node1")).unwrap();
    for _ in 0..2 {
        handshake(&server, client.clone(), "server.test").unwrap();
    }
    site.write("ca.pem", &other.ca.ca_bundle().unwrap());
    site.write("crl.pem", &other.ca.crl().unwrap().0);
    server.reload().unwrap();
    handshake(&server, client, "server.test").unwrap_err();
}

/// A client of another site, which trusts the CA of the first one.
fn client_of(other: &Site, certname: &str, site: &Site) -> Arc<ClientConfig> {
    let files = TlsFiles {
        ca: site.path("ca.pem"),
        crl: None,
        ..other.files(certname)
    };
    ClientTls::load(&files).unwrap()
}

/// A server that trusts the CAs of both sites, which have the same name, with these lists.
fn server_of_both(site: &Site, other: &Site, lists: &str) -> ServerTls {
    let bundle = site.ca.ca_bundle().unwrap() + &other.ca.ca_bundle().unwrap();
    site.write("both.pem", &bundle);
    site.write("lists.pem", lists);
    let files = TlsFiles {
        ca: site.path("both.pem"),
        crl: Some(site.path("lists.pem")),
        cert: site.path("server.test.crt"),
        key: site.path("server.test.key"),
    };
    ServerTls::load(files, ClientAuth::Required).unwrap()
}

/// The certificate of a site's node (DER).
fn certificate(site: &Site, certname: &str) -> Vec<u8> {
    let pem = std::fs::read_to_string(site.path(&format!("{certname}.crt"))).unwrap();
    pem::parse(pem).unwrap().into_contents()
}

#[test]
fn a_list_says_nothing_about_the_clients_of_another_ca_of_the_same_name() {
    let site = Site::new();
    let other = Site::new();
    site.files("server.test");
    let revoked = ClientTls::load(&site.files("node1")).unwrap();
    let kept = ClientTls::load(&site.files("node3")).unwrap();
    // certificates of both sites have the same serial numbers
    let others_kept = ["node0", "node2", "node4"].map(|name| client_of(&other, name, &site));
    let others_revoked = client_of(&other, "gone", &site);
    site.ca.revoke("node1").unwrap();
    other.ca.revoke("gone").unwrap();
    let (first, second) = (site.ca.crl().unwrap().0, other.ca.crl().unwrap().0);
    for lists in [first.clone() + &second, second.clone() + &first] {
        let server = server_of_both(&site, &other, &lists);
        let accepts = |client: &Arc<ClientConfig>| {
            handshake(&server, Arc::clone(client), "server.test").is_ok()
        };
        assert!(accepts(&kept));
        assert!(others_kept.iter().all(accepts));
        assert!(!accepts(&revoked));
        assert!(!accepts(&others_revoked));
        let revocations = server.revocations();
        assert_eq!(revocations.len(), 2);
        for (site, name, is_revoked) in [
            (&site, "node1", true),
            (&site, "node3", false),
            (&other, "node0", false),
            (&other, "node2", false),
            (&other, "gone", true),
        ] {
            assert_eq!(
                revocations.is_revoked(&certificate(site, name)),
                is_revoked,
                "{name}"
            );
        }
    }
    // a CA without a list of its own says nothing about its clients, so they are refused
    let server = server_of_both(&site, &other, &first);
    let of_other = Arc::clone(&others_kept[0]);
    handshake(&server, of_other, "server.test").unwrap_err();
    handshake(&server, kept, "server.test").unwrap();
}

/// A CA whose certificate `above` issued, or else it itself.
fn new_ca(name: &str, serial: u64, above: Option<&TestCa>) -> TestCa {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.serial_number = Some(SerialNumber::from(serial));
    let key = KeyPair::generate().unwrap();
    let certificate = match above {
        Some(above) => params.signed_by(&key, &above.issuer).unwrap(),
        None => params.self_signed(&key).unwrap(),
    };
    TestCa {
        pem: certificate.pem(),
        issuer: Issuer::new(params, key),
    }
}

struct TestCa {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl TestCa {
    /// A revocation list with these serial numbers. One that is `partial` is left to webpki.
    fn list(&self, serials: &[u64], partial: bool) -> String {
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: SerialNumber::from(*serial),
            revocation_time: rcgen::date_time_ymd(2026, 1, 1),
            reason_code: None,
            invalidity_date: None,
        });
        let list = CertificateRevocationListParams {
            this_update: rcgen::date_time_ymd(2026, 1, 1),
            next_update: rcgen::date_time_ymd(2046, 1, 1),
            crl_number: SerialNumber::from(1),
            issuing_distribution_point: partial.then(|| CrlIssuingDistributionPoint {
                distribution_point: CrlDistributionPoint {
                    uris: vec!["http://ca.test/crl".to_owned()],
                },
                scope: Some(CrlScope::UserCertsOnly),
            }),
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer).unwrap().pem().unwrap()
    }
}

/// Writes the files of a client that presents the CA that issued its certificate too.
fn client_with_its_ca(site: &Site, ca: &TestCa) -> Arc<ClientConfig> {
    let mut params = CertificateParams::new(vec!["node1".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, "node1");
    let key = KeyPair::generate().unwrap();
    let leaf = params.signed_by(&key, &ca.issuer).unwrap();
    site.write("chain.crt", &(leaf.pem() + &ca.pem));
    site.write("chain.key", &key.serialize_pem());
    let files = TlsFiles {
        cert: site.path("chain.crt"),
        key: site.path("chain.key"),
        ca: site.path("ca.pem"),
        crl: None,
    };
    ClientTls::load(&files).unwrap()
}

#[test]
fn a_revoked_ca_is_not_trusted_although_a_client_presents_it() {
    let site = Site::new();
    let policy = new_ca("Policy CA", 1, None);
    let issuing = new_ca("Issuing CA", 7, Some(&policy));
    // because of this one without a list, the lists are about the certificates of clients alone
    let unlisted = new_ca("Unlisted CA", 1, None);
    let client = client_with_its_ca(&site, &issuing);
    site.write(
        "cas.pem",
        &[policy.pem.clone(), issuing.pem.clone(), unlisted.pem].concat(),
    );
    let files = TlsFiles {
        ca: site.path("cas.pem"),
        crl: Some(site.path("lists.pem")),
        ..site.files("server.test")
    };
    for is_partial in [false, true] {
        for (revoked, is_accepted) in [(&[][..], true), (&[7][..], false)] {
            let lists = policy.list(revoked, false) + &issuing.list(&[], is_partial);
            site.write("lists.pem", &lists);
            let server = ServerTls::load(files.clone(), ClientAuth::Required).unwrap();
            let shaken = handshake(&server, Arc::clone(&client), "server.test");
            assert_eq!(shaken.is_ok(), is_accepted, "{is_partial} {shaken:?}");
        }
    }
}
