//! Addresses: `enclose_ipv6`, `stdlib::ip_in_range`, `is_mac_address`, `is_domain_name`,
//! `is_email_address`.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, one};
use evaluator::{EvalResult, Evaluator, raise, ruby};
use pcore::Value;

use crate::old_api::{OldCall, class_name, old_functions};
use crate::ruby::address::IpNetworkAddress;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "enclose_ipv6" => enclose_ipv6;
    "is_domain_name" => is_domain_name;
    "is_email_address" => is_email_address;
    "is_mac_address" => is_mac_address;
};

pub(super) static NEW: &[FunctionSpec] = &[FunctionSpec::new(
    "stdlib::ip_in_range",
    &[FunctionDispatch::new(
        &[
            one("String", "ipaddress"),
            one("Variant[String, Array]", "range"),
        ],
        ip_in_range,
    )
    .returning("Boolean")],
)];

fn ip_in_range(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let address = IpNetworkAddress::parse(&call.text(0)).or_else(raise)?;
    let mut ranges = Vec::new();
    match call.get(1) {
        Value::Array(texts) => {
            evaluator.charge(texts.len())?;
            for text in texts.iter() {
                let Value::Str(text) = text else {
                    return raise("address family must be specified");
                };
                ranges.push(IpNetworkAddress::parse(text).or_else(raise)?);
            }
        }
        other => {
            let text = other.as_str().unwrap_or_default();
            ranges.push(IpNetworkAddress::parse(text).or_else(raise)?);
        }
    }
    Ok(Value::Bool(
        ranges.iter().any(|range| range.includes(&address)),
    ))
}

fn enclose_ipv6(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if old.len() != 1 {
        return raise(format!(
            "enclose_ipv6(): Wrong number of arguments given {} for 1",
            old.len()
        ));
    }
    if !matches!(old.get(0), Value::Str(_) | Value::Array(_)) {
        return raise(format!(
            "enclose_ipv6(): Wrong argument type given {} expected String or Array",
            class_name(old.get(0))
        ));
    }
    let mut all: Vec<Value> = Vec::new();
    for value in evaluator
        .flatten(&old.arguments)?
        .iter()
        .filter(|it| !it.is_undef())
    {
        evaluator.charge_element()?;
        let enclosed = match value.as_str() {
            Some("*") => value.clone(),
            text => match text.and_then(|text| IpNetworkAddress::parse(text).ok()) {
                Some(address) if address.is_v6 => Value::from(format!("[{address}]")),
                Some(_) => value.clone(),
                None => {
                    return raise(format!(
                        "enclose_ipv6(): Wrong argument given {} is not an ip address.",
                        ruby::to_s(value)
                    ));
                }
            },
        };
        if !all.contains(&enclosed) {
            all.push(enclosed);
        }
    }
    Ok(Value::array(all))
}

fn one_argument(old: &OldCall, name: &str) -> EvalResult<()> {
    if old.len() == 1 {
        return Ok(());
    }
    raise(format!(
        "{name}(): Wrong number of arguments given {} for 1",
        old.len()
    ))
}

fn is_mac_address(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    one_argument(old, "is_mac_address")?;
    let text = match old.get(0) {
        Value::Undef | Value::Default => return Ok(Value::Bool(false)),
        Value::Str(text) => text,
        other => {
            return raise(format!(
                "no implicit conversion of {} into String",
                class_name(other)
            ));
        }
    };
    let is_mac = |line: &str| {
        let parts: Vec<&str> = line.split(':').collect();
        let is_part =
            |it: &&str| matches!(it.len(), 1 | 2) && it.bytes().all(|it| it.is_ascii_hexdigit());
        matches!(parts.len(), 6 | 20) && parts.iter().all(is_part)
    };
    Ok(Value::Bool(text.split('\n').any(is_mac)))
}

fn is_domain_name(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    one_argument(old, "is_domain_name")?;
    let text = old.get(0).as_str();
    Ok(Value::Bool(text.is_some_and(is_domain)))
}

pub(super) fn is_domain(name: &str) -> bool {
    const NAME_MAX: usize = 255;
    const LABEL_MAX: usize = 63;
    if name == "." {
        return true;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.chars().count() > NAME_MAX {
        return false;
    }
    let ends_in_letters = name
        .rsplit('.')
        .next()
        .is_some_and(|last| !last.is_empty() && last.bytes().all(|it| it.is_ascii_alphabetic()));
    if name.contains('.') && !ends_in_letters {
        return false;
    }
    name.split('.').all(|label| {
        (1..=LABEL_MAX).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'-')
    })
}

fn is_email_address(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    one_argument(old, "is_email_address")?;
    let text = old.get(0).as_str();
    Ok(Value::Bool(text.is_some_and(is_email)))
}

/// Before the `@`: letters, digits, `_`, `+` or `-`, each followed by at most one other sign. After
/// it: small letters, digits and dashes, and parts of small letters.
pub(super) fn is_email(text: &str) -> bool {
    let Some((name, domain)) = text.rsplit_once('@') else {
        return false;
    };
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '-');
    let mut letters = name.chars().peekable();
    let mut names = letters.peek().is_some();
    while let Some(c) = letters.next() {
        names &= is_word(c);
        if letters
            .peek()
            .is_some_and(|next| !is_word(*next) && *next != '\n')
        {
            letters.next();
        }
    }
    let mut parts = domain.split('.');
    let first = parts.next().unwrap_or_default();
    let small = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_lowercase());
    let is_first = !first.is_empty()
        && first
            .bytes()
            .all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-');
    let rest: Vec<&str> = parts.collect();
    names && is_first && !rest.is_empty() && rest.into_iter().all(small)
}
