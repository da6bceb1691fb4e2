//! Expressions made at random give the values, types, errors and warnings that Puppet 8 gives.
//!
//! `TUTTI_EXPRESSIONS` sets how many, `TUTTI_SEED` makes others. The rule: a difference that is meant stands in
//! [`MEANT`] with its reason; everything else fails, with the expression.

mod forms;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value as Json, json};

use crate::evaluation::{agree, ours};
use crate::random::Random;

const EXPRESSIONS: usize = 600;
const SEED: u64 = 0x1977;

/// Forms inside each other.
const DEPTH_MAX: u32 = 3;

/// One hole in so many is filled with something of another kind.
const SURPRISES: usize = 14;

struct Generator {
    random: Random,
    /// Variables that may be used here.
    variables: Vec<char>,
}

impl Generator {
    /// An expression of a kind; `a` is any.
    fn expression(&mut self, letter: char, depth: u32) -> String {
        let letter = match letter {
            'a' => *self.random.pick(&forms::LETTERS),
            other
                if other != 'k'
                    && other != 'q'
                    && other != 'v'
                    && self.random.below(SURPRISES) == 0 =>
            {
                *self.random.pick(&forms::LETTERS)
            }
            other => other,
        };
        if !self.variables.is_empty() && self.random.below(3) == 0 {
            return format!("${}", self.random.pick(&self.variables));
        }
        let kind = forms::of(letter);
        if depth == 0 || kind.forms.is_empty() || self.random.below(3) == 0 {
            return (*self.random.pick(kind.values)).to_owned();
        }
        let form = *self.random.pick(kind.forms);
        self.filled(form, depth - 1)
    }

    fn filled(&mut self, form: &str, depth: u32) -> String {
        let mut text = String::new();
        let mut letters = form.chars().peekable();
        let mut is_quoted = false;
        while let Some(letter) = letters.next() {
            // formats in quotes have signs of percent of their own
            is_quoted ^= letter == '\'';
            let next = letters.peek().copied().filter(char::is_ascii_alphabetic);
            let (true, Some(hole)) = (letter == '%' && !is_quoted, next) else {
                text.push(letter);
                continue;
            };
            letters.next();
            let outside = self.variables.len();
            if letters.next_if_eq(&':').is_some() {
                while let Some(name) = letters.next_if(char::is_ascii_alphabetic) {
                    self.variables.push(name);
                }
            }
            let inner = self.expression(hole, depth);
            self.variables.truncate(outside);
            let is_simple = inner
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '$');
            let stands_alone = text.ends_with(['(', '{', '[']) && !inner.contains('\n');
            let brackets = if is_simple || stands_alone {
                ["", ""]
            } else {
                ["(", ")"]
            };
            text.push_str(brackets[0]);
            text.push_str(&inner);
            text.push_str(brackets[1]);
        }
        text
    }
}

fn number(name: &str, otherwise: u64) -> Result<u64> {
    match std::env::var(name) {
        Ok(text) => text.parse().with_context(|| format!("{name} is no number")),
        Err(_) => Ok(otherwise),
    }
}

fn expressions() -> Result<Vec<String>> {
    let count = number("TUTTI_EXPRESSIONS", EXPRESSIONS as u64)?;
    let mut generator = Generator {
        random: Random::new(number("TUTTI_SEED", SEED)?),
        variables: Vec::new(),
    };
    Ok((0..count)
        .map(|_| generator.expression('a', DEPTH_MAX))
        .collect())
}

/// Whether Puppet's answer is one of its own mistakes, and not an answer: it ran out of something.
fn is_broken(theirs: &Json) -> bool {
    let error = theirs["error"].as_str().unwrap_or_default();
    [
        "stack level too deep",
        "execution expired",
        "failed to allocate",
    ]
    .iter()
    .any(|it| error.contains(it))
}

/// Why an expression is answered otherwise, and whether this is the reason, by the expression and both answers.
type Meant = (&'static str, fn(&str, &Json, &Json) -> bool);

const MEANT: &[Meant] = &[
    (
        "Puppet asks whether values of an `Init` can be made when the type is used, which may be when it is printed",
        |_, theirs, _| {
            let error = theirs["error"].as_str().unwrap_or_default();
            error.contains("Creation of new instance of type")
        },
    ),
    (
        "Puppet compiles the pattern of a type when the type is used, and shows the letters of a bad one",
        |_, theirs, _| {
            let error = theirs["error"].as_str().unwrap_or_default();
            error.contains("end pattern with")
        },
    ),
    (
        "a text that is read as a type is checked as a program is",
        |expression, theirs, ours| {
            expression.contains("Type(") && theirs["error"].is_string() && ours["error"].is_string()
        },
    ),
    (
        "Puppet names the right side if that is a time, whatever the left side is",
        |_, theirs, ours| {
            theirs["code"] == "OPERATOR_NOT_APPLICABLE_WHEN"
                && ours["code"] == "OPERATOR_NOT_APPLICABLE"
        },
    ),
    (
        "the range of an empty text prints as it was written",
        |expression, _, _| {
            expression.contains("SemVer['']") || expression.contains("SemVerRange('')")
        },
    ),
];

#[test]
fn generated_expressions_give_what_puppet_gives() -> Result<()> {
    let expressions = expressions()?;
    let answers = oracles::ask_puppet(oracles::Puppet::Eight, "evaluate.rb", &json!(expressions))?;
    let answers = answers.as_array().context("the answer is no list")?;
    assert_eq!(answers.len(), expressions.len());
    let (mut faults, mut meant, mut values) = (Vec::new(), 0, 0);
    for (expression, theirs) in expressions.iter().zip(answers) {
        let ours = ours(expression);
        values += usize::from(theirs["error"].is_null());
        if is_broken(theirs) || agree(theirs, &ours) {
            continue;
        }
        if MEANT
            .iter()
            .any(|(_, is_it)| is_it(expression, theirs, &ours))
        {
            meant += 1;
            continue;
        }
        faults.push(format!("{expression}\n  Puppet {theirs}\n  ours   {ours}"));
    }
    println!(
        "{} expressions, {values} with a value; {meant} differ and are meant to",
        expressions.len()
    );
    assert!(
        values * 4 >= expressions.len(),
        "too few expressions have a value"
    );
    if !faults.is_empty() {
        bail!("{} differ:\n{}", faults.len(), faults.join("\n"));
    }
    Ok(())
}
