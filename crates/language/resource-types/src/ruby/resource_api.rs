//! The hash of `Puppet::ResourceApi.register_type`: [`read`].
//!
//! Invariant: keys and the values that decide about attributes are literals.

use std::collections::HashSet;
use std::ops::Range;

use ruby_regex::Regex;

use super::code::CodeCheck;
use super::declaration::is_attribute_name;
use super::lexer::RubyFault;
use super::providers::has_provider;
use super::token::RubyTokenKind;
use crate::{ResourceType, ResourceTypeBuilder, ResourceTypeOrigin, TitlePattern};

/// A pair of a hash literal.
struct HashPair {
    key: String,
    value: Range<usize>,
}

/// An attribute with its `behaviour`; `None` for a property.
struct ApiAttribute {
    name: String,
    behaviour: Option<String>,
}

/// Attributes that the Resource API refuses.
const REFUSED: &[&str] = &[
    "title",
    "provider",
    "alias",
    "audit",
    "before",
    "consume",
    "export",
    "loglevel",
    "noop",
    "notify",
    "require",
    "schedule",
    "stage",
    "subscribe",
    "tag",
];

/// Reads a type from the call of `register_type` whose name stands at `call`.
pub(super) fn read(
    check: &mut CodeCheck<'_, '_>,
    call: usize,
    statement: &Range<usize>,
) -> Result<ResourceType, RubyFault> {
    let arguments = check.call_parts(call, statement)?.arguments;
    let mut pairs = arguments.clone();
    if check.file.is_operator(pairs.start, "{")
        && let [only] = &*check.file.items(arguments)
        && check.file.end_of(only.start) + 1 == only.end
    {
        pairs = check.file.inside(only.start);
    }
    let mut definition = ApiDefinition::default();
    for pair in check.pairs(pairs)? {
        definition.take(check, pair)?;
    }
    if definition.name.as_deref() != Some(check.type_name) {
        let reason = format!("the file does not declare the type {}", check.type_name);
        return check.fault(call, &reason);
    }
    definition.build(check, call)
}

/// The parts of a definition that matter.
#[derive(Default)]
struct ApiDefinition {
    name: Option<String>,
    attributes: Option<Vec<ApiAttribute>>,
    title_patterns: Option<Vec<TitlePattern>>,
    has_custom_insync: bool,
}

impl ApiDefinition {
    fn take(&mut self, check: &mut CodeCheck<'_, '_>, pair: HashPair) -> Result<(), RubyFault> {
        let HashPair { key, value } = pair;
        match &*key {
            "name" => self.name = Some(check.plain_text(&value)?),
            "attributes" => self.attributes = Some(check.api_attributes(&value)?),
            "title_patterns" => {
                let items = check.array(&value)?;
                let patterns = items.iter().map(|item| check.api_pattern(item));
                self.title_patterns = Some(patterns.collect::<Result<_, _>>()?);
            }
            "features" => {
                let features = check.plain_texts(&value)?;
                self.has_custom_insync = features.iter().any(|it| it == "custom_insync");
            }
            _ => check.check_statement(value)?,
        }
        Ok(())
    }

    fn build(self, check: &CodeCheck<'_, '_>, call: usize) -> Result<ResourceType, RubyFault> {
        let Some(attributes) = self.attributes else {
            return check.fault(call, "the type has no attributes");
        };
        if self.has_custom_insync && attributes.iter().all(|it| it.behaviour.is_some()) {
            return check.fault(call, "the feature custom_insync adds an attribute");
        }
        let mut builder = ResourceTypeBuilder::new(check.type_name, ResourceTypeOrigin::Ruby);
        let mut first_variable = None;
        for ApiAttribute { name, behaviour } in &attributes {
            match behaviour.as_deref() {
                None | Some("init_only") => builder.add_property(name, false),
                Some("namevar") => {
                    builder.add_parameter(name, true);
                    first_variable.get_or_insert(name);
                }
                _ => builder.add_parameter(name, false),
            }
        }
        let Some(first_variable) = first_variable else {
            return check.fault(call, "the type has no attribute with the behaviour namevar");
        };
        let default = || vec![TitlePattern::whole_title(first_variable)];
        builder.set_title_patterns(self.title_patterns.unwrap_or_else(default));
        if has_provider(check.library, check.type_name)? {
            builder.add_parameter("provider", false);
        }
        builder.build().map_err(|error| RubyFault {
            line: check.file.line(call),
            reason: error.to_string(),
        })
    }
}

