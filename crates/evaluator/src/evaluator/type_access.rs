//! `[]` on types: parameters for a type, and references to resources and classes.
//!
//! The rule that must hold: what is refused here is refused with the issue that Puppet has for that type.

use std::sync::Arc;

use pcore::{
    CallableType, EnumType, FloatRange, IntRange, Kind, StringType, StructElement, TimeRange, Type,
    Value,
};

use super::access::{flat, key_type};
use super::types::capitalized;
use super::{Cx, Evaluator};
use crate::code::{Node, NodeId};
use crate::error::{Eval, EvalError, Unwind, raise};
use crate::label;

/// Who is blamed, and for what.
struct Blame<'a> {
    cx: Cx<'a>,
    at: u32,
    left: u32,
    keys: &'a [NodeId],
}

impl Blame<'_> {
    fn key(&self, place: usize) -> u32 {
        match self.keys.get(place).or(self.keys.last()) {
            Some(key) => self.cx.unit.node(*key).at,
            None => self.at,
        }
    }

    #[cold]
    fn fail(&self, at: u32, code: &'static str, text: impl std::fmt::Display) -> Box<Unwind> {
        EvalError::at(code, text, self.cx.unit.place(at)).into()
    }

    #[cold]
    fn arity(&self, what: &str, least: usize, most: Option<usize>, actual: usize) -> Box<Unwind> {
        let accepts = match most {
            None => format!("{least} or more arguments"),
            Some(most) if most != least => format!("{least} to {most} arguments"),
            Some(_) if least == 1 => "1 argument".to_owned(),
            Some(_) => format!("{least} arguments"),
        };
        let text = format!("{what}[] accepts {accepts}. Got {actual}");
        self.fail(self.at, "BAD_TYPE_SLICE_ARITY", text)
    }

    #[cold]
    fn not_types(&self, place: usize, what: &str, actual: &Value) -> Box<Unwind> {
        let class = label::ruby_class(actual);
        let text = format!("{what}[] arguments must be types. Got {class}");
        self.fail(self.key(place), "BAD_TYPE_SLICE_TYPE", text)
    }

    #[cold]
    fn not_allowed(&self, place: usize, ty: &Type, actual: &Value, expected: &str) -> Box<Unwind> {
        let text = format!(
            "Error creating type specialization of {}, Cannot use {} where {expected} is expected",
            label::a_an(&format!("{ty}-Type")),
            key_type(actual)
        );
        self.fail(self.key(place), "BAD_TYPE_SPECIALIZATION", text)
    }
}

impl Evaluator {
    pub(super) fn access_type(
        &mut self,
        cx: Cx<'_>,
        node: &Node,
        left_id: NodeId,
        ty: &Type,
        ids: &[NodeId],
        keys: Vec<Value>,
    ) -> Eval {
        let blame = Blame {
            cx,
            at: node.at,
            left: cx.unit.node(left_id).at,
            keys: ids,
        };
        let made = match ty.kind() {
            Kind::Resource { type_name, title } => {
                return resource(&blame, ty, type_name.as_ref(), title.as_ref(), keys);
            }
            Kind::Class(name) => return class(&blame, ty, name.as_ref(), keys),
            Kind::Reference(text) => {
                let text = format!("Resource type not found: {text}");
                return Err(blame.fail(blame.at, "UNKNOWN_RESOURCE_TYPE", text));
            }
            Kind::Struct(_) => structure(&blame, ty, &keys)?,
            Kind::Callable(_) => callable(&blame, ty, &keys)?,
            _ => parameterized(&blame, ty, &flat(keys))?,
        };
        Ok(Value::Type(made))
    }
}

