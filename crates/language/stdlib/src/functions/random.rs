//! Numbers derived from a seed (`seeded_rand`, `fqdn_rotate`, `fqdn_rand_string`), and `shuffle`,
//! which uses the host's random numbers.

use evaluator::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, optional};
use evaluator::{EvalResult, Evaluator, RubyRandom, raise, ruby};
use md5::{Digest as _, Md5};
use pcore::Value;
use sha2::Sha256;

use super::facts::{facts, known_fact};
use crate::old_api::{OldCall, old_functions};
use crate::ruby::numbers::value_to_i;

pub(super) static FUNCTIONS: &[FunctionSpec] = old_functions! {
    "fqdn_rand_string" => fqdn_rand_string, >= 1;
    "fqdn_rotate" => fqdn_rotate;
    "seeded_rand" => seeded_rand, = 2;
    "shuffle" => shuffle;
};

macro_rules! string {
    () => {
        &[FunctionDispatch::new(
            &[
                one("Integer[1]", "length"),
                one("String", "seed"),
                optional("String[2]", "charset"),
            ],
            seeded_rand_string,
        )]
    };
}

pub(super) static NEW: &[FunctionSpec] = &[
    FunctionSpec::new("seeded_rand_string", string!()),
    FunctionSpec::new("stdlib::seeded_rand_string", string!()),
    FunctionSpec::new(
        "stdlib::seeded_rand",
        &[FunctionDispatch::new(
            &[one("Integer[1]", "max"), one("String", "seed")],
            new_seeded_rand,
        )],
    ),
    FunctionSpec::new(
        "stdlib::fqdn_rand_string",
        &[FunctionDispatch::new(
            &[
                one("Integer[1]", "length"),
                optional("Optional[String]", "charset"),
                any("Any", "seed"),
            ],
            new_fqdn_rand_string,
        )],
    ),
    FunctionSpec::new(
        "stdlib::fqdn_rotate",
        &[
            FunctionDispatch::new(
                &[
                    one("String", "input"),
                    any("Variant[Integer,String]", "seeds"),
                ],
                new_rotate,
            )
            .returning("String"),
            FunctionDispatch::new(
                &[
                    one("Array", "input"),
                    any("Variant[Integer,String]", "seeds"),
                ],
                new_rotate,
            )
            .returning("Array"),
        ],
    ),
];

fn below(random: &mut RubyRandom, limit: usize) -> usize {
    usize::try_from(random.random_below(limit as u64)).unwrap_or_default()
}

fn random_from_seed(seed: &str, max: i64) -> Value {
    let limit = u64::try_from(max).unwrap_or(1);
    let number = RubyRandom::new(&Md5::digest(seed.as_bytes())).random_below(limit);
    Value::Int(i64::try_from(number).unwrap_or_default())
}

/// True if a value is an integer or the text of one.
pub(super) fn is_integer(value: &Value) -> bool {
    match value {
        Value::Int(_) => true,
        Value::Str(text) => text.split('\n').any(|line| {
            let digits = line.strip_prefix('-').unwrap_or(line);
            let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
            is_number && (digits == "0" || !digits.starts_with('0'))
        }),
        _ => false,
    }
}

fn seeded_rand(_: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    if !is_integer(old.get(0)) || value_to_i(old.get(0))? <= 0 {
        return raise("seeded_rand(): first argument must be a positive integer");
    }
    match old.get(1) {
        Value::Str(seed) => Ok(random_from_seed(seed, value_to_i(old.get(0))?)),
        _ => raise("seeded_rand(): second argument must be a string"),
    }
}

fn new_seeded_rand(_: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    Ok(random_from_seed(&call.text(1), call.int(0)))
}

fn seeded_rand_string(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    const LETTERS: &str = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let letters: Vec<char> = call.get(2).as_str().unwrap_or(LETTERS).chars().collect();
    let mut random = RubyRandom::new(&Sha256::digest(call.text(1).as_bytes()));
    let mut text = String::new();
    for _ in 0..call.int(0) {
        evaluator.charge_element()?;
        text.push(letters[below(&mut random, letters.len())]);
    }
    Ok(Value::from(text))
}

/// `join(':')` of seeds; an empty list adds a separator too.
fn join_seeds(evaluator: &Evaluator<'_>, seeds: &[Value]) -> EvalResult<String> {
    evaluator.stack_check()?;
    let mut texts = Vec::with_capacity(seeds.len());
    for seed in seeds {
        evaluator.charge_element()?;
        texts.push(match seed {
            Value::Array(inner) => join_seeds(evaluator, inner)?,
            other => ruby::to_s(other),
        });
    }
    Ok(texts.join(":"))
}

