//! Functions of Ruby's libraries: digests, Base64, IP addresses.

use std::net::{Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use md5::Digest as _;

use super::Interpreter;
use super::matching::escape;
use crate::syntax::{DigestAlgorithm, DigestCall, ExceptionClass, LibraryFunction};
use crate::value::{Eval, Interruption, RubyValue, refuse};

impl Interpreter<'_, '_> {
    pub(super) fn call_library(function: &LibraryFunction, operand: RubyValue) -> Eval {
        match function {
            LibraryFunction::Convert(conversion) => Self::convert(*conversion, operand),
            LibraryFunction::RegexpEscape => match operand {
                RubyValue::Str(text) => Ok(RubyValue::string(escape(&text.get()))),
                other => refuse(format!("Regexp.escape of {}", other.kind())),
            },
            LibraryFunction::Digest(call) => digest(*call, &operand),
            LibraryFunction::Base64 => base64(&operand),
            LibraryFunction::IpAddress => ip_address(&operand),
        }
    }
}

/// `Digest::MD5.hexdigest(x)` and the like.
fn digest(call: DigestCall, operand: &RubyValue) -> Eval {
    let digest = with_bytes(operand, |bytes| match call.algorithm {
        DigestAlgorithm::Md5 => md5::Md5::digest(bytes).to_vec(),
        DigestAlgorithm::Sha1 => sha1::Sha1::digest(bytes).to_vec(),
        DigestAlgorithm::Sha256 => sha2::Sha256::digest(bytes).to_vec(),
    })?;
    if !call.is_hexadecimal {
        return Ok(RubyValue::Bytes(digest.into()));
    }
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    Ok(RubyValue::string(digits.collect::<String>()))
}

/// `Base64.strict_encode64(x)`
fn base64(operand: &RubyValue) -> Eval {
    let text = with_bytes(operand, |bytes| STANDARD.encode(bytes))?;
    Ok(RubyValue::string(text))
}

fn with_bytes<T>(operand: &RubyValue, read: impl FnOnce(&[u8]) -> T) -> Eval<T> {
    match operand {
        RubyValue::Str(text) => Ok(read(text.get().as_bytes())),
        RubyValue::Bytes(bytes) => Ok(read(bytes)),
        other => refuse(format!("the bytes of {}", other.kind())),
    }
}

/// `IPAddr.new(x)`. Ruby accepts more than the plain notations, and differs between versions; what is not
/// clearly an address, or clearly none, is for Ruby.
fn ip_address(operand: &RubyValue) -> Eval {
    let RubyValue::Str(text) = operand else {
        return refuse(format!("the address of {}", operand.kind()));
    };
    let text = text.get();
    if text.contains(['/', '[', ']', '%']) || text.chars().any(|c| c.is_control()) {
        return refuse("an address in another form");
    }
    if text.parse::<Ipv4Addr>().is_ok() {
        return Ok(RubyValue::IpAddress(false));
    }
    let is_part = |c: char| c.is_ascii_hexdigit() || c == ':';
    if text.chars().all(is_part) && text.parse::<Ipv6Addr>().is_ok() {
        return Ok(RubyValue::IpAddress(true));
    }
    let is_address_part = |c: char| is_part(c) || c == '.';
    if text.chars().all(is_address_part) {
        return refuse("an address in another form");
    }
    let reason = format!("the address {text}");
    Err(Interruption::Raised(ExceptionClass::InvalidAddress, reason))
}

pub(super) fn call_ip_address(
    is_v6: bool,
    name: &str,
    arguments: &[RubyValue],
) -> Option<RubyValue> {
    match (name, arguments) {
        ("ipv4?", []) => Some(RubyValue::Bool(!is_v6)),
        ("ipv6?", []) => Some(RubyValue::Bool(is_v6)),
        _ => None,
    }
}
