//! `crypt` of Unix systems with MD5 and SHA-2, and PBKDF2: [`crypt`], [`pbkdf2_sha512`].
//!
//! The methods were specified by Poul-Henning Kamp and Ulrich Drepper; the tests use values of
//! libxcrypt.

use md5::Md5;
use sha2::{Sha256, Sha512};

use super::bcrypt::bcrypt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CryptMethod {
    Md5,
    Sha256,
    Sha512,
    /// bcrypt, with the letter of its variant.
    Bcrypt(char),
}

/// Longest password in bytes, as in libxcrypt: the work is the square of it.
const PASSWORD_BYTES_MAX: usize = 511;
const ROUNDS: usize = 5_000;
const MD5_ROUNDS: usize = 1_000;

impl CryptMethod {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "md5" => Self::Md5,
            "sha-256" => Self::Sha256,
            "sha-512" => Self::Sha512,
            "bcrypt" => Self::Bcrypt('b'),
            "bcrypt-a" => Self::Bcrypt('a'),
            "bcrypt-x" => Self::Bcrypt('x'),
            "bcrypt-y" => Self::Bcrypt('y'),
            _ => return None,
        })
    }

    pub(crate) fn takes_salt(self, salt: &str) -> bool {
        let is_salt = |text: &str| {
            text.bytes()
                .all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'/'))
        };
        if !matches!(self, Self::Bcrypt(_)) {
            return is_salt(salt);
        }
        let (cost, rest) = salt.split_at_checked(3).unwrap_or_default();
        let is_cost = cost.ends_with('$') && cost[..2].bytes().all(|it| it.is_ascii_digit());
        is_cost && rest.get(..22).is_some_and(is_salt)
    }

    pub(crate) fn salt_form(self) -> &'static str {
        match self {
            Self::Bcrypt(_) => r"match (?-mix:^[0-9]{2}\$[.\/A-Za-z0-9]{22})",
            _ => "be in the set [a-zA-Z0-9./]",
        }
    }
}

/// The hash, prefixed by its method and salt.
pub(crate) fn crypt(method: CryptMethod, password: &str, salt: &str) -> Result<String, String> {
    if password.contains('\0') {
        return Err("string contains null byte".to_owned());
    }
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(format!(
            "pw_hash(): a password of more than {PASSWORD_BYTES_MAX} bytes"
        ));
    }
    let password = password.as_bytes();
    Ok(match method {
        CryptMethod::Bcrypt(variant) => return bcrypt(variant, password, salt),
        CryptMethod::Md5 => md5_crypt(password, cut(salt, 8)),
        CryptMethod::Sha256 => sha_crypt(
            "5",
            password,
            cut(salt, 16),
            &|parts| digest::<Sha256>(parts),
            &SHA256_ORDER,
        ),
        CryptMethod::Sha512 => sha_crypt(
            "6",
            password,
            cut(salt, 16),
            &|parts| digest::<Sha512>(parts),
            &SHA512_ORDER,
        ),
    })
}

fn cut(salt: &str, bytes: usize) -> &[u8] {
    &salt.as_bytes()[..salt.len().min(bytes)]
}

fn digest<D: sha2::Digest>(parts: &[&[u8]]) -> Vec<u8> {
    let mut digest = D::new();
    for part in parts {
        digest.update(part);
    }
    digest.finalize().to_vec()
}

fn md5_crypt(password: &[u8], salt: &[u8]) -> String {
    let inner = digest::<Md5>(&[password, salt, password]);
    let mut start: Vec<u8> = [password, b"$1$", salt].concat();
    start.extend(inner.iter().cycle().take(password.len()));
    let mut bits = password.len();
    while bits > 0 {
        start.push(if bits & 1 == 1 { 0 } else { password[0] });
        bits >>= 1;
    }
    let mut last = digest::<Md5>(&[&start]);
    for round in 0..MD5_ROUNDS {
        last = round_of::<Md5>(round, &last, password, salt);
    }
    let mut text = format!("$1${}$", String::from_utf8_lossy(salt));
    for [a, b, c] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        letters(&[last[a], last[b], last[c]], &mut text);
    }
    letters(&[last[11]], &mut text);
    text
}

fn round_of<D: sha2::Digest>(round: usize, last: &[u8], password: &[u8], salt: &[u8]) -> Vec<u8> {
    let is_odd = round & 1 == 1;
    let mut parts = vec![if is_odd { password } else { last }];
    if !round.is_multiple_of(3) {
        parts.push(salt);
    }
    if !round.is_multiple_of(7) {
        parts.push(password);
    }
    parts.push(if is_odd { last } else { password });
    digest::<D>(&parts)
}

type DigestFunction<'d> = &'d dyn Fn(&[&[u8]]) -> Vec<u8>;

