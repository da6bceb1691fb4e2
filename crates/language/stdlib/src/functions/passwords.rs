//! Hashes of passwords: `pw_hash`, `str2saltedpbkdf2`, `str2saltedsha512`.

use evaluator::function::FunctionSpec;
use evaluator::{EvalResult, Evaluator, raise};
use pcore::{Hash, Value};
use sha2::{Digest as _, Sha512};

use super::digests::hex;
use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::crypt;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "pw_hash" => pw_hash, = 3;
    "str2saltedpbkdf2" => str2saltedpbkdf2;
    "str2saltedsha512" => str2saltedsha512;
};

fn bare(value: &Value) -> &Value {
    match value {
        Value::Sensitive(inner) => inner,
        other => other,
    }
}

fn pw_hash(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let password = match bare(old.get(0)) {
        Value::Str(password) => password,
        Value::Undef => "",
        _ => return raise("pw_hash(): first argument must be a string"),
    };
    let Value::Str(kind) = bare(old.get(1)) else {
        return raise("pw_hash(): second argument must be a string");
    };
    let Some(method) = crypt::CryptMethod::from_name(&kind.to_lowercase()) else {
        return raise(format!("pw_hash(): {kind} is not a valid hash type"));
    };
    let Value::Str(salt) = bare(old.get(2)) else {
        return raise("pw_hash(): third argument must be a string");
    };
    if salt.is_empty() {
        return raise("pw_hash(): third argument must not be empty");
    }
    if !method.takes_salt(salt) {
        return raise(format!(
            "pw_hash(): characters in salt must {}",
            method.salt_form()
        ));
    }
    if password.is_empty() {
        return Ok(Value::Undef);
    }
    crypt::crypt(method, password, salt)
        .map(Value::from)
        .or_else(raise)
}

fn str2saltedpbkdf2(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    const KEY_BYTES: usize = 128;
    if old.len() != 3 {
        return raise(format!(
            "str2saltedpbkdf2(): wrong number of arguments ({} for 3)",
            old.len()
        ));
    }
    let Value::Str(password) = bare(old.get(0)) else {
        return raise("str2saltedpbkdf2(): first argument must be a string");
    };
    let Value::Str(salt) = bare(old.get(1)) else {
        return raise("str2saltedpbkdf2(): second argument must be a string");
    };
    if salt.len() < 8 {
        return raise("str2saltedpbkdf2(): second argument must be at least 8 bytes long");
    }
    let Value::Int(iterations) = bare(old.get(2)) else {
        return raise("str2saltedpbkdf2(): third argument must be an integer");
    };
    let count = match u32::try_from(*iterations) {
        Ok(count @ 40_001..70_000) => count,
        _ => {
            return raise("str2saltedpbkdf2(): third argument must be between 40,000 and 70,000");
        }
    };
    // each iteration takes about as long as an element of a list
    evaluator.charge(count as usize * 2)?;
    let key = crypt::pbkdf2_sha512(password.as_bytes(), salt.as_bytes(), count, KEY_BYTES);
    let entries: Hash = [
        ("password_hex", Value::from(hex(&key))),
        ("salt_hex", Value::from(hex(salt.as_bytes()))),
        ("iterations", Value::Int(*iterations)),
    ]
    .into_iter()
    .collect();
    Ok(Value::hash(entries))
}

/// The form of macOS 10.7, with a salt of four bytes.
fn str2saltedsha512(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise(format!(
            "str2saltedsha512(): Wrong number of arguments passed ({} but we require 1)",
            old.len()
        ));
    }
    let Value::Str(password) = old.get(0) else {
        return raise(format!(
            "str2saltedsha512(): Requires a String argument, you passed: {}",
            class_name(old.get(0))
        ));
    };
    let random = evaluator.host().random()?;
    let salt = &random[..4];
    let digest = Sha512::new()
        .chain_update(salt)
        .chain_update(password.as_bytes())
        .finalize();
    Ok(Value::from(hex(salt) + &hex(&digest)))
}
