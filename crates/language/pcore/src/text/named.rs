//! Printing of named types: resources, aliases, objects, type sets, runtime types.

use super::printer::Printer;
use super::quote::quote;
use super::regexp_literal;
use crate::types::{Kind, ObjectType, RuntimeName, RuntimeType, Type, TypeSetType};
use crate::value::{Object, Value};

/// Aliases that stand for themselves in every text.
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

impl Printer {
    pub(super) fn named(&mut self, ty: &Type) {
        match ty.kind() {
            Kind::Resource {
                type_name: None, ..
            } => self.push("Resource"),
            Kind::Resource {
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
            Kind::Uri(parameters) => {
                self.push("URI");
                if let Some(parameters) = parameters {
                    self.push("[");
                    self.value(parameters);
                    self.push("]");
                }
            }
            Kind::Runtime(runtime) => self.runtime(runtime),
            Kind::Init(init) => {
                self.push("Init");
                if let Some(ty) = &init.ty {
                    self.push("[");
                    self.ty(ty);
                    for argument in &init.arguments {
                        self.push(", ");
                        self.value(argument);
                    }
                    self.push("]");
                }
            }
            Kind::Object(object) if self.expanded => self.object_body(object, true),
            Kind::Object(object) => self.push(object.label()),
            Kind::ObjectExtension { base, parameters } => self.extension(base, parameters),
            Kind::TypeSet(set) => self.type_set(set.as_deref()),
            Kind::Alias(_) => self.alias(ty),
            Kind::Reference(text) => {
                self.push("TypeReference[");
                self.push(&quote(text));
                self.push("]");
            }
            // the rest was printed before
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
        let Kind::Alias(alias) = ty.kind() else {
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
            Some(resolved) => self.ty(resolved),
            None => self.push("TypeReference['UnresolvedReference']"),
        }
        self.open.pop();
    }

    fn extension(&mut self, base: &ObjectType, parameters: &Value) {
        self.push(base.label());
        self.push("[");
        let all = base.all_type_parameters();
        let given = parameters.as_hash();
        if all.len() > 2 {
            self.value(parameters);
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
                self.value(value);
            }
        }
        self.push("]");
    }

    /// `Object[{..}]` with the names of its parts unquoted.
    fn object_body(&mut self, object: &ObjectType, with_name: bool) {
        self.expanded = false;
        self.push("Object[");
        let body = object.init_hash(with_name);
        self.braces(body.iter(), |printer, (key, value)| {
            let name = key.as_str().unwrap_or_default();
            printer.push(name);
            printer.push(" => ");
            match (name, value) {
                ("attributes" | "functions", Value::Hash(members)) => {
                    printer.braces(members.iter(), |printer, (name, member)| {
                        printer.value(name);
                        printer.push(" => ");
                        printer.member(member);
                    });
                }
                _ => printer.value(value),
            }
        });
        self.push("]");
        self.expanded = true;
    }

    fn member(&mut self, member: &Value) {
        let Value::Hash(features) = member else {
            self.value(member);
            return;
        };
        self.braces(features.iter(), |printer, (key, value)| {
            let name = key.as_str().unwrap_or_default();
            printer.push(name);
            printer.push(" => ");
            match (name, value) {
                ("kind", Value::Str(kind)) => printer.push(kind),
                _ => printer.value(value),
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
        self.braces(entries.iter(), |printer, (key, value)| {
            let name = key.as_str().unwrap_or_default();
            printer.push(name);
            printer.push(" => ");
            match (name, value) {
                ("types" | "references", Value::Hash(members)) => {
                    printer.braces(members.iter(), |printer, (name, member)| {
                        printer.push(name.as_str().unwrap_or_default());
                        printer.push(" => ");
                        printer.value(member);
                    });
                }
                _ => printer.value(value),
            }
        });
        self.push("]");
    }

    /// `Name({'a' => 1})`.
    pub(super) fn object(&mut self, object: &dyn Object) {
        let ty = object.object_type();
        match ty.kind() {
            Kind::Object(of) | Kind::ObjectExtension { base: of, .. } => {
                self.push(of.label());
                self.push("(");
                self.hash(&object.init_hash());
                self.push(")");
            }
            _ => {
                self.push("Instance of ");
                self.ty(&ty);
            }
        }
    }
}

/// `File` of `file`, `Foo::Bar` of `foo::bar`; what begins with a capital stays.
pub(crate) fn capitalize_segments(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        return name.to_owned();
    }
    let segments: Vec<String> = name.split("::").map(capitalize).collect();
    segments.join("::")
}

/// Ruby's `capitalize`: the first letter large, the others small.
pub(crate) fn capitalize(text: &str) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().collect::<String>() + &chars.as_str().to_lowercase(),
        None => String::new(),
    }
}
