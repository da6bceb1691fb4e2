//! The parts of a CMS envelope (RFC 5652, section 6): [`EyamlEnvelope`].

use yasna::models::ObjectIdentifier;
use yasna::{ASN1Result, BERReader, Tag};

/// The parts that are needed to decrypt an envelope.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EyamlEnvelope {
    /// The AES key, encrypted once for each recipient.
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) key_bytes: usize,
    pub(crate) iv: [u8; 16],
    pub(crate) content: Vec<u8>,
}

/// Maximum number of recipients of one value.
const MAX_RECIPIENTS: usize = 64;

const ENVELOPED_DATA: &[u64] = &[1, 2, 840, 113_549, 1, 7, 3];
const RSA: &[u64] = &[1, 2, 840, 113_549, 1, 1, 1];
/// Object identifiers of AES-CBC, each with its key length in bytes.
const CIPHERS: [(&[u64], usize); 3] = [
    (&[2, 16, 840, 1, 101, 3, 4, 1, 2], 16),
    (&[2, 16, 840, 1, 101, 3, 4, 1, 22], 24),
    (&[2, 16, 840, 1, 101, 3, 4, 1, 42], 32),
];

impl EyamlEnvelope {
    pub(crate) fn from_der(der: &[u8]) -> Option<Self> {
        let (kind, keys, cipher, iv, content) = yasna::parse_ber(der, |reader| {
            reader.read_sequence(|reader| {
                let kind = reader.next().read_oid()?;
                let (keys, cipher, iv, content) =
                    reader.next().read_tagged(Tag::context(0), |reader| {
                        reader.read_sequence(|reader| {
                            reader.next().read_u8()?;
                            let keys = reader.next().collect_set_of(recipient)?;
                            let (cipher, iv, content) = read_encrypted(reader.next())?;
                            // Attributes, which do not describe the content.
                            reader.read_optional(|reader| reader.read_der())?;
                            Ok((keys, cipher, iv, content))
                        })
                    })?;
                Ok((kind, keys, cipher, iv, content))
            })
        })
        .ok()?;
        let is = |oid: &ObjectIdentifier, known: &[u64]| oid.components().as_slice() == known;
        if !is(&kind, ENVELOPED_DATA) || keys.len() > MAX_RECIPIENTS {
            return None;
        }
        let (_, key_bytes) = CIPHERS.into_iter().find(|(known, _)| is(&cipher, known))?;
        Some(Self {
            keys: keys.into_iter().flatten().collect(),
            key_bytes,
            iv: iv.try_into().ok()?,
            content,
        })
    }
}

/// The encrypted key of one recipient; `None` if it is not encrypted by RSA.
fn recipient(reader: BERReader<'_, '_>) -> ASN1Result<Option<Vec<u8>>> {
    reader.read_sequence(|reader| {
        reader.next().read_u8()?;
        // The recipient's certificate identifier, which is not used: every key is tried.
        reader.next().read_der()?;
        let algorithm = reader.next().read_sequence(|reader| {
            let algorithm = reader.next().read_oid()?;
            reader.read_optional(|reader| reader.read_null())?;
            Ok(algorithm)
        })?;
        let key = reader.next().read_bytes()?;
        Ok((algorithm.components().as_slice() == RSA).then_some(key))
    })
}

type EncryptedContent = (ObjectIdentifier, Vec<u8>, Vec<u8>);

fn read_encrypted(reader: BERReader<'_, '_>) -> ASN1Result<EncryptedContent> {
    reader.read_sequence(|reader| {
        reader.next().read_oid()?;
        let (cipher, iv) = reader
            .next()
            .read_sequence(|reader| Ok((reader.next().read_oid()?, reader.next().read_bytes()?)))?;
        let content = reader
            .next()
            .read_tagged_implicit(Tag::context(0), |reader| reader.read_bytes())?;
        Ok((cipher, iv, content))
    })
}
