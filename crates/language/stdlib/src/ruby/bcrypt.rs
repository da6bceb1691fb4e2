//! `crypt` with bcrypt, as specified by Niels Provos and David Mazières: [`bcrypt`].

use blowfish::Blowfish;

use crate::defaults::BCRYPT_COST_MAX;

const LETTERS: &[u8; 64] = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SALT_LETTERS: usize = 22;
const KEY_BYTES_MAX: usize = 72;
const COST_MIN: u32 = 4;

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
    let rounds = match cost.parse() {
        Ok(cost @ COST_MIN..=BCRYPT_COST_MAX) => 1_u32 << cost,
        _ => {
            return Err(format!(
                "pw_hash(): the cost of bcrypt is {COST_MIN} to {BCRYPT_COST_MAX}, not {cost}: more takes seconds"
            ));
        }
    };
    let salt: Vec<u8> = salt.bytes().take(SALT_LETTERS).collect();
    let salt_bytes = decode(&salt);
    let mut key: Vec<u8> = password.to_vec();
    key.push(0);
    key.truncate(KEY_BYTES_MAX);
    let digest = digest(rounds, &salt_bytes, &key);
    let mut text = format!("$2{variant}${cost}$");
    // the last letter of the salt has two bits
    encode(&salt_bytes, &mut text);
    encode(&digest[..digest.len() - 1], &mut text);
    Ok(text)
}

fn digest(rounds: u32, salt: &[u8], key: &[u8]) -> Vec<u8> {
    const PLAIN: &[u8; 24] = b"OrpheanBeholderScryDoubt";
    let mut cipher: Blowfish = Blowfish::bc_init_state();
    cipher.salted_expand_key(salt, key);
    for _ in 0..rounds {
        cipher.bc_expand_key(key);
        cipher.bc_expand_key(salt);
    }
    let word = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(0, |word, byte| word << 8 | u32::from(*byte))
    };
    PLAIN
        .chunks_exact(8)
        .flat_map(|block| {
            let start = [word(&block[..4]), word(&block[4..])];
            let done = (0..64).fold(start, |pair, _| cipher.bc_encrypt(pair));
            done.map(u32::to_be_bytes).concat()
        })
        .collect()
}

/// The 16 bytes of 22 letters; the surplus bits are dropped.
fn decode(letters: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in letters {
        let value = LETTERS
            .iter()
            .position(|it| it == letter)
            .unwrap_or_default();
        bits = bits << 6 | u32::try_from(value).unwrap_or_default();
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count).to_be_bytes()[3]);
        }
    }
    bytes
}

fn encode(bytes: &[u8], into: &mut String) {
    for group in bytes.chunks(3) {
        let bits = group.iter().chain([&0, &0]).take(3);
        let bits = bits.fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for place in 0..=group.len() {
            into.push(char::from(LETTERS[bits >> (18 - 6 * place) & 63]));
        }
    }
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
