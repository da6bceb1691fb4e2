//! `crypt` with bcrypt, in the variants of `pw_hash`: [`bcrypt`].

use base64::Engine as _;
use base64::alphabet::BCRYPT;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::defaults::BCRYPT_COST_MAX;

/// Letters of a salt: 16 bytes; the surplus bits of the last letter are dropped.
const SALT_LETTERS: usize = 22;
const COST_MIN: u32 = 4;

const LETTERS: GeneralPurpose = GeneralPurpose::new(
    &BCRYPT,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);

/// Hashes a password. `setting` is the cost, two digits, a `$` and 22 letters of salt; `variant`
/// precedes it in the result.
pub(crate) fn bcrypt(variant: char, password: &[u8], setting: &str) -> Result<String, String> {
    if variant == 'x' && !password.is_ascii() {
        return Err(
            "pw_hash(): bcrypt-x is known to be wrong for letters beyond ASCII: use bcrypt"
                .to_owned(),
        );
    }
    let (cost, salt) = setting.split_once('$').unwrap_or((setting, ""));
    let Ok(rounds @ COST_MIN..=BCRYPT_COST_MAX) = cost.parse() else {
        return Err(format!(
            "pw_hash(): the cost of bcrypt is {COST_MIN} to {BCRYPT_COST_MAX}, not {cost}: more takes seconds"
        ));
    };
    let salt = salt.get(..SALT_LETTERS).unwrap_or(salt);
    let salt = LETTERS
        .decode(salt)
        .ok()
        .and_then(|salt| salt.try_into().ok());
    let salt = salt.ok_or("pw_hash(): the salt of bcrypt has 22 letters")?;
    let parts =
        bcrypt::hash_with_salt(password, rounds, salt).map_err(|error| error.to_string())?;
    let hash = parts.format_for_version(bcrypt::Version::TwoB);
    // The variants differ in their letter alone.
    Ok(hash.replacen("$2b$", &format!("$2{variant}$"), 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected values come from libxcrypt.
    #[test]
    fn hashes_are_those_of_the_system() {
        for (password, setting, wanted) in [
            (
                "a",
                "05$abcdefghijklmnopqrstuu",
                "8.veTXNDPV2eEsdpKNczMw2otgh5LnK",
            ),
            (
                "password123",
                "04$N9qo8uLOickgx2ZMRZoMye",
                "apfzHp47vqd3HHB31mGdP1b4S74jNHa",
            ),
            (
                &"é".repeat(50),
                "04$..............//////..",
                "68t5R1Qhqd7y.TTiBpUOVr921Pdbl7u",
            ),
            (
                &"x".repeat(100),
                "04$N9qo8uLOickgx2ZMRZoMye",
                "dlslr.Jty7xCSm4JGSxc8PDTmSzo582",
            ),
        ] {
            let hash = bcrypt('b', password.as_bytes(), setting).unwrap();
            assert_eq!(hash, format!("$2b${setting}{wanted}"));
        }
        assert!(bcrypt('b', b"a", "31$N9qo8uLOickgx2ZMRZoMye").is_err());
        assert!(bcrypt('x', "é".as_bytes(), "04$N9qo8uLOickgx2ZMRZoMye").is_err());
    }
}
