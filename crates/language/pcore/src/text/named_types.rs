//! Printing of named types: resources, aliases, objects, type sets, runtime types.

use super::printer::ValuePrinter;
use super::quote::quote;
use super::regexp_literal;
use crate::types::{ObjectTypeDefinition, RuntimeName, RuntimeType, Type, TypeKind, TypeSetType};
use crate::value::{PuppetObject, Value};

/// Aliases that are shown by name in every text.
const BUILT_IN_ALIASES: [&str; 5] = [
    "Data",
    "RichDataKey",
    "RichData",
    "Puppet::LookupKey",
    "Puppet::LookupValue",
];

/// Text of the unparameterized `TypeSet`, which Puppet prints in full.
const ANY_TYPE_SET: &str = "TypeSet[{pcore_uri => 'http://puppet.com/2016.1/pcore', \
    pcore_version => '1.0.0', name_authority => 'http://puppet.com/2016.1/runtime', \
    name => 'DefaultTypeSet', version => '0.0.0'}]";

impl ValuePrinter {
    pub(super) fn print_named_type(&mut self, ty: &Type) {
        match ty.kind() {
            TypeKind::Resource {
                type_name: None, ..
            } => self.push("Resource"),
            TypeKind::Resource {
                type_name: Some(name),
                title,
            } => {
                self.push(&capitalize_segments(name));
                if let Some(title) = title {
                    self.push("[");
                    self.push(&quote(title));
                    self.push("]");
                }
            }
            TypeKind::Uri(parameters) => {
                self.push("URI");
                if let Some(parameters) = parameters {
                    self.push("[");
                    self.print_value(parameters);
                    self.push("]");
                }
            }
            TypeKind::Runtime(runtime) => self.runtime(runtime),
            TypeKind::Init(init) => {
                self.push("Init");
                if let Some(ty) = &init.ty {
                    self.push("[");
                    self.print_type(ty);
                    for argument in &init.arguments {
                        self.push(", ");
                        self.print_value(argument);
                    }
                    self.push("]");
                }
            }
            TypeKind::Object(object) if self.expanded => self.object_body(object, true),
            TypeKind::Object(object) => self.push(object.label()),
            TypeKind::ObjectExtension { base, parameters } => self.extension(base, parameters),
            TypeKind::TypeSet(set) => self.type_set(set.as_deref()),
            TypeKind::Alias(_) => self.alias(ty),
            TypeKind::Reference(text) => {
                self.push("TypeReference[");
                self.push(&quote(text));
                self.push("]");
            }
            // the parameters were printed before
            _ => {}
        }
    }

    fn runtime(&mut self, runtime: &RuntimeType) {
        self.push("Runtime");
        if runtime.runtime.is_none() && runtime.name.is_none() {
            return;
        }
        self.push("[");
        self.push(runtime.runtime.as_deref().unwrap_or("undef"));
        self.push(", ");
        let name = match &runtime.name {
            None => "undef".to_owned(),
            Some(RuntimeName::Name(name)) => quote(name),
            Some(RuntimeName::Pattern(pattern, name)) => {
                format!("[{}, {}]", regexp_literal(pattern), quote(name))
            }
        };
        self.push(&name);
        self.push("]");
    }

    fn alias(&mut self, ty: &Type) {
        let TypeKind::Alias(alias) = ty.kind() else {
            return;
        };
        let address = ty.address();
        self.push(alias.name());
        if !self.expanded
            || BUILT_IN_ALIASES.contains(&alias.name())
            || self.open.contains(&address)
        {
            return;
        }
        self.push(" = ");
        self.open.push(address);
        match alias.resolved() {
            Some(resolved) => self.print_type(resolved),
            None => self.push("TypeReference['UnresolvedReference']"),
        }
        self.open.pop();
    }

    fn extension(&mut self, base: &ObjectTypeDefinition, parameters: &Value) {
        self.push(base.label());
        self.push("[");
        let all = base.all_type_parameters();
        let given = parameters.as_hash();
        if all.len() > 2 {
            self.print_value(parameters);
        } else {
            let mut values: Vec<Value> = all
                .keys()
                .map(|name| {
                    given
                        .and_then(|given| given.get_str(name))
                        .cloned()
                        .unwrap_or(Value::Default)
                })
                .collect();
            while matches!(values.last(), Some(Value::Default)) {
                values.pop();
            }
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    self.push(", ");
                }
                self.print_value(value);
            }
        }
        self.push("]");
    }

    /// `Object[{..}]` with the names of its parts unquoted.
    fn object_body(&mut self, object: &ObjectTypeDefinition, with_name: bool) {
        self.expanded = false;
        self.push("Object[");
        let body = object.init_hash(with_name);
        self.print_braced(body.iter(), |printer, (key, value)| {
            let name = key.as_str().unwrap_or_default();
            printer.push(name);
            printer.push(" => ");
            match (name, value) {
                ("attributes" | "functions", Value::Hash(members)) => {
                    printer.print_braced(members.iter(), |printer, (name, member)| {
                        printer.print_value(name);
                        printer.push(" => ");
                        printer.member(member);
                    });
                }
                _ => printer.print_value(value),
            }
        });
        self.push("]");
        self.expanded = true;
    }

    fn member(&mut self, member: &Value) {
        let Value::Hash(features) = member else {
            self.print_value(member);
            return;
        };
        self.print_braced(features.iter(), |printer, (key, value)| {
            let name = key.as_str().unwrap_or_default();
            printer.push(name);
            printer.push(" => ");
            match (name, value) {
                ("kind", Value::Str(kind)) => printer.push(kind),
                _ => printer.print_value(value),
            }
        });
    }

    fn type_set(&mut self, set: Option<&TypeSetType>) {
        let Some(set) = set else {
            self.push(ANY_TYPE_SET);
            return;
        };
        self.push("TypeSet[");
        let entries = set.init.as_hash().cloned().unwrap_or_default();
        self.print_braced(entries.iter(), |printer, (key, value)| {
            let name = key.as_str().unwrap_or_default();
            printer.push(name);
            printer.push(" => ");
            match (name, value) {
                ("types" | "references", Value::Hash(members)) => {
                    printer.print_braced(members.iter(), |printer, (name, member)| {
                        printer.push(name.as_str().unwrap_or_default());
                        printer.push(" => ");
                        printer.print_value(member);
                    });
                }
                _ => printer.print_value(value),
            }
        });
        self.push("]");
    }

    /// `Name({'a' => 1})`.
    pub(super) fn print_object(&mut self, object: &dyn PuppetObject) {
        let ty = object.object_type();
        match ty.kind() {
            TypeKind::Object(of) | TypeKind::ObjectExtension { base: of, .. } => {
                self.push(of.label());
                self.push("(");
                self.print_hash(&object.init_hash());
                self.push(")");
            }
            _ => {
                self.push("Instance of ");
                self.print_type(&ty);
            }
        }
    }
}

/// `File` for `file`, `Foo::Bar` for `foo::bar`; segments that begin with a capital letter stay.
pub(crate) fn capitalize_segments(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return name.to_owned();
    }
    let segments: Vec<String> = name.split("::").map(capitalize).collect();
    segments.join("::")
}

/// Ruby's `capitalize`: the first letter in upper case, the others in lower case.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().collect::<String>() + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}