fn sha_crypt(
    prefix: &str,
    password: &[u8],
    salt: &[u8],
    digest: DigestFunction<'_>,
    order: &[&[usize]],
) -> String {
    let inner = digest(&[password, salt, password]);
    let mut start: Vec<u8> = [password, salt].concat();
    start.extend(inner.iter().cycle().take(password.len()));
    let mut bits = password.len();
    while bits > 0 {
        start.extend_from_slice(if bits & 1 == 1 { &inner } else { password });
        bits >>= 1;
    }
    let mut last = digest(&[&start]);
    let stretched =
        |of: &[u8], length: usize| -> Vec<u8> { of.iter().copied().cycle().take(length).collect() };
    let p = stretched(&digest(&[&password.repeat(password.len())]), password.len());
    let salt_times = 16 + usize::from(last[0]);
    let s = stretched(&digest(&[&salt.repeat(salt_times)]), salt.len());
    for round in 0..ROUNDS {
        let is_odd = round & 1 == 1;
        let mut parts: Vec<&[u8]> = vec![if is_odd { &p } else { &last }];
        if !round.is_multiple_of(3) {
            parts.push(&s);
        }
        if !round.is_multiple_of(7) {
            parts.push(&p);
        }
        parts.push(if is_odd { &last } else { &p });
        last = digest(&parts);
    }
    let mut text = format!("${prefix}${}$", String::from_utf8_lossy(salt));
    for group in order {
        let bytes: Vec<u8> = group.iter().map(|at| last[*at]).collect();
        letters(&bytes, &mut text);
    }
    text
}

/// Encodes three bytes as four letters, the first byte highest; n bytes fewer than three take n + 1
/// letters.
fn letters(bytes: &[u8], into: &mut String) {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut bits = bytes
        .iter()
        .fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
    for _ in 0..=bytes.len() {
        into.push(char::from(LETTERS[bits & 63]));
        bits >>= 6;
    }
}

const SHA256_ORDER: [&[usize]; 11] = [
    &[0, 10, 20],
    &[21, 1, 11],
    &[12, 22, 2],
    &[3, 13, 23],
    &[24, 4, 14],
    &[15, 25, 5],
    &[6, 16, 26],
    &[27, 7, 17],
    &[18, 28, 8],
    &[9, 19, 29],
    &[31, 30],
];

const SHA512_ORDER: [&[usize]; 22] = [
    &[0, 21, 42],
    &[22, 43, 1],
    &[44, 2, 23],
    &[3, 24, 45],
    &[25, 46, 4],
    &[47, 5, 26],
    &[6, 27, 48],
    &[28, 49, 7],
    &[50, 8, 29],
    &[9, 30, 51],
    &[31, 52, 10],
    &[53, 11, 32],
    &[12, 33, 54],
    &[34, 55, 13],
    &[56, 14, 35],
    &[15, 36, 57],
    &[37, 58, 16],
    &[59, 17, 38],
    &[18, 39, 60],
    &[40, 61, 19],
    &[62, 20, 41],
    &[63],
];

/// Derives a key of the given number of bytes, with HMAC-SHA512.
pub(crate) fn pbkdf2_sha512(
    password: &[u8],
    salt: &[u8],
    iterations: u32,
    key_bytes: usize,
) -> Vec<u8> {
    let mut key = vec![0; key_bytes];
    pbkdf2::pbkdf2_hmac::<Sha512>(password, salt, iterations, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 130 bytes: more than one block of each digest.
    const LONG: &str = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

    #[test]
    fn hashes_are_those_of_the_system() {
        for (method, password, salt, wanted) in [
            (CryptMethod::Md5, "a", "s", "$1$s$TnTS2d.76xCjLeeIhMx3L0"),
            (
                CryptMethod::Md5,
                "password123",
                "saltsalt",
                "$1$saltsalt$4WS.Uhxmahm1YZiMsUNcc0",
            ),
            (CryptMethod::Md5, LONG, "./", "$1$./$xwF0GOL2gMfWyeFDPDCE0/"),
            (
                CryptMethod::Sha256,
                "a",
                "s",
                "$5$s$qgP3B1D0m82PjqmN9fAYcv/rBMS9t2tLp7NrzhQCCyC",
            ),
            (
                CryptMethod::Sha256,
                LONG,
                "./",
                "$5$./$HCiqLKDfLhVs0ba3nMrGwQSB5xpV7.kUbXq7ri4Nth0",
            ),
            (
                CryptMethod::Sha512,
                "password123",
                "saltsalt",
                "$6$saltsalt$I7sf08GTmo.lDz2v6I2Ond3d6r/aJcvBs6MtbEH7x6Z/objDGNAdsYVVcbbcf.vTCAI8Gg5tlfz3HAiw/6jGa1",
            ),
            (
                CryptMethod::Sha512,
                LONG,
                "./",
                "$6$./$PC2G1FtuAQUFw.0gSFET7U.lbrCGeg7VbNoLqiWkhz15NkHdbdtLzFXokPI4SvN7vwBZ1f/m78GeE6wpY.XDh.",
            ),
        ] {
            assert_eq!(crypt(method, password, salt).unwrap(), wanted);
        }
    }

    #[test]
    fn keys_are_those_of_openssl() {
        let key = pbkdf2_sha512(b"password", b"saltsalt", 3, 8);
        assert_eq!(key, [128, 22, 167, 201, 62, 50, 122, 180]);
    }
}
