//! Type files of Debian's modules with lines left out, doubled, joined, swapped or inserted: none that
//! is read may differ from what Puppet loads.

use oracles::{Puppet, ask_puppet};
use resource_types::{StaticReading, read_ruby_type};
use serde_json::{Value, json};

use super::modules::Libraries;
use super::{comparable, describe};
use crate::random::Random;

/// `TUTTI_MUTANTS` sets another number, `TUTTI_SEED` another seed.
const MUTANTS: usize = 1500;

/// Lines that declare in unusual ways, or confuse a reader that takes text for code.
const INSERTED: &[&str] = &[
    "next if true",
    "break",
    "return",
    "isnamevar",
    "isnamevar if false",
    "newparam(:za)",
    "newparam(:za) if false",
    "newparam :za, {:namevar => true}",
    "newparam :za, **{namevar: true}",
    "newparam(:za); newproperty(:zb)",
    "newparam(:za, namevar: false) { isnamevar }",
    "newparam(:za) { |x| isnamevar unless x.nil? }",
    "newparam(:za)\n  .inspect",
    "newparam \\\n  :za",
    "newparam (:za)",
    "newparam(\n:za,\nnamevar: true\n) do\nend",
    "newparam('Za') do end",
    "newproperty(:zb, namevar: true) do\nisnamevar\nend",
    "newproperty :zb, :parent => Puppet::Property do end",
    "send :newparam, :za",
    "[:za, :zb].each { |p| newparam(p) }",
    "%w[za zb].each do |p| newproperty(p) end",
    "%i[za zb].each do |p|\nnewparam(p) do\nisnamevar\nend\nend",
    "[:za].each { |p| next; newparam(p) }",
    "while false do newparam(:za) end",
    "for i in [1] do newparam(:za) end",
    "case 1 when 2 then newparam(:za) end",
    "x = y = nil; x ? y : newparam(:za)",
    "-> { newparam(:za) }.call",
    "-> { newparam(:za) }",
    "proc do\nnewparam(:za)\nend",
    "puts(<<A, <<B)\nnewparam(:za)\nA\nnewparam(:zb)\nB",
    "x = <<-'EOT'.strip\n  newparam(:za)\n  EOT",
    "x = 5 /2; newparam(:za); y = x / 3 #/",
    "x = 7\ny = x %w[\nnewparam(:za)\nz = 3; [1].first ]",
    "x = 1\nx <<2\nnewparam(:za)\n2",
    "x = ?'\nnewparam(:za)\ny = ?'",
    "x = ?\"; newparam(:za); y = ?\"",
    "x = :'\n'; newparam(:za)",
    "x = %q(\nnewparam(:za)\n)",
    "x = \"#{\nnewparam(:za)\n}\"",
    "# newparam(:za) do",
    "=begin\nnewparam(:za)\n=end",
    "__END__",
    "ensurable",
    "ensurable do\ndefaultvalues\nend",
    "private",
    "@isomorphic = false",
    "@isomorphic = nil",
    "@parameters.clear",
    "def create; end; def destroy; end; def exists?; end",
    "def self.title_patterns; [[/(.)/, [[:name]]]]; end",
    "def self.title_patterns() [[%r{^(.*)/$}, [[:name, nil]]]] end",
    "class << self; def key_attributes; []; end; end",
    "class << self\ndef isomorphic?\nfalse\nend\nend",
    "define_singleton_method(:isomorphic?) { false }",
    "alias_method :zc, :name",
    "class Zd\nisnamevar = 1\nend",
    "module Ze\ndef self.included(x); x.newparam(:za); end\nend\ninclude Ze",
    "module Ze\ndef za; newparam(:za); end\nend\nextend Ze\nza",
    "def self.za(n) newparam(n) end\nza(:zb)",
    "provide(:zp) do\nend",
    "provide(:zp)",
    "if true",
    "if false",
    "unless true",
    "begin",
    "do",
    "end",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "\"",
    "'",
    "/",
    "%w[",
    "%(",
    "\\",
    "|x|",
    "<<EOT",
    "EOT",
];

#[test]
fn mutants_are_read_as_puppet_8_loads_them_or_not_at_all() {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let mut random = Random::new(number("TUTTI_SEED").unwrap_or(20_261_124));
    let wanted = number("TUTTI_MUTANTS").map_or(MUTANTS, |it| usize::try_from(it).unwrap());
    let library = Libraries::of_debian();
    let sources: Vec<(String, String)> = library
        .type_files()
        .iter()
        .map(|file| {
            let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
            (name, std::fs::read_to_string(file).unwrap())
        })
        .filter(|(_, text)| text.len() < 20_000)
        .collect();
    let directory = tempfile::tempdir().unwrap();
    let mut mutants = Vec::new();
    for index in 0..wanted {
        let (name, text) = random.pick(&sources).clone();
        let mutant = format!("{name}_m{index}");
        let text = text.replacen(&format!(":{name}"), &format!(":{mutant}"), 1);
        let text = mutate(&text, &mut random);
        let path = directory.path().join(format!("{mutant}.rb"));
        std::fs::write(&path, &text).unwrap();
        mutants.push((mutant, path, text));
    }
    let types: Vec<Value> = mutants
        .iter()
        .map(|(name, path, _)| json!({"name": name, "file": path}))
        .collect();
    let question = json!({"libraries": library.directories, "types": types});
    let answer = ask_puppet(Puppet::Eight, "resource_types.rb", &question).unwrap();
    let (mut equal, mut different) = (0, Vec::new());
    for ((name, _, text), theirs) in mutants.iter().zip(answer["types"].as_array().unwrap()) {
        let reading = read_ruby_type(name, text, &library);
        if let (StaticReading::Complete(ours), true) = (reading, theirs["error"].is_null()) {
            let (ours, theirs) = (describe(&ours), comparable(theirs));
            match ours == theirs {
                true => equal += 1,
                false => different.push(format!("ours {ours}\nPuppet {theirs}\n{text}")),
            }
        }
    }
    eprintln!("{equal} of {wanted} mutants are read and equal");
    assert!(
        different.is_empty(),
        "{} differences:\n{}",
        different.len(),
        different.join("\n----\n")
    );
    assert!(equal > wanted / 10, "only {equal} are read");
}

fn mutate(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(3) / 2 {
        let at = random.below(lines.len());
        match random.below(8) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 if at + 1 < lines.len() => lines.swap(at, at + 1),
            3 if at + 1 < lines.len() => {
                let next = lines.remove(at + 1);
                let joint = *random.pick(&[" ", ";", "", "\n\n"]);
                lines[at] = format!("{}{joint}{next}", lines[at]);
            }
            _ => lines.insert(at, (*random.pick(INSERTED)).to_owned()),
        }
    }
    lines.join("\n")
}
