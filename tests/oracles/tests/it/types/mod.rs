//! `pcore` against Puppet: all pairs of `cases/types/types.txt`, all of them with the values of
//! `values.txt`, the conversions of `conversions.txt`, the values of `formatted.txt` in all formats of
//! `formats.txt` and those of `mapped.txt` in all of `format-maps.txt`, and rich data.
//!
//! The rule: what differs stands in [`different`], with its reason.

mod different;
mod reader;

use oracles::{Puppet, ask_puppet, cases};
use pcore::{Type, Value, describe_mismatch};
use serde_json::{Value as Json, json};

use different::{CONVERSIONS, RICH_DATA};
use reader::{World, shown};

fn lines(name: &str) -> Vec<String> {
    cases(&format!("types/{name}.txt")).unwrap()
}

/// A quote in a line of a case.
fn conversions() -> Vec<String> {
    let mut all = lines("conversions");
    for value in lines("formatted") {
        let formats = lines("formats").into_iter();
        all.push(format!("String({value})"));
        all.extend(formats.map(|format| format!("String({value},'{format}')")));
    }
    for value in lines("mapped") {
        let maps = lines("format-maps").into_iter();
        all.extend(maps.map(|map| format!("String({value},{map})")));
    }
    all
}

#[test]
fn types_and_values_answer_as_puppet_says() {
    let world = World::new(&lines("aliases"));
    let (type_texts, value_texts) = (lines("types"), lines("values"));
    let (evaluate, data) = (conversions(), lines("data"));
    let puppet = ask_puppet(
        Puppet::Eight,
        "types.rb",
        &json!({
            "aliases": lines("aliases"), "types": type_texts, "values": value_texts,
            "evaluate": evaluate, "data": data,
        }),
    )
    .unwrap();
    let types: Vec<Type> = type_texts.iter().map(|text| world.ty(text)).collect();
    let values: Vec<Value> = value_texts
        .iter()
        .map(|text| world.value(text).unwrap())
        .collect();

    let mut compared = Compared::default();
    compared.list(&puppet["texts"], &type_texts, |index| {
        json!(types[index].to_string())
    });
    compared.list(&puppet["shown"], &value_texts, |index| {
        json!(shown(&values[index]))
    });
    compared.list(&puppet["forms"], &type_texts, |index| forms(&types[index]));
    compared.list(&puppet["infer"], &value_texts, |index| {
        inferred(&values[index])
    });
    let by_types = (&type_texts[..], &types[..]);
    let by_values = (&value_texts[..], &values[..]);
    compared.grid(&puppet["assignable"], by_types, by_types, |a, b| {
        json!(a.is_assignable(b))
    });
    compared.grid(&puppet["common"], by_types, by_types, |a, b| {
        json!(a.common(b).to_string())
    });
    compared.grid(&puppet["instance"], by_types, by_values, |t, v| {
        json!(t.is_instance(v))
    });
    compared.grid(&puppet["describe"], by_types, by_values, |t, v| {
        let described = || describe_mismatch("x", t, &Type::infer_detailed(v));
        json!((!t.is_instance(v)).then(described))
    });
    compared.grid(&puppet["equals"], by_values, by_values, |a, b| {
        json!(a.equals(b))
    });
    compared.grid(&puppet["compare"], by_values, by_values, order);
    compared.finish(80_000);

    let mut converted = Compared::default();
    converted.known(CONVERSIONS);
    converted.list(&puppet["evaluated"], &evaluate, |index| {
        world.answer(&evaluate[index])
    });
    converted.finish(5_000);

    let mut rich = Compared::default();
    rich.known(RICH_DATA);
    rich.list(&puppet["rich"], &data, |index| {
        world.answered(&data[index], |value| {
            value.to_rich_json().map_err(|error| error.to_string())
        })
    });
    rich.finish(150);
}

fn forms(ty: &Type) -> Json {
    json!([
        ty.generalize().to_string(),
        ty.normalize().to_string(),
        ty.is_iterable()
    ])
}

fn inferred(value: &Value) -> Json {
    let (wide, detailed) = (Type::infer(value), Type::infer_detailed(value));
    json!([
        wide.to_string(),
        detailed.to_string(),
        wide.generalize().to_string()
    ])
}

fn order(a: &Value, b: &Value) -> Json {
    match a.compare(b) {
        Ok(order) => json!(order.map(|order| order as i8)),
        Err(error) => json!(error.to_string()),
    }
}

/// Answers side by side.
#[derive(Default)]
struct Compared {
    count: usize,
    /// Where Puppet overflows its stack or calls what is not there.
    broken: usize,
    known: Vec<&'static str>,
    different: Vec<String>,
}

impl Compared {
    /// Cases whose answers differ, for reasons that are written down.
    fn known(&mut self, cases: &[(&'static str, &'static str)]) {
        self.known = cases.iter().map(|(case, _)| *case).collect();
    }

    fn list(&mut self, puppet: &Json, cases: &[String], ours: impl Fn(usize) -> Json) {
        for (index, case) in cases.iter().enumerate() {
            self.one(case, &puppet[index], &ours(index));
        }
    }

    fn grid<A, B>(
        &mut self,
        puppet: &Json,
        (row_texts, rows): (&[String], &[A]),
        (column_texts, columns): (&[String], &[B]),
        ours: impl Fn(&A, &B) -> Json,
    ) {
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let answer = ours(row, column);
                let theirs = &puppet[i][j];
                if theirs == "broken" {
                    self.broken += 1;
                    continue;
                }
                self.one(
                    &format!("{} and {}", row_texts[i], column_texts[j]),
                    theirs,
                    &answer,
                );
            }
        }
    }

    fn one(&mut self, case: &str, puppet: &Json, ours: &Json) {
        self.count += 1;
        let both_refuse = puppet.get("error").is_some() && ours.get("error").is_some();
        let is_known = self.known.contains(&case);
        if puppet == ours || (is_known && (both_refuse || puppet != ours)) {
            assert!(
                !is_known || puppet != ours,
                "{case} does not differ any more"
            );
            return;
        }
        self.different
            .push(format!("{case}\n  Puppet: {puppet}\n  ours:   {ours}"));
    }

    fn finish(self, least: usize) {
        assert!(self.count >= least, "only {} cases", self.count);
        println!(
            "{} cases, {} known differences, {} that break Puppet",
            self.count,
            self.known.len(),
            self.broken
        );
        let shown: Vec<&str> = self.different.iter().take(20).map(String::as_str).collect();
        assert!(
            self.different.is_empty(),
            "{} of {} differ:\n{}",
            self.different.len(),
            self.count,
            shown.join("\n")
        );
    }
}
