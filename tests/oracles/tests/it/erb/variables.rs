//! Made-up variables for templates, and calls of all methods with values of all kinds.

use serde_json::{Map, Value as Json, json};

/// Pseudo-random variables.
pub(super) struct VariableMaker(u64);

// === impl VariableMaker ===

impl VariableMaker {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A value for each variable that a template names.
    pub(super) fn variables(&mut self, template: &str) -> Json {
        let mut names: Vec<String> = names_after(template, "@");
        for start in ["scope['", "scope[\"", "lookupvar('", "lookupvar(\""] {
            names.extend(names_after(template, start));
        }
        let mut variables = Map::new();
        for name in names {
            let value = self.value(&name, 0);
            variables.insert(name.trim_start_matches("::").to_owned(), value);
        }
        // keys that templates look for in hashes of these
        let keys = names_after(template, "['");
        self.add_keys(&mut variables, &keys);
        Json::Object(variables)
    }

    fn add_keys(&mut self, variables: &mut Map<String, Json>, keys: &[String]) {
        for value in variables.values_mut() {
            let hashes: Vec<&mut Map<String, Json>> = match value {
                Json::Object(entries) => vec![entries],
                Json::Array(elements) => {
                    let hashes = elements.iter_mut().filter_map(Json::as_object_mut);
                    hashes.collect()
                }
                _ => continue,
            };
            for entries in hashes {
                for key in keys {
                    if self.below(3) > 0 {
                        let value = self.value(key, 1);
                        entries.insert(key.clone(), value);
                    }
                }
            }
        }
    }

    fn value(&mut self, name: &str, depth: u32) -> Json {
        let is_plural = name.ends_with('s') && self.below(3) > 0;
        match self.below(if depth > 2 { 9 } else { 13 }) {
            _ if is_plural && depth < 2 => self.list(depth),
            0 => Json::Null,
            1 => json!(true),
            2 => json!(false),
            3 => json!(self.below(100)),
            4 => json!(""),
            5 => json!("2.4"),
            6 => json!("a b\tc"),
            7 | 8 => json!(format!("{name}-{}", self.below(10))),
            9 => self.list(depth),
            10 => json!([]),
            11 => json!([{"path": "/x", "url": "http://y", "alias": "z"}]),
            _ => json!({"k": self.value("k", depth + 1), "a": "1", "path": "/p"}),
        }
    }

