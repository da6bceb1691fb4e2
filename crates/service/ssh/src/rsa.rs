//! RSA keys for logins, signed with by aws-lc-rs. Main type: [`RsaKey`].
//!
//! Invariant: signatures are made in constant time. For this reason russh's own RSA is off
//! (RUSTSEC-2023-0071) and its interface for external signers is used. SHA-1 signatures (`ssh-rsa`)
//! are never made.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA512, RsaKeyPair};
use num_bigint::BigUint;
use russh::keys::agent::AgentIdentity;
use russh::keys::ssh_key::private::RsaKeypair;
use russh::keys::ssh_key::public::{KeyData, RsaPublicKey};
use russh::keys::ssh_key::{Mpint, PublicKey};
use russh::keys::{HashAlg, PrivateKey};
use zeroize::Zeroizing;

/// An RSA key for logins, of 2048 to 8192 bits.
pub(crate) struct RsaKey {
    pair: RsaKeyPair,
    public: PublicKey,
}

/// Reason for an unusable key, without a byte of it.
pub(crate) const UNUSABLE: &str =
    "is an RSA key that cannot be used: it must have 2048 to 8192 bits and fit together";

/// PEM labels of RSA keys outside of OpenSSH's own format.
const PKCS1: &str = "RSA PRIVATE KEY";
const PKCS8: &str = "PRIVATE KEY";

/// Cause for which no signature was made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignError {
    /// The session ended.
    #[error("the connection ended while the key was shown")]
    Send(#[from] russh::SendError),
    /// Signing failed; not seen yet, since the key is checked when it is parsed.
    #[error("the RSA key could not sign")]
    Sign,
}

// === impl RsaKey ===

impl RsaKey {
    /// Parses PKCS#1 and PKCS#8; `None` for other formats and kinds of keys.
    pub(crate) fn from_pem(text: &str) -> Option<Result<Self, &'static str>> {
        let block = pem::parse(text).ok()?;
        let tag = block.tag().to_owned();
        let encrypted = block.headers().iter().next().is_some();
        let der = Zeroizing::new(block.into_contents());
        let pair = match tag.as_str() {
            PKCS1 if !encrypted => RsaKeyPair::from_der(&der),
            // PKCS#8 is also used for other kinds of keys.
            PKCS8 if is_pkcs8_rsa(&der) => RsaKeyPair::from_pkcs8(&der),
            _ => return None,
        };
        Some(pair.map_err(|_| UNUSABLE).and_then(Self::new))
    }

    /// Converts a key in OpenSSH's format; `None` if it is not an RSA key.
    pub(crate) fn from_openssh(key: &PrivateKey) -> Option<Result<Self, &'static str>> {
        let pair = key.key_data().rsa()?;
        let der = pkcs1(pair).ok_or(UNUSABLE);
        let pair = der.and_then(|der| RsaKeyPair::from_der(&der).map_err(|_| UNUSABLE));
        Some(pair.and_then(Self::new))
    }

    fn new(pair: RsaKeyPair) -> Result<Self, &'static str> {
        let parts = yasna::parse_der(pair.public_key().as_ref(), |reader| {
            reader.read_sequence(|reader| {
                let modulus = reader.next().read_bigint_bytes()?.0;
                Ok((modulus, reader.next().read_bigint_bytes()?.0))
            })
        });
        let (modulus, exponent) = parts.map_err(|_| UNUSABLE)?;
        let [modulus, exponent] =
            [modulus, exponent].map(|bytes| Mpint::from_positive_bytes(&bytes));
        let public = RsaPublicKey::new(exponent, modulus).map_err(|_| UNUSABLE)?;
        Ok(Self {
            pair,
            public: KeyData::Rsa(public).into(),
        })
    }

    /// The public key, which is offered to the host.
    pub(crate) fn public(&self) -> PublicKey {
        self.public.clone()
    }

    /// Signs in the format of RFC 8332: the name of the algorithm, then the signature.
    fn sign(&self, hash: Option<HashAlg>, data: &[u8]) -> Result<Vec<u8>, SignError> {
        let (name, padding) = match hash {
            Some(HashAlg::Sha256) => ("rsa-sha2-256", &RSA_PKCS1_SHA256),
            _ => ("rsa-sha2-512", &RSA_PKCS1_SHA512),
        };
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair
            .sign(padding, &SystemRandom::new(), data, &mut signature)
            .map_err(|_| SignError::Sign)?;
        let mut blob = string(name.as_bytes());
        blob.extend(string(&signature));
        Ok(string(&blob))
    }
}

impl russh::Signer for &RsaKey {
    type Error = SignError;

    async fn auth_sign(
        &mut self,
        _: &AgentIdentity,
        hash: Option<HashAlg>,
        mut to_sign: Vec<u8>,
    ) -> Result<Vec<u8>, Self::Error> {
        let signature = self.sign(hash, &to_sign)?;
        to_sign.extend(signature);
        Ok(to_sign)
    }
}

/// Encodes SSH's `string`: the length in four bytes, then the bytes.
fn string(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [length.to_be_bytes().as_slice(), bytes].concat()
}

fn is_pkcs8_rsa(der: &[u8]) -> bool {
    /// rsaEncryption, RFC 8017.
    const RSA_ENCRYPTION: &[u64] = &[1, 2, 840, 113_549, 1, 1, 1];
    let algorithm = yasna::parse_der(der, |reader| {
        reader.read_sequence(|reader| {
            reader.next().read_u8()?;
            let algorithm = reader.next().read_sequence(|reader| {
                let oid = reader.next().read_oid()?;
                reader.read_optional(|reader| reader.read_null())?;
                Ok(oid)
            })?;
            reader.next().read_bytes()?;
            Ok(algorithm)
        })
    });
    algorithm.is_ok_and(|oid| oid.components().as_slice() == RSA_ENCRYPTION)
}

/// Encodes `RSAPrivateKey` of RFC 8017. OpenSSH's format leaves out two exponents, which are
/// computed here once a connection, independent of data from a host.
fn pkcs1(pair: &RsaKeypair) -> Option<Zeroizing<Vec<u8>>> {
    let (public, private) = (pair.public(), pair.private());
    let number = |mpint: &Mpint| mpint.as_positive_bytes().map(BigUint::from_bytes_be);
    let (d, p, q) = (
        number(private.d())?,
        number(private.p())?,
        number(private.q())?,
    );
    let one = BigUint::from(1_u8);
    if p <= one || q <= one {
        return None;
    }
    let exponent = |prime: &BigUint| Zeroizing::new((&d % (prime - &one)).to_bytes_be());
    let (dp, dq) = (exponent(&p), exponent(&q));
    let der = yasna::construct_der(|writer| {
        writer.write_sequence(|writer| {
            writer.next().write_u8(0);
            for mpint in [
                public.n(),
                public.e(),
                private.d(),
                private.p(),
                private.q(),
            ] {
                let bytes = mpint.as_positive_bytes().unwrap_or_default();
                writer.next().write_bigint_bytes(bytes, true);
            }
            writer.next().write_bigint_bytes(&dp, true);
            writer.next().write_bigint_bytes(&dq, true);
            let coefficient = private.iqmp().as_positive_bytes().unwrap_or_default();
            writer.next().write_bigint_bytes(coefficient, true);
        });
    });
    Some(Zeroizing::new(der))
}
