//! Properties that hold for every input.

use pki::csr::CertificateRequest;
use proptest::prelude::*;

proptest! {
    #[test]
    fn arbitrary_bytes_are_never_a_certificate_or_request(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
    ) {
        prop_assert!(pki::certname_of(&bytes).is_err());
        prop_assert!(CertificateRequest::from_pem(&bytes).is_err());
        let wrapped = pem::encode(&pem::Pem::new("CERTIFICATE REQUEST", bytes));
        prop_assert!(CertificateRequest::from_pem(wrapped.as_bytes()).is_err());
    }

    #[test]
    fn a_changed_request_is_refused_or_says_the_same(at: prop::sample::Index, to: u8) {
        static PEM: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| {
            let made = pki::csr::generate("web1", pki::KeyType::EcP256).unwrap();
            pem::parse(made.request_pem).unwrap().into_contents()
        });
        let mut der = PEM.clone();
        let at = at.index(der.len());
        prop_assume!(der[at] != to);
        der[at] = to;
        let pem = pem::encode(&pem::Pem::new("CERTIFICATE REQUEST", der));
        // Only bytes that the signature does not cover can change without an error.
        if let Ok(request) = CertificateRequest::from_pem(pem.as_bytes()) {
            prop_assert_eq!(request.certname(), "web1", "byte {}", at);
            prop_assert!(request.alt_names().is_empty() && request.extensions().is_empty());
        }
    }
}