fn parameterized(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    match ty.kind() {
        Kind::Integer(_) => integer(blame, keys),
        Kind::Float(_) => float(blame, keys),
        Kind::String(_) => string(blame, keys),
        Kind::Boolean(_) => boolean(blame, ty, keys),
        Kind::Enum(_) => enumeration(blame, ty, keys),
        Kind::Pattern(_) => pattern(blame, ty, keys),
        Kind::Regexp(_) => regexp(blame, ty, keys),
        Kind::Array { .. } => array(blame, keys),
        Kind::Hash { .. } => hash(blame, keys),
        Kind::Collection(_) => match keys.len() {
            1 | 2 => Ok(Kind::Collection(Some(size(blame, 0, keys)?)).into()),
            actual => Err(blame.arity("Collection-Type", 1, Some(2), actual)),
        },
        Kind::Tuple(_) => tuple(blame, ty, keys),
        Kind::Variant(_) => {
            let types = types(blame, ty, keys)?;
            Ok(Type::variant(types))
        }
        Kind::Optional(_) => Ok(Type::optional_of(type_or_text(
            blame,
            "Optional-Type",
            keys,
        )?)),
        Kind::NotUndef(_) => match keys {
            [Value::Type(inner)] => Ok(Type::not_undef_of(inner.clone())),
            [Value::Str(text)] => Ok(Type::not_undef_of(Type::string_value(Arc::clone(text)))),
            [other] => {
                let class = label::ruby_class(other);
                let text =
                    format!("NotUndef-Type[] argument must be a Type or a String. Got {class}");
                Err(blame.fail(blame.key(0), "BAD_NOT_UNDEF_SLICE_TYPE", text))
            }
            _ => Err(blame.arity("NotUndef-Type", 0, Some(1), keys.len())),
        },
        Kind::Type(_) => Ok(Type::type_of(one_type(blame, "Type-Type", keys)?)),
        Kind::Iterable(_) => Ok(Type::iterable_of(one_type(blame, "Iterable-Type", keys)?)),
        Kind::Iterator(_) => Ok(Type::iterator_of(one_type(blame, "Iterator-Type", keys)?)),
        Kind::Sensitive(_) => Ok(Kind::Sensitive(one_type(blame, "Sensitive-Type", keys)?).into()),
        _ => rare(blame, ty, keys),
    }
}

/// Types that few programs give parameters to.
fn rare(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    match ty.kind() {
        Kind::Timestamp(_) => {
            let [from, to] = time_bounds(blame, ty, keys)?;
            ranged(TimeRange::new(instant(&from)?, instant(&to)?).map(Kind::Timestamp))
        }
        Kind::Timespan(_) => {
            let [from, to] = time_bounds(blame, ty, keys)?;
            ranged(TimeRange::new(length(&from)?, length(&to)?).map(Kind::Timespan))
        }
        Kind::SemVer(_) => semver(blame, ty, keys),
        Kind::Uri(_) => match keys {
            [parameters @ (Value::Str(_) | Value::Hash(_) | Value::Uri(_) | Value::Type(_))] => {
                Ok(Kind::Uri(Some(parameters.clone())).into())
            }
            [other] => Err(blame.not_types(0, "URI-Type", other)),
            _ => Err(blame.arity("URI-Type", 1, Some(1), keys.len())),
        },
        _ => {
            let text = format!(
                "Operator '[]' is not applicable to {}.",
                label::a_an(&format!("{ty}-Type"))
            );
            Err(blame.fail(blame.left, "OPERATOR_NOT_APPLICABLE", text))
        }
    }
}