    fn list(&mut self, depth: u32) -> Json {
        let length = self.below(4);
        let elements = (0..length).map(|_| match self.below(4) {
            0 => json!({"path": "/x", "name": "n"}),
            1 => self.value("e", depth + 1),
            _ => json!(format!("e{}", self.below(20))),
        });
        elements.collect::<Vec<_>>().into()
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// The names behind each occurrence of a text.
fn names_after(template: &str, start: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let pieces = template.split(start).skip(1).map(|rest| {
        let end = rest.find(|c: char| !is_name(c)).unwrap_or(rest.len());
        rest[..end].to_owned()
    });
    let mut names: Vec<String> = pieces.filter(|name| !name.is_empty()).collect();
    names.sort();
    names.dedup();
    names
}

/// Values as Ruby writes them.
const VALUES: &[&str] = &[
    "nil",
    "true",
    "false",
    "0",
    "7",
    "-3",
    "9223372036854775807",
    "1.5",
    "-0.25",
    "100.0",
    "1e20",
    "''",
    "'a'",
    "'Hello World'",
    "' a  b '",
    "\"x\\ny\\n\"",
    "'42'",
    "'-7abc'",
    "'é'",
    "'a,b,,c,'",
    "'%s-%03d'",
    "'true'",
    ":sym",
    "[]",
    "[1]",
    "[3, 1, 2]",
    "['b', 'a', 'c']",
    "['b', 'a', 'b', nil]",
    "[1, 'a', nil]",
    "[1, 1.0]",
    "[[1, 2], [3, 4]]",
    "[['b', 1], ['a', 2]]",
    "[[], [1, [2, [3]]]]",
    "[nil, false]",
    "[{'a' => 1}, {'b' => 2}]",
    "{}",
    "{'a' => 1}",
    "{'b' => 2, 'a' => 1}",
    "{'k' => nil, 'l' => [1]}",
    "{1 => 'x', :s => 'y'}",
    "{'a' => {'b' => 1}}",
    "(1..4)",
    "(1...1)",
    "/b+/",
    "[0.5, 2]",
    "%w[x y z]",
    "\"tab\\t\\\"q\\\" \\\\ \\#{\"",
    "['a', ['b', 'c']]",
];

/// Calls behind a value.
const CALLS: &[&str] = &[
    ".nil?",
    ".empty?",
    ".to_s",
    ".inspect",
    ".size",
    ".length",
    ".count",
    ".first",
    ".last",
    ".first(2)",
    ".last(2)",
    ".take(1)",
    ".drop(1)",
    ".sort",
    ".reverse",
    ".uniq",
    ".compact",
    ".flatten",
    ".flatten(1)",
    ".join",
    ".join(',')",
    ".max",
    ".min",
    ".sum",
    ".to_a",
    ".to_h",
    ".to_i",
    ".to_f",
    ".to_sym",
    ".keys",
    ".values",
    ".upcase",
    ".downcase",
    ".capitalize",
    ".swapcase",
    ".strip",
    ".lstrip",
    ".rstrip",
    ".chomp",
    ".chomp('c')",
    ".chop",
    ".chars",
    ".lines",
    ".split",
    ".split(',')",
    ".split(' ')",
    ".split('')",
    ".split(/[ ,]/)",
    ".include?('a')",
    ".include?(1)",
    ".member?('a')",
    ".key?('a')",
    ".has_key?('b')",
    ".value?(1)",
    ".key(1)",
    ".start_with?('a')",
    ".end_with?('c', 'd')",
    ".index('a')",
    ".index('l')",
    ".index(1)",
    "[0]",
    "[-1]",
    "[1]",
    "[9]",
    "['a']",
    "[0, 2]",
    "[1..2]",
    "[0...-1]",
    "[1..]",
    "[-2..-1]",
    "[5..6]",
    "[/l+/]",
    "[/(l)(o)/, 2]",
    ".slice(0, 1)",
    ".dig('a', 'b')",
    ".dig(0)",
    ".fetch('a', 'z')",
    ".fetch(0, 'z')",
    ".fetch('a')",
    ".values_at('a', 'c')",
    ".values_at(0, -1)",
    ".merge({'c' => 3})",
    ".merge({'a' => 3})",
    ".invert",
    ".tally",
    ".zip([1, 2])",
    ".abs",
    ".zero?",
    ".even?",
    ".odd?",
    ".positive?",
    ".succ",
    ".pred",
    ".floor",
    ".ceil",
    ".round",
    ".truncate",
    ".sub('a', 'b')",
    ".gsub('l', 'L')",
    ".gsub(/l/, '<\\0>')",
    ".gsub(/(l)(o)?/, '\\2\\1')",
    ".gsub(/x/) { |m| m.upcase }",
    ".gsub(/[a-l]/) { |m| m.upcase }",
    ".sub(/l/) { $~ ? 'y' : 'n' }",
    ".scan(/l/)",
    ".scan(/(.)(l)/)",
    ".match('l')",
    ".match(/zz/)",
    ".match?(/l/)",
    ".ljust(8)",
    ".rjust(8, '*')",
    ".center(9, 'ab')",
    ".delete_prefix('a')",
    ".delete_suffix('c')",
    ".any?",
    ".all?",
    ".none?",
    ".one?",
    ".map { |x| x }",
    ".map(&:to_s)",
    ".map { |k, v| [k, v] }",
    ".collect { |x| x.to_s + '!' }",
    ".select { |x| x }",
    ".select { |k, v| v }",
    ".reject { |x| x.nil? }",
    ".reject { |k, v| v.nil? }",
    ".find { |x| x == 1 }",
    ".any? { |x| x == 'a' }",
    ".any? { |k, v| v }",
    ".all? { |x| x }",
    ".all? { |k, v| v }",
    ".none? { |x| x.nil? }",
    ".count { |x| x }",
    ".count(1)",
    ".sort_by { |x| x.to_s }",
    ".sort_by { |k, v| v }",
    ".sort { |a, b| b <=> a }",
    ".min_by { |x| x.to_s }",
    ".max_by { |x| x.to_s }",
    ".max_by { |k, v| v }",
    ".group_by { |x| x.class_is }",
    ".group_by { |x| x.to_s.size }",
    ".partition { |x| x }",
    ".partition { |k, v| v }",
    ".inject { |a, b| a }",
    ".inject(:+)",
    ".inject(0) { |a, b| a + 1 }",
    ".inject('') { |a, (k, v)| a + k.to_s }",
    ".reduce { |a, b| b }",
    ".each_with_index.to_a",
    ".each_with_index { |x, i| i }",
    ".each { |x| x }",
    ".each_pair { |k, v| k }",
    ".each_with_object([]) { |x, memo| memo << x }",
    ".each_with_object([]) { |(k, v), memo| memo << v }",
    ".flat_map { |x| [x, x] }",
    ".flat_map { |x| x }",
    ".filter_map { |x| x }",
    ".uniq { |x| x.to_s }",
    ".to_h { |x| [x, 1] }",
    ".to_h { |k, v| [v, k] }",
    ".transform_values { |v| v.to_s }",
    ".each_slice(2) { |s| s }",
    ".find_index { |x| x == 1 }",
    ".times { |i| i }",
    ".upto(9) { |i| i }",
    ".reverse_each { |x| x }",
    ".each_key { |k| k }",
    ".each_value { |v| v }",
    ".sum { |x| x.to_s.size }",
    ".is_a?(Array)",
    ".is_a?(Hash)",
    ".is_a?(String)",
    ".is_a?(Numeric)",
    ".is_a?(Integer)",
    ".kind_of?(Enumerable)",
    ".is_a?(Comparable)",
    ".is_a?(TrueClass)",
    ".is_a?(NilClass)",
    ".is_a?(Symbol)",
    ".dup",
    ".eql?(1)",
    " == 1",
    " == 1.0",
    " == 'a'",
    " == nil",
    " == []",
    " == {}",
    " == [3, 1, 2]",
    " != 'a'",
    " <=> 1",
    " <=> 'b'",
    " <=> [1]",
    " === 1",
    " =~ /l/",
    " !~ /l/",
    " + 1",
    " + 'x'",
    " + [1]",
    " + 1.5",
    " - 1",
    " - [1]",
    " - ['b']",
    " * 2",
    " * ','",
    " / 2",
    " / -2",
    " % 3",
    " % -3",
    " % 'x'",
    " % ['a', 5]",
    " % [5]",
    " & [1, 'a']",
    " | [1, 9]",
    " < 2",
    " >= 'a'",
    " > 1.0",
    " << 'z'",
    " << 1",
    " ? 'yes' : 'no'",
    " && 'and'",
    " || 'or'",
    ".push(1, 2)",
    ".concat(['q'])",
    ".compact.size",
    "&.size",
    "&.first",
    ".to_s.size",
    ".casecmp?('A')",
    ".hex",
    ".frozen?",
    ".prepend('x')",
];

/// Templates that print a value and a call of it.
pub(super) fn method_calls() -> Vec<String> {
    let mut templates = Vec::new();
    for value in VALUES {
        for call in CALLS {
            // Ruby would count for years
            if value.len() > 10 && call.starts_with(".times") {
                continue;
            }
            templates.push(format!("<%= ({value}{call}).inspect %>"));
        }
        for conversion in ["Array", "Integer", "String", "Float"] {
            templates.push(format!("<%= {conversion}({value}).inspect %>"));
        }
        for prefix in ["-", "!", "not "] {
            templates.push(format!("<%= ({prefix}{value}).inspect %>"));
        }
        templates.push(format!(
            "<%= {value} %>|<%= [{value}].join('-') %>|<%= \"#{{{value}}}\" %>"
        ));
        templates.push(format!(
            "<% case {value} when 1, 'a' then %>one<% when String %>text<% when /b/ %>re<% when Array, Hash \
             %>list<% when 2..9 %>range<% when nil, false %>none<% else %>other<% end %>"
        ));
    }
    templates
}