impl CodeCheck<'_, '_> {
    /// The pairs of a hash literal; keys must be plain.
    fn pairs(&self, range: Range<usize>) -> Result<Vec<HashPair>, RubyFault> {
        let items = self.file.items(range).into_iter();
        let pairs = items.map(|item| {
            let start = item.start;
            let (key, value) = match self.file.kind(start) {
                Some(RubyTokenKind::Label(Some(key))) => (key, start + 1),
                Some(RubyTokenKind::Symbol(Some(key)))
                    if self.file.is_operator(start + 1, "=>") =>
                {
                    (key, start + 2)
                }
                _ => return self.fault(start, "a key of the definition is not plain"),
            };
            let mut value = value..item.end;
            while self.file.kind(value.start) == Some(&RubyTokenKind::Newline) && !value.is_empty()
            {
                value.start += 1;
            }
            let key = key.clone();
            Ok(HashPair { key, value })
        });
        let pairs: Vec<HashPair> = pairs.collect::<Result<_, _>>()?;
        let mut keys = HashSet::new();
        for pair in &pairs {
            if !keys.insert(&pair.key) {
                return self.fault(pair.value.start, "a key of the definition stands twice");
            }
        }
        Ok(pairs)
    }

    /// The pairs of `{ … }` that takes the whole range.
    fn hash(&self, range: &Range<usize>) -> Result<Vec<HashPair>, RubyFault> {
        let open = range.start;
        match self.file.is_operator(open, "{") && self.file.end_of(open) + 1 == range.end {
            true => self.pairs(self.file.inside(open)),
            false => self.fault(open, "a value that is no plain hash"),
        }
    }

    fn plain_text(&self, range: &Range<usize>) -> Result<String, RubyFault> {
        match self.file.kind(range.start) {
            Some(RubyTokenKind::Text(Some(text)) | RubyTokenKind::Symbol(Some(text)))
                if range.len() == 1 =>
            {
                Ok(text.clone())
            }
            _ => self.fault(range.start, "a value that is no plain text"),
        }
    }

    fn plain_texts(&self, range: &Range<usize>) -> Result<Vec<String>, RubyFault> {
        if let Some(RubyTokenKind::Words(Some(words))) = self.file.kind(range.start)
            && range.len() == 1
        {
            return Ok(words.clone());
        }
        let items = self.array(range)?;
        items.iter().map(|item| self.plain_text(item)).collect()
    }

    fn api_attributes(&mut self, range: &Range<usize>) -> Result<Vec<ApiAttribute>, RubyFault> {
        let mut attributes: Vec<ApiAttribute> = Vec::new();
        for HashPair { key, value } in self.hash(range)? {
            let is_valid = is_attribute_name(&key) && !REFUSED.contains(&&*key);
            if !is_valid {
                return self.fault(value.start, "the name of an attribute is unusual");
            }
            let mut behaviour = None;
            for option in self.hash(&value)? {
                match &*option.key {
                    "behaviour" | "behavior" if behaviour.is_none() => {
                        behaviour = Some(self.behaviour(&option.value)?);
                    }
                    "behaviour" | "behavior" => {
                        return self.fault(option.value.start, "a second behaviour");
                    }
                    _ => self.check_statement(option.value)?,
                }
            }
            attributes.push(ApiAttribute {
                name: key,
                behaviour,
            });
        }
        Ok(attributes)
    }

    fn behaviour(&self, range: &Range<usize>) -> Result<String, RubyFault> {
        const KNOWN: &[&str] = &["read_only", "namevar", "parameter", "init_only"];
        match self.file.kind(range.start) {
            Some(RubyTokenKind::Symbol(Some(name)))
                if range.len() == 1 && KNOWN.contains(&&**name) =>
            {
                Ok(name.clone())
            }
            _ => self.fault(range.start, "the behaviour of an attribute is unusual"),
        }
    }

    /// Reads `{ pattern: /(?<name>.*)/, desc: '…' }`: the names of the groups are the attributes.
    fn api_pattern(&self, range: &Range<usize>) -> Result<TitlePattern, RubyFault> {
        for pair in self.hash(range)? {
            if pair.key == "pattern" {
                let (source, flags) = self.plain_regex(&pair.value)?;
                let regex = Regex::with_flags(source, flags).map_err(|error| RubyFault {
                    line: self.file.line(pair.value.start),
                    reason: error.to_string(),
                })?;
                let names = regex.names().iter().map(|(name, _)| name.as_str());
                let names: Vec<&str> = names.collect();
                return self.title_pattern(pair.value.start, source, flags, &names);
            }
        }
        self.fault(range.start, "a title pattern without the key `pattern`")
    }
}