fn time_bounds(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<[Value; 2]> {
    match keys {
        [] => Ok([Value::Default, Value::Default]),
        [from] => Ok([from.clone(), Value::Default]),
        [from, to] => Ok([from.clone(), to.clone()]),
        _ => Err(blame.arity(
            &label::a_an_uc(&format!("{ty}-Type")),
            0,
            Some(2),
            keys.len(),
        )),
    }
}

fn ranged(kind: Option<Kind>) -> Eval<Type> {
    match kind {
        Some(kind) => Ok(kind.into()),
        None => raise("'from' must be less or equal to 'to'"),
    }
}

fn instant(bound: &Value) -> Eval<Option<pcore::Timestamp>> {
    bound_of(bound, &Type::timestamp(), |value| match value {
        Value::Timestamp(time) => Some(time),
        _ => None,
    })
}

fn length(bound: &Value) -> Eval<Option<pcore::Timespan>> {
    bound_of(bound, &Type::timespan(), |value| match value {
        Value::Timespan(length) => Some(length),
        _ => None,
    })
}

fn bound_of<T>(bound: &Value, ty: &Type, take: impl Fn(Value) -> Option<T>) -> Eval<Option<T>> {
    if matches!(bound, Value::Default) {
        return Ok(None);
    }
    match pcore::new_instance(ty, std::slice::from_ref(bound)) {
        Ok(value) => Ok(take(value)),
        Err(error) => raise(error.to_string()),
    }
}

fn semver(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    if keys.is_empty() {
        return Err(blame.arity("A SemVer-Type", 1, None, 0));
    }
    let mut ranges = Vec::with_capacity(keys.len());
    for (place, key) in keys.iter().enumerate() {
        match key {
            Value::SemVerRange(range) => ranges.push(Arc::clone(range)),
            Value::Str(text) => match pcore::SemVerRange::parse(text) {
                Ok(range) => ranges.push(Arc::new(range)),
                Err(error) => return raise(error.to_string()),
            },
            other => return Err(blame.not_allowed(place, ty, other, "String or SemverRange")),
        }
    }
    Ok(Kind::SemVer(ranges).into())
}

fn one_type(blame: &Blame<'_>, what: &str, keys: &[Value]) -> Eval<Type> {
    match keys {
        [Value::Type(ty)] => Ok(ty.clone()),
        [other] => Err(blame.not_types(0, what, other)),
        _ => Err(blame.arity(what, 1, Some(1), keys.len())),
    }
}

fn type_or_text(blame: &Blame<'_>, what: &str, keys: &[Value]) -> Eval<Type> {
    match keys {
        [Value::Str(text)] => Ok(Type::string_value(Arc::clone(text))),
        _ => one_type(blame, what, keys),
    }
}

fn types(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Vec<Type>> {
    if keys.is_empty() {
        let what = label::a_an_uc(&format!("{ty}-Type"));
        return Err(blame.arity(&what, 1, None, 0));
    }
    keys.iter()
        .enumerate()
        .map(|(place, key)| match key {
            Value::Type(ty) => Ok(ty.clone()),
            other => Err(blame.not_allowed(place, ty, other, "Any-Type")),
        })
        .collect()
}

fn integer(blame: &Blame<'_>, keys: &[Value]) -> Eval<Type> {
    if !matches!(keys.len(), 1 | 2) {
        let text = format!(
            "Integer-Type supports [] with one or two arguments (from, to). Got {}",
            keys.len()
        );
        return Err(blame.fail(blame.at, "BAD_INTEGER_SLICE_ARITY", text));
    }
    let range = int_range(keys, |place, other| {
        let text = format!(
            "Integer-Type [] requires all arguments to be integers (or default). Got {}",
            label::ruby_class(other)
        );
        blame.fail(blame.key(place), "BAD_INTEGER_SLICE_TYPE", text)
    })?;
    Ok(Type::integer_in(range))
}

/// One or two integers or defaults as a range.
fn int_range(keys: &[Value], refuse: impl Fn(usize, &Value) -> Box<Unwind>) -> Eval<IntRange> {
    let mut bounds = [None, None];
    for (place, key) in keys.iter().take(2).enumerate() {
        bounds[place] = match key {
            Value::Int(number) => Some(*number),
            Value::Default => None,
            other => return Err(refuse(place, other)),
        };
    }
    let [from, to] = bounds;
    match IntRange::new(from, to) {
        Some(range) => Ok(range),
        None => raise(
            "'from' must be less or equal to 'to'. Got (".to_owned()
                + &format!("{}, {}", from.unwrap_or_default(), to.unwrap_or_default()),
        ),
    }
}

fn float(blame: &Blame<'_>, keys: &[Value]) -> Eval<Type> {
    if !matches!(keys.len(), 1 | 2) {
        let text = format!(
            "Float-Type supports [] with one or two arguments (from, to). Got {}",
            keys.len()
        );
        return Err(blame.fail(blame.at, "BAD_INTEGER_SLICE_ARITY", text));
    }
    let mut bounds = [None, None];
    for (place, key) in keys.iter().enumerate() {
        bounds[place] = match key {
            Value::Int(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Default => None,
            other => {
                let text = format!(
                    "Float-Type [] requires all arguments to be floats, or integers (or default). Got {}",
                    label::ruby_class(other)
                );
                return Err(blame.fail(blame.key(place), "BAD_INTEGER_SLICE_TYPE", text));
            }
        };
    }
    match FloatRange::new(bounds[0], bounds[1]) {
        Some(range) => Ok(Type::float_in(range)),
        None => raise("'from' must be less or equal to 'to'"),
    }
}

/// The size of a collection: an `Integer` type, or one or two integers.
fn size(blame: &Blame<'_>, first: usize, keys: &[Value]) -> Eval<IntRange> {
    if let [Value::Type(ty)] = keys
        && let Kind::Integer(range) = ty.kind()
    {
        return Ok(*range);
    }
    int_range(keys, |place, other| {
        let text = format!(
            "A Type's size constraint arguments must be a single Integer type, or 1-2 integers (or default). Got {}",
            label::a_an(&label::ruby_class(other))
        );
        blame.fail(blame.key(first + place), "BAD_COLLECTION_SLICE_TYPE", text)
    })
}

fn string(blame: &Blame<'_>, keys: &[Value]) -> Eval<Type> {
    if !matches!(keys.len(), 1 | 2) {
        let text = format!(
            "String supports [] with one or two arguments. Got {}",
            keys.len()
        );
        return Err(blame.fail(blame.at, "BAD_STRING_SLICE_ARITY", text));
    }
    let range = size(blame, 0, keys)?;
    Ok(Kind::String(StringType::Size(range.to_size())).into())
}

fn boolean(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    match keys {
        [Value::Bool(flag)] => Ok(Type::boolean_of(*flag)),
        [other] => Err(blame.not_allowed(0, ty, other, "TrueClass or FalseClass")),
        _ => Err(blame.arity("A Boolean-Type", 1, Some(1), keys.len())),
    }
}

fn enumeration(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    let (ignore_case, keys) = match keys {
        [rest @ .., Value::Bool(flag)] => (*flag, rest),
        _ => (false, keys),
    };
    if keys.is_empty() {
        return Err(blame.arity("An Enum-Type", 1, None, 0));
    }
    let mut values = Vec::with_capacity(keys.len());
    for (place, key) in keys.iter().enumerate() {
        match key {
            Value::Str(text) => values.push(Arc::clone(text)),
            other => return Err(blame.not_allowed(place, ty, other, "String")),
        }
    }
    Ok(Kind::Enum(EnumType::new(values, ignore_case)).into())
}

fn pattern(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    if keys.is_empty() {
        return Err(blame.arity("A Pattern-Type", 1, None, 0));
    }
    let mut patterns = Vec::new();
    for (place, key) in keys.iter().enumerate() {
        match key {
            Value::Str(source) => patterns.push(pcore::Regexp::new(&**source)),
            Value::Regexp(regexp) => patterns.push(regexp.clone()),
            Value::Type(inner) => match inner.kind() {
                Kind::Pattern(inner) => patterns.extend(inner.iter().cloned()),
                Kind::Regexp(Some(regexp)) => patterns.push(regexp.clone()),
                _ => return Err(blame.not_allowed(place, ty, key, PATTERN_PARTS)),
            },
            other => return Err(blame.not_allowed(place, ty, other, PATTERN_PARTS)),
        }
    }
    Ok(Type::pattern(patterns))
}

const PATTERN_PARTS: &str = "String or Regexp or Pattern-Type or Regexp-Type";

fn regexp(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    match keys {
        [Value::Str(source)] => Ok(Kind::Regexp(Some(pcore::Regexp::new(&**source))).into()),
        [Value::Regexp(regexp)] => Ok(Kind::Regexp(Some(regexp.clone())).into()),
        [other] => Err(blame.not_allowed(0, ty, other, "String or Regexp")),
        _ => Err(blame.arity("A Regexp-Type", 1, Some(1), keys.len())),
    }
}

fn array(blame: &Blame<'_>, keys: &[Value]) -> Eval<Type> {
    match keys {
        [Value::Type(element)] => Ok(Type::array_of(element.clone())),
        [other] => Err(blame.not_types(0, "Array-Type", other)),
        [Value::Type(element), rest @ ..] if rest.len() <= 2 => Ok(Type::array_sized(
            element.clone(),
            Some(size(blame, 1, rest)?),
        )),
        [_, _] => Ok(Type::array_sized(Type::any(), Some(size(blame, 0, keys)?))),
        [other, _, _] => Err(blame.not_types(0, "Array-Type", other)),
        _ => Err(blame.arity("Array-Type", 1, Some(3), keys.len())),
    }
}

fn hash(blame: &Blame<'_>, keys: &[Value]) -> Eval<Type> {
    if let [Value::Int(_), Value::Int(_)] = keys {
        let range = size(blame, 0, keys)?;
        return Ok(Type::hash_sized(Type::any(), Type::any(), Some(range)));
    }
    for (place, key) in keys.iter().take(2).enumerate() {
        if !matches!(key, Value::Type(_)) {
            return Err(blame.not_types(place, "Hash-Type", key));
        }
    }
    match keys {
        [Value::Type(key), Value::Type(value), rest @ ..] if rest.len() <= 2 => {
            let size = match rest {
                [] => None,
                _ => Some(size(blame, 2, rest)?),
            };
            Ok(Type::hash_sized(key.clone(), value.clone(), size))
        }
        _ => Err(blame.arity("Hash-Type", 2, Some(4), keys.len())),
    }
}

fn tuple(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    let is_bound = |key: &Value| matches!(key, Value::Int(_) | Value::Default);
    let bounds = keys
        .iter()
        .rev()
        .take(2)
        .take_while(|key| is_bound(key))
        .count();
    let (elements, bounds) = keys.split_at(keys.len() - bounds);
    let size = match bounds {
        [] => None,
        _ => Some(size(blame, elements.len(), bounds)?),
    };
    Ok(Type::tuple_of(types(blame, ty, elements)?, size))
}

fn structure(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    let entries = match keys {
        [Value::Hash(entries)] => entries,
        [other] => return Err(blame.not_allowed(0, ty, other, "Hash")),
        _ => return Err(blame.arity("A Struct-Type", 1, Some(1), keys.len())),
    };
    let mut elements = Vec::with_capacity(entries.len());
    for (key, value) in entries.iter() {
        let Value::Type(value) = value else {
            return raise(format!(
                "Struct element value type must be a Type, got {}",
                label::ruby_class(value)
            ));
        };
        let element = match key {
            Value::Str(name) if !name.is_empty() => {
                StructElement::new(Arc::clone(name), value.accepts_undef(), value.clone())
            }
            Value::Type(key) => match (key_name(key), key.kind()) {
                (Some(name), Kind::Optional(_)) => StructElement::new(name, true, value.clone()),
                (Some(name), _) => StructElement::new(name, false, value.clone()),
                (None, _) => return bad_struct_key(),
            },
            _ => return bad_struct_key(),
        };
        elements.push(element);
    }
    Ok(Type::struct_of(elements))
}

fn bad_struct_key() -> Eval<Type> {
    raise("Illegal Struct member key type. Expected NotUndef, Optional, or String")
}

/// The text of a key that is a type.
fn key_name(key: &Type) -> Option<Arc<str>> {
    match key.kind() {
        Kind::String(StringType::Value(name)) => Some(Arc::clone(name)),
        Kind::Optional(Some(inner)) | Kind::NotUndef(Some(inner)) => key_name(inner),
        _ => None,
    }
}

fn callable(blame: &Blame<'_>, ty: &Type, keys: &[Value]) -> Eval<Type> {
    let (keys, returns) = match keys {
        [Value::Array(parameters), Value::Type(returns)] => {
            (parameters.as_slice(), Some(returns.clone()))
        }
        [Value::Array(_), ..] if keys.len() != 2 => {
            return Err(blame.arity(&format!("A {ty}-Type"), 2, Some(2), keys.len()));
        }
        _ => (keys, None),
    };
    let keys = flat(keys.to_vec());
    let (keys, block) = match keys.as_slice() {
        [rest @ .., Value::Type(last)] if last.is_callable(true) => (rest, Some(last.clone())),
        _ => (keys.as_slice(), None),
    };
    let bounds = keys
        .iter()
        .rev()
        .take(2)
        .take_while(|key| matches!(key, Value::Int(_) | Value::Default))
        .count();
    let (parameters, bounds) = keys.split_at(keys.len() - bounds);
    let types: Vec<Type> = parameters
        .iter()
        .enumerate()
        .map(|(place, key)| match key {
            Value::Type(ty) => Ok(ty.clone()),
            other => Err(blame.not_allowed(place, ty, other, "Any-Type")),
        })
        .collect::<Eval<_>>()?;
    let size = match bounds {
        [] if types.is_empty() => Some(IntRange::EMPTY),
        [] => None,
        _ => Some(size(blame, types.len(), bounds)?),
    };
    let types = if types.is_empty() && !bounds.is_empty() {
        vec![Type::unit()]
    } else {
        types
    };
    let tuple = pcore::TupleType::new(types, size);
    Ok(Type::callable_of(CallableType::new(
        Some(tuple),
        block,
        returns,
    )))
}

/// `Resource['file']`, `File['/x']`, several titles at once.
fn resource(
    blame: &Blame<'_>,
    ty: &Type,
    type_name: Option<&Arc<str>>,
    title: Option<&Arc<str>>,
    keys: Vec<Value>,
) -> Eval {
    if keys.is_empty() {
        return Err(blame.arity(&ty.to_string(), 1, None, 0));
    }
    let mut keys = keys;
    let name: Arc<str> = match type_name {
        Some(name) => Arc::clone(name),
        None => match keys.remove(0) {
            Value::Str(name) => capitalized(&name),
            Value::Type(given) => match given.kind() {
                Kind::Resource {
                    type_name: Some(name),
                    ..
                } => Arc::clone(name),
                _ => return Err(illegal_resource(blame, &Value::Type(given.clone()))),
            },
            other => return Err(illegal_resource(blame, &other)),
        },
    };
    if let Some(title) = title {
        let text = format!("Resource not found: {name}['{title}']");
        return Err(blame.fail(blame.at, "UNKNOWN_RESOURCE", text));
    }
    let gives_list = keys.len() > 1 || matches!(keys.first(), Some(Value::Array(_)));
    let had_keys = !keys.is_empty();
    let mut titles = flat(keys);
    titles.retain(|title| !title.is_undef());
    if titles.is_empty() && had_keys {
        return Ok(if gives_list {
            Value::array(Vec::new())
        } else {
            Value::Undef
        });
    }
    if titles.is_empty() {
        return Ok(Value::Type(Type::resource_of(&name, None)));
    }
    let mut made = Vec::with_capacity(titles.len());
    for (place, title) in titles.iter().enumerate() {
        let Value::Str(title) = title else {
            let text = format!(
                "Error creating type specialization of {}, Cannot use {} where a resource title String is expected",
                label::a_an(&format!("{ty}-Type")),
                key_type(title)
            );
            return Err(blame.fail(blame.key(place), "BAD_TYPE_SPECIALIZATION", text));
        };
        made.push(Value::Type(Type::resource_of(&name, Some(title))));
    }
    Ok(one_or_list(made, gives_list))
}

#[cold]
fn illegal_resource(blame: &Blame<'_>, actual: &Value) -> Box<Unwind> {
    let text = format!(
        "First argument to Resource[] must be a resource type or a String. Got {}.",
        key_type(actual)
    );
    blame.fail(blame.key(0), "ILLEGAL_RESOURCE_SPECIALIZATION", text)
}

fn class(blame: &Blame<'_>, ty: &Type, name: Option<&Arc<str>>, keys: Vec<Value>) -> Eval {
    if keys.is_empty() {
        return Err(blame.arity(&ty.to_string(), 1, None, 0));
    }
    if let Some(name) = name {
        let text = format!("Resource not found: Class['{name}']");
        return Err(blame.fail(blame.at, "UNKNOWN_RESOURCE", text));
    }
    let gives_list = keys.len() > 1 || matches!(keys.first(), Some(Value::Array(_)));
    let mut names = flat(keys);
    names.retain(|name| !name.is_undef());
    let mut made = Vec::with_capacity(names.len());
    for (place, name) in names.iter().enumerate() {
        let Value::Str(given) = name else {
            let text = format!(
                "Illegal Class name in class reference. {} cannot be used where a String is expected",
                label::a_an_uc(&label::of_value(name))
            );
            return Err(blame.fail(blame.key(place), "ILLEGAL_HOSTCLASS_NAME", text));
        };
        let name = given.to_lowercase();
        let name = name.strip_prefix("::").unwrap_or(&name);
        if !is_name(name) {
            let text = format!(
                "Illegal name. The given name '{given}' does not conform to the naming rule /^((::)?[a-z_]\\w*)(::[a-z]\\w*)*$/"
            );
            return Err(blame.fail(blame.key(place), "ILLEGAL_NAME", text));
        }
        made.push(Value::Type(Type::class_of(name)));
    }
    Ok(one_or_list(made, gives_list))
}

fn one_or_list(mut made: Vec<Value>, gives_list: bool) -> Value {
    if gives_list {
        Value::array(made)
    } else {
        made.pop().unwrap_or_default()
    }
}

fn is_name(name: &str) -> bool {
    name.split("::").all(|segment| {
        segment.starts_with(|it: char| it.is_ascii_lowercase())
            && segment
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '_')
    })
}
