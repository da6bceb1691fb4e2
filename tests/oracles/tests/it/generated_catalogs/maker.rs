//! Random manifests: [`random_program`].
//!
//! Titles come from small pools, so that references, overrides and collectors meet resources, and
//! some meet none. The top always declares [`ALWAYS`].

use super::program::{Block, Program};
use crate::random::Random;

/// Classes `c0`, `c1` and so on, and defined types `d0`, `d1` and so on.
const CLASSES: usize = 4;
const DEFINES: usize = 2;
/// Titles of each native type.
const TITLES: usize = 20;
/// Titles that are declared more than once.
const RARE_TITLES: usize = 3;
/// Statements of a class, a defined type or the top.
const STATEMENTS: usize = 5;

const TYPES: [&str; 3] = ["notify", "file", "user"];
const REFERENCES: [&str; 3] = ["Notify", "File", "User"];

/// One choice in so many is one that may fail.
const SURPRISES: usize = 30;

/// Resources of the top: those to which references lead mostly.
const ALWAYS: [&str; 5] = [
    "notify { 'n0': message => 'm' }",
    "file { '/f0': mode => '0644' }",
    "user { 'u0': }",
    "d0 { 'x': }",
    "d1 { 'y': }",
];

/// The class that is declared as a resource, and not included, mostly.
const DECLARED: usize = CLASSES - 1;

/// A program that compiles, mostly.
pub(super) fn random_program(random: &mut Random) -> Program {
    let mut maker = Maker {
        random,
        used: [1; TYPES.len()],
        own: Vec::new(),
        is_declared: false,
        site: Site::Top,
    };
    let mut directives = Vec::new();
    if maker.one_in(4) {
        directives.push("## exports []".to_owned());
    }
    if maker.one_in(4) {
        let class = maker.class();
        directives.push(format!("## classes {{\"{class}\": {{}}}}"));
    }
    let mut blocks = maker.definitions();
    let mut top = maker.block(Site::Top, String::new());
    top.statements.extend(ALWAYS.map(str::to_owned));
    let includes = (0..DECLARED).map(|it| format!("include c{it}"));
    top.statements.extend(includes);
    blocks.push(top);
    if maker.one_in(3) {
        blocks.push(maker.block(Site::Top, "node default".to_owned()));
    }
    Program { directives, blocks }
}

/// The kind of block in which a statement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Site {
    Top,
    Class,
    /// A defined type, which declares only those of a higher number.
    Define(usize),
}

struct Maker<'a> {
    random: &'a mut Random,
    /// Titles that were declared, for each native type.
    used: [usize; TYPES.len()],
    /// References to the resources of this block.
    own: Vec<String>,
    /// A statement declares the class [`DECLARED`].
    is_declared: bool,
    site: Site,
}

