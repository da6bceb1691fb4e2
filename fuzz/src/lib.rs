//! The entry functions that the fuzz targets share with the crates' property tests.

#[path = "../../crates/language/compiler/tests/it/entry.rs"]
mod compiler_entry;
#[path = "../../crates/code/environments/tests/it/entry.rs"]
mod environments_entry;
#[path = "../../crates/language/native-ruby/tests/it/entry.rs"]
mod native_ruby_entry;
#[path = "../../crates/language/evaluator/tests/it/entry.rs"]
mod evaluator_entry;
#[path = "../../crates/language/eyaml/tests/it/entry.rs"]
mod eyaml_entry;
#[path = "../../crates/language/hiera/tests/it/entry.rs"]
mod hiera_entry;
#[path = "../../crates/base/hocon/tests/it/entry.rs"]
mod hocon_entry;
#[path = "../../crates/language/pcore/tests/it/entry.rs"]
mod pcore_entry;
#[path = "../../crates/wire/pcp/tests/it/entry.rs"]
mod pcp_entry;
#[path = "../../crates/language/psych/tests/it/entry.rs"]
mod psych_entry;
#[path = "../../crates/wire/pxp/tests/it/entry.rs"]
mod pxp_entry;
#[path = "../../crates/language/resource-types/tests/it/entry.rs"]
mod resource_types_entry;
#[path = "../../crates/language/ruby-regex/tests/it/entry.rs"]
mod ruby_regex_entry;
#[path = "../../crates/language/syntax/tests/it/entry.rs"]
mod syntax_entry;
#[allow(dead_code, reason = "only a part of the tests' world is used here")]
#[path = "../../crates/language/compiler/tests/it/world.rs"]
mod world;
#[path = "../../crates/base/ws/tests/it/entry.rs"]
mod ws_entry;

/// WebSocket frames, as both roles.
pub fn ws_decoder(data: &[u8]) {
    ws_entry::decoder(data);
}

/// Heads of the WebSocket handshake.
pub fn ws_handshake(data: &[u8]) {
    ws_entry::handshake(data);
}

/// PCP 1 frames.
pub fn pcp_v1(data: &[u8]) {
    pcp_entry::v1_frame(data);
}

/// PCP 2 texts.
pub fn pcp_v2(data: &[u8]) {
    pcp_entry::v2_text(data);
}

/// The data of PXP messages.
pub fn pxp_body(data: &[u8]) {
    pxp_entry::bodies(data);
}

/// Capabilities headers.
pub fn pxp_capabilities(data: &[u8]) {
    pxp_entry::capabilities(data);
}

/// Task metadata files.
pub fn task_metadata(data: &[u8]) {
    environments_entry::task_metadata(data);
}

/// Types of task parameters.
pub fn parameter_type(data: &[u8]) {
    environments_entry::parameter_type(data);
}

/// Manifests and plans.
pub fn manifest(data: &[u8]) {
    syntax_entry::manifest(data);
}

/// EPP templates.
pub fn template(data: &[u8]) {
    syntax_entry::template(data);
}

/// YAML documents.
pub fn psych_document(data: &[u8]) {
    psych_entry::document(data);
}

/// Patterns of the Puppet language, each on a text.
pub fn ruby_regex(data: &[u8]) {
    ruby_regex_entry::pattern_and_text(data);
}

/// Values of hiera-eyaml, envelopes and keys.
pub fn eyaml_value(data: &[u8]) {
    eyaml_entry::value(data);
}

/// Programs, evaluated with a small budget.
pub fn program(data: &[u8]) {
    evaluator_entry::program(data);
}

/// A `hiera.yaml`, a file of data, keys; NUL between them.
pub fn hiera_site(data: &[u8]) {
    hiera_entry::site(data);
}

/// HOCON documents.
pub fn hocon_document(data: &[u8]) {
    hocon_entry::document(data);
}

/// Two types and a value, a line each.
pub fn pcore_types(data: &[u8]) {
    pcore_entry::types(data);
}

/// Files of `puppet generate types`.
pub fn generated_type(data: &[u8]) {
    resource_types_entry::generated_type(data);
}

/// Type files in Ruby.
pub fn ruby_type(data: &[u8]) {
    resource_types_entry::ruby_type(data);
}

/// ERB templates, parsed and rendered.
pub fn erb_template(data: &[u8]) {
    native_ruby_entry::template(data);
}

/// Files of functions in Ruby, and bodies of their methods, read and called.
pub fn ruby_function(data: &[u8]) {
    native_ruby_entry::function(data);
}

/// Site manifests, compiled to a catalog.
pub fn catalog(data: &[u8]) {
    compiler_entry::manifest(data);
}
