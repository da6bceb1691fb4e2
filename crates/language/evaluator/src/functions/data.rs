//! `lookup` and `hiera`, which the host implements, and functions that need a catalog.

use crate::Evaluator;
use crate::error::{EvalError, EvalResult};
use crate::function::{CallArguments, FunctionDispatch, FunctionSpec, any, one, optional};

const NAME: &str = "NameType";
const VALUE: &str = "ValueType";
const MERGE: &str = "MergeType";

const LOOKUP_TYPES: &[(&str, &str)] = &[
    (NAME, "Variant[String, Array[String]]"),
    (VALUE, "Type"),
    ("DefaultValueType", "Any"),
    (MERGE, "Variant[String[1], Hash[String, Scalar]]"),
    ("BlockType", "Callable[NameType]"),
    (
        "OptionsWithName",
        "Struct[{name => NameType, value_type => Optional[ValueType], \
         default_value => Optional[DefaultValueType], override => Optional[Hash[String,Any]], \
         default_values_hash => Optional[Hash[String,Any]], merge => Optional[MergeType]}]",
    ),
    (
        "OptionsWithoutName",
        "Struct[{value_type => Optional[ValueType], \
         default_value => Optional[DefaultValueType], override => Optional[Hash[String,Any]], \
         default_values_hash => Optional[Hash[String,Any]], merge => Optional[MergeType]}]",
    ),
];

/// Signatures of the functions of Hiera 3.
const OLD_FORMS: &[FunctionDispatch] = &[
    FunctionDispatch::new(&[one("Tuple[String, Any, Any, 1, 3]", "args")], lookup),
    FunctionDispatch::new(&[one("String", "key")], lookup),
    FunctionDispatch::new(
        &[
            one("String", "key"),
            one("Any", "default"),
            optional("Any", "override"),
        ],
        lookup,
    ),
    FunctionDispatch::new(&[one("String", "key")], lookup).with_block("Callable[1,1]"),
    FunctionDispatch::new(&[one("String", "key"), one("Any", "override")], lookup)
        .with_block("Callable[1,1]"),
];

const LOOKUP: FunctionSpec = FunctionSpec::new(
    "lookup",
    &[
        FunctionDispatch::new(
            &[
                one(NAME, "name"),
                optional(VALUE, "value_type"),
                optional(MERGE, "merge"),
            ],
            lookup,
        ),
        FunctionDispatch::new(
            &[
                one(NAME, "name"),
                one("Optional[ValueType]", "value_type"),
                one("Optional[MergeType]", "merge"),
                one("DefaultValueType", "default_value"),
            ],
            lookup,
        ),
        FunctionDispatch::new(
            &[
                one(NAME, "name"),
                optional(VALUE, "value_type"),
                optional(MERGE, "merge"),
            ],
            lookup,
        )
        .with_block("BlockType"),
        FunctionDispatch::new(&[one("OptionsWithName", "options_hash")], lookup)
            .with_optional_block("BlockType"),
        FunctionDispatch::new(
            &[
                one("Variant[String,Array[String]]", "name"),
                one("OptionsWithoutName", "options_hash"),
            ],
            lookup,
        )
        .with_optional_block("BlockType"),
    ],
)
.with_types(LOOKUP_TYPES);

macro_rules! catalog {
    ($($name:literal),+) => {
        &[
            LOOKUP,
            FunctionSpec::new("hiera", OLD_FORMS),
            FunctionSpec::new("hiera_array", OLD_FORMS),
            FunctionSpec::new("hiera_hash", OLD_FORMS),
            $(FunctionSpec::new($name, &[FunctionDispatch::new(&[any("Any", "arguments")], needs_catalog).with_optional_block("")]),)+
        ]
    };
}

pub(super) static FUNCTIONS: &[FunctionSpec] = catalog!(
    "include",
    "require",
    "contain",
    "realize",
    "tag",
    "tagged",
    "create_resources",
    "hiera_include"
);

/// Passes the call to the host, which distinguishes the functions by the call's name.
fn lookup(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let host = evaluator.host();
    host.lookup(evaluator, &mut call)
}

/// Passes the call to a host with a catalog; otherwise it is an error at the line of the call, as
/// in Puppet.
fn needs_catalog(evaluator: &mut Evaluator<'_>, mut call: CallArguments<'_>) -> EvalResult {
    let host = evaluator.host();
    if let Some(result) = host.unknown_function(evaluator, &mut call) {
        return result;
    }
    let text = format!(
        "The catalog operation '{}' is only available when compiling a catalog",
        call.name
    );
    let mut place = call.location();
    place.column = 0;
    Err(EvalError::preformatted(
        "CATALOG_OPERATION_NOT_SUPPORTED_WHEN_SCRIPTING",
        text,
        place,
    )
    .into())
}
