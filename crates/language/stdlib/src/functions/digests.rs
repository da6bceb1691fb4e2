//! `stdlib::sha256`, `stdlib::crc32`, `fqdn_uuid`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

use crate::old_api::{OldCall, class_name, old_functions};

const DATA: &str = "Variant[ScalarData, Sensitive[ScalarData], Binary, Sensitive[Binary]]";

pub(super) static FUNCTIONS: &[FunctionSpec] = &[
    FunctionSpec::new(
        "stdlib::sha256",
        &[FunctionDispatch::new(&[one(DATA, "my_data")], sha256).returning("String")],
    ),
    FunctionSpec::new(
        "stdlib::crc32",
        &[FunctionDispatch::new(&[one(DATA, "my_data")], crc32).returning("String")],
    ),
];

pub(super) static OLD: &[FunctionSpec] = old_functions! {
    "fqdn_uuid" => fqdn_uuid;
};

/// The text of a value; bytes count as their base64 text.
fn text(value: &Value) -> String {
    match value {
        Value::Sensitive(inner) => ruby::to_s(inner),
        other => ruby::to_s(other),
    }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            for half in [byte >> 4, byte & 15] {
                text.extend(char::from_digit(half.into(), 16));
            }
            text
        })
}

fn sha256(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(Value::from(hex(&Sha256::digest(
        text(call.get(0)).as_bytes(),
    ))))
}

fn crc32(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let rest = text(call.get(0)).bytes().fold(u32::MAX, |rest, byte| {
        (0..8).fold(rest ^ u32::from(byte), |rest, _| {
            (rest >> 1) ^ (POLYNOMIAL & (rest & 1).wrapping_neg())
        })
    });
    Ok(Value::from(format!("{:x}", !rest)))
}

/// The version 5 UUID of a name in the DNS name space.
fn fqdn_uuid(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    const DNS: u128 = 0x6ba7_b810_9dad_11d1_80b4_00c0_4fd4_30c8;
    match old.arguments.as_slice() {
        [] => raise("fqdn_uuid: No arguments given"),
        [Value::Str(name)] => {
            let digest = Sha1::new()
                .chain_update(DNS.to_be_bytes())
                .chain_update(name.as_bytes())
                .finalize();
            let mut bytes = [0; 16];
            bytes.copy_from_slice(&digest[..16]);
            bytes[6] = bytes[6] & 0x0f | 0x50;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            let parts = [0..4, 4..6, 6..8, 8..10, 10..16].map(|part| hex(&bytes[part]));
            Ok(Value::from(parts.join("-")))
        }
        [other] => raise(format!(
            "no implicit conversion of {} into String",
            class_name(other)
        )),
        _ => raise(format!(
            "fqdn_uuid: Too many arguments given ({})",
            old.len()
        )),
    }
}