fn rand_string(
    evaluator: &mut Evaluator<'_>,
    length: i64,
    charset: &str,
    seeds: &[Value],
) -> EvalResult {
    const LETTERS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let letters: Vec<char> = if charset.is_empty() { LETTERS } else { charset }
        .chars()
        .collect();
    let count = Value::Int(i64::try_from(letters.len()).unwrap_or(i64::MAX));
    let mut text = String::new();
    for place in 1..=length {
        evaluator.charge_element()?;
        let mut seeds = seeds.to_vec();
        seeds.push(Value::Int(place));
        let arguments = vec![count.clone(), Value::from(join_seeds(evaluator, &seeds)?)];
        let index = evaluator.call_function("fqdn_rand", arguments, None)?;
        let index = index.as_int().and_then(|it| usize::try_from(it).ok());
        text.extend(index.and_then(|index| letters.get(index)));
    }
    Ok(Value::from(text))
}

fn fqdn_rand_string(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    let length = match old.get(0) {
        length if is_integer(length) => value_to_i(length)?,
        _ => 0,
    };
    if length <= 0 {
        return raise("fqdn_rand_string(): first argument must be a positive integer");
    }
    let charset = match old.get(1) {
        Value::Undef => "",
        Value::Str(charset) => charset,
        _ => return raise("fqdn_rand_string(): second argument must be undef or a string"),
    };
    rand_string(
        evaluator,
        length,
        charset,
        old.arguments.get(2..).unwrap_or_default(),
    )
}

fn new_fqdn_rand_string(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    let charset = call.text(1);
    rand_string(
        evaluator,
        call.int(0),
        &charset,
        call.arguments.get(2..).unwrap_or_default(),
    )
}

/// Rotates the letters of a text or the elements of a list by a number derived from the node's
/// name.
fn rotate(evaluator: &Evaluator<'_>, value: &Value, seeds: &[Value]) -> EvalResult {
    let fqdn = match known_fact(evaluator, &["networking", "fqdn"])? {
        Value::Undef => match facts(evaluator)?
            .as_hash()
            .and_then(|it| it.get_str("fqdn"))
        {
            Some(fqdn) => fqdn.clone(),
            None => evaluator.global("fqdn").unwrap_or_default(),
        },
        fqdn => fqdn,
    };
    let named = join_seeds(evaluator, &[fqdn, Value::array(seeds.to_vec())])?;
    let mut random = RubyRandom::new(&Md5::digest(named.as_bytes()));
    Ok(match value {
        Value::Str(text) if text.chars().nth(1).is_some() => {
            let mut letters: Vec<char> = text.chars().collect();
            evaluator.charge(letters.len())?;
            let places = below(&mut random, letters.len());
            letters.rotate_left(places);
            Value::from(letters.into_iter().collect::<String>())
        }
        Value::Array(list) if list.len() > 1 => {
            evaluator.charge(list.len())?;
            let mut list = list.to_vec();
            let places = below(&mut random, list.len());
            list.rotate_left(places);
            Value::array(list)
        }
        other => other.clone(),
    })
}

fn fqdn_rotate(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("fqdn_rotate", "1")?;
    if !matches!(old.get(0), Value::Str(_) | Value::Array(_)) {
        return raise("fqdn_rotate(): Requires either array or string to work with");
    }
    rotate(evaluator, old.get(0), &old.arguments[1..])
}

fn new_rotate(evaluator: &mut Evaluator<'_>, call: CallArguments<'_>) -> EvalResult {
    rotate(evaluator, call.get(0), &call.arguments[1..])
}

fn shuffle(evaluator: &mut Evaluator<'_>, old: &OldCall) -> EvalResult {
    old.check_any_count("shuffle", "1")?;
    let mut elements: Vec<Value> = match old.get(0) {
        Value::Str(text) => text.chars().map(|it| Value::from(it.to_string())).collect(),
        Value::Array(list) => list.to_vec(),
        _ => return raise("shuffle(): Requires either array or string to work with"),
    };
    if elements.len() <= 1 {
        return Ok(old.get(0).clone());
    }
    evaluator.charge(elements.len())?;
    let mut random = RubyRandom::new(&evaluator.host().random()?);
    for place in 0..elements.len() {
        let other = place + below(&mut random, elements.len() - place);
        elements.swap(place, other);
    }
    Ok(match old.get(0) {
        Value::Str(_) => Value::from(elements.iter().map(ToString::to_string).collect::<String>()),
        _ => Value::array(elements),
    })
}