impl Maker<'_> {
    fn one_in(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        let text: &&'static str = self.random.pick(from);
        text
    }

    fn definitions(&mut self) -> Vec<Block> {
        let mut blocks = Vec::new();
        for number in 0..CLASSES {
            let parameters = self.pick(&[
                "",
                "",
                "($p = 'own')",
                "(Integer $p = 5, $q = $facts['kernel'])",
            ]);
            let parent = match number > 0 && self.one_in(4) {
                true => format!(" inherits c{}", self.random.below(number)),
                false => String::new(),
            };
            blocks.push(self.block(Site::Class, format!("class c{number}{parameters}{parent}")));
        }
        for number in 0..DEFINES {
            let parameters = self.pick(&[
                "",
                "($p = 'own')",
                "($p = $title, Optional[String] $q = undef)",
            ]);
            blocks.push(self.block(
                Site::Define(number),
                format!("define d{number}{parameters}"),
            ));
        }
        blocks
    }

    fn block(&mut self, site: Site, head: String) -> Block {
        self.site = site;
        self.own.clear();
        let count = 1 + self.random.below(STATEMENTS);
        let statements = (0..count).map(|_| self.statement()).collect();
        Block { head, statements }
    }

    fn statement(&mut self) -> String {
        match self.random.below(40) {
            0..=9 => self.native(),
            10..=12 => self.define(),
            13..=16 => format!(
                "{} {}",
                self.pick(&["include", "contain", "require"]),
                self.class()
            ),
            17 if !self.is_declared => {
                self.is_declared = true;
                format!("class {{ 'c{DECLARED}': {} }}", self.metaparameters())
            }
            20..=23 if self.own.is_empty() && !self.one_in(SURPRISES) => self.native(),
            18 | 19 => format!(
                "{} {{ {} }}",
                self.pick(&["Notify", "File", "User"]),
                self.metaparameters()
            ),
            20..=22 => format!("{} {{ {} }}", self.overridden(), self.metaparameters()),
            23 => format!("{} {{ tag +> 'more', noop => true }}", self.overridden()),
            24 | 25 => self.collector(),
            26 | 27 => format!("{} {{ {} }}", self.collector(), self.metaparameters()),
            28 => format!("realize {}", self.native_reference()),
            29..=31 => self.chain(),
            32 => format!("tag('{}')", self.pick(&["t1", "t2", "Mixed", "a::b"])),
            33 | 34 => self.observation(),
            35 | 36 => self.condition(),
            _ => self.loop_or_hash(),
        }
    }

    /// A resource of this block, mostly: others may not be overridden.
    fn overridden(&mut self) -> String {
        match !self.own.is_empty() && !self.one_in(SURPRISES) {
            true => self.random.pick(&self.own).clone(),
            false => self.native_reference(),
        }
    }

    fn native(&mut self) -> String {
        let kind = self.random.below(TYPES.len());
        let virtuality = self.pick(&["", "", "", "", "@", "@@"]);
        let title = self.declared_title(kind);
        let attributes = self.attributes(kind);
        format!("{virtuality}{} {{ {title}: {attributes} }}", TYPES[kind])
    }

    /// A title that nothing has yet, mostly; within a defined type with the title of that.
    fn declared_title(&mut self, kind: usize) -> String {
        let number = match self.used[kind] < TITLES && !self.one_in(SURPRISES) {
            true => self.used[kind],
            false => TITLES + self.random.below(RARE_TITLES),
        };
        self.used[kind] = (number + 1).clamp(self.used[kind], TITLES);
        let title = match (self.site, TYPES[kind]) {
            (Site::Define(_), "file") => format!("\"/${{title}}/{number}\""),
            (Site::Define(_), name) => format!("\"{}${{title}}{number}\"", &name[..1]),
            (_, name) => format!("'{}'", plain_title(name, number)),
        };
        self.own.push(format!("{}[{title}]", REFERENCES[kind]));
        title
    }

    fn attributes(&mut self, kind: usize) -> String {
        let own = match TYPES[kind] {
            "file" => self.pick(&[
                "mode => '0644'",
                "content => Sensitive('s')",
                "ensure => file",
                "owner => undef",
            ]),
            "user" => self.pick(&[
                "shell => '/bin/sh'",
                "uid => 5",
                "groups => ['a', 'b']",
                "home => undef",
            ]),
            _ => self.pick(&[
                "message => 'm'",
                "message => \"${title}\"",
                "message => ['l', { 'k' => undef }]",
                "withpath => true",
            ]),
        };
        match self.random.below(3) {
            0 => String::new(),
            1 => own.to_owned(),
            _ => format!("{own}, {}", self.metaparameters()),
        }
    }

    fn metaparameters(&mut self) -> String {
        match self.random.below(8) {
            0 => "noop => true".to_owned(),
            1 => format!("loglevel => {}", self.pick(&["debug", "err", "undef"])),
            2 => format!("tag => {}", self.pick(&["'t1'", "['t1', 't2']", "'x::y'"])),
            3 => format!("schedule => '{}'", self.pick(&["daily", "weekly"])),
            4 => format!("before => {}", self.reference()),
            5 => format!("require => [{}, {}]", self.reference(), self.reference()),
            6 => format!("notify => {}", self.reference()),
            _ => format!("subscribe => {}", self.reference()),
        }
    }

    fn define(&mut self) -> String {
        let lowest = match self.site {
            Site::Define(number) => number + 1,
            _ => 0,
        };
        if lowest >= DEFINES {
            return self.native();
        }
        let number = lowest + self.random.below(DEFINES - lowest);
        let title = match self.site {
            Site::Define(_) => "\"${title}i\"".to_owned(),
            _ => format!("'{}'", self.pick(&["z", "w", "v", "u"])),
        };
        let virtuality = self.pick(&["", "", "", "@"]);
        format!(
            "{virtuality}d{number} {{ {title}: {} }}",
            self.metaparameters()
        )
    }

    fn class(&mut self) -> String {
        let end = match self.one_in(SURPRISES) {
            true => CLASSES,
            false => DECLARED,
        };
        format!("c{}", self.random.below(end))
    }

    /// A native resource that is always declared, mostly.
    fn native_reference(&mut self) -> String {
        let kind = self.random.below(TYPES.len());
        let number = match self.random.below(SURPRISES) {
            0 => self.random.below(TITLES + 1),
            1 => self.used[kind] - 1,
            _ => 0,
        };
        format!(
            "{}['{}']",
            REFERENCES[kind],
            plain_title(TYPES[kind], number)
        )
    }

    fn reference(&mut self) -> String {
        match self.random.below(8) {
            0 => format!("Class['c{}']", self.random.below(DECLARED)),
            1 => self.pick(&["D0['x']", "D1['y']"]).to_owned(),
            _ => self.native_reference(),
        }
    }

    fn collector(&mut self) -> String {
        let query = match self.random.below(8) {
            0 => String::new(),
            1 | 2 => format!("title == '{}'", self.pick(&["n0", "n1", "/f0", "u1"])),
            3 => format!("tag == '{}'", self.pick(&["t1", "c1", "d0", "x", "notify"])),
            4 => "message == 'm' or mode == '0644'".to_owned(),
            5 => format!("tag != '{}' and title != 'n2'", self.pick(&["t1", "c0"])),
            6 => "(noop == true or groups == 'a') and tag == 'class'".to_owned(),
            _ => "uid == 5".to_owned(),
        };
        let name = self.pick(&["Notify", "File", "User", "D0"]);
        format!("{name} <| {query} |>")
    }

    fn chain(&mut self) -> String {
        let arrow = self.pick(&["->", "~>", "<-", "<~"]);
        match self.random.below(4) {
            0 => format!("{} {arrow} {}", self.collector(), self.reference()),
            1 => format!(
                "{} {arrow} [{}, {}]",
                self.reference(),
                self.reference(),
                self.reference()
            ),
            2 => {
                let (first, second) = (self.native(), self.native());
                format!("{first} {arrow} {second}")
            }
            _ => format!(
                "{} {arrow} {} -> {}",
                self.reference(),
                self.reference(),
                self.reference()
            ),
        }
    }

    fn observation(&mut self) -> String {
        let value = match self.random.below(5) {
            0 => format!("defined({})", self.native_reference()),
            1 => format!("defined({})", self.reference()),
            2 => format!("tagged('{}')", self.pick(&["t1", "c0", "x", "class"])),
            3 => format!(
                "defined('{}')",
                self.pick(&["c0", "d1", "$p", "c9", "file"])
            ),
            _ => "$title".to_owned(),
        };
        let number = self.random.below(1000);
        format!("notify {{ \"seen {number} ${{{value}}} ${{title}}\": }}")
    }

    fn condition(&mut self) -> String {
        let test = match self.random.below(3) {
            0 => format!("defined({})", self.reference()),
            1 => format!("tagged('{}')", self.pick(&["t1", "c0", "x"])),
            _ => "$facts['kernel'] == 'Linux'".to_owned(),
        };
        let (then, otherwise) = (self.native(), self.native());
        format!("if {test} {{ {then} }} else {{ {otherwise} }}")
    }

    fn loop_or_hash(&mut self) -> String {
        let number = self.random.below(100);
        let meta = self.metaparameters();
        let pair = meta.replacen(" =>", "' =>", 1);
        match self.random.below(3) {
            0 => format!(
                "['a', 'b'].each |$x| {{ notify {{ \"each{number}${{x}}${{title}}\": {meta} }} }}"
            ),
            1 => format!(
                "create_resources('notify', {{ \"cr{number}${{title}}\" => {{ '{pair} }}, \"ds{number}${{title}}\" => {{}} }}, {{ 'noop' => true }})"
            ),
            _ => format!(
                "notify {{ default: {meta}; \"b{number}${{title}}\": ; \"e{number}${{title}}\": noop => false }}"
            ),
        }
    }
}

fn plain_title(kind: &str, number: usize) -> String {
    match kind {
        "file" => format!("/f{number}"),
        name => format!("{}{number}", &name[..1]),
    }
}
