//! Reads files of cases: [`read_catalog_cases`].
//!
//! Invariant: an unknown directive, a broken value or a repeated title is an error with its line.

use std::collections::HashSet;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

use super::{CatalogCase, CatalogNode};

/// The manifest to which the lines before the first `## file` belong.
const SITE: &str = "manifests/site.pp";

/// Names of the files of cases without `.txt`, sorted.
pub fn catalog_case_files() -> Result<Vec<String>> {
    let directory = crate::own("cases/catalogs");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "txt") {
            names.extend(path.file_stem().map(|it| it.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// Reads the cases of the file `cases/catalogs/NAME.txt`.
pub fn read_catalog_cases(name: &str) -> Result<Vec<CatalogCase>> {
    let node = default_node()?;
    let mut titles = HashSet::new();
    let mut cases = Vec::new();
    let mut line = 1;
    for block in crate::blocks(&format!("catalogs/{name}.txt"))? {
        let case = parse_case(&block, node.clone())
            .with_context(|| format!("case at line {line} of {name}.txt"))?;
        if !titles.insert(case.title.clone()) {
            bail!("{name}.txt:{line}: the title is repeated: {}", case.title);
        }
        line += block.lines().count() + 1;
        cases.push(case);
    }
    Ok(cases)
}

/// Reads one case: a title, directives and files.
pub fn parse_catalog_case(block: &str) -> Result<CatalogCase> {
    parse_case(block, default_node()?)
}

fn default_node() -> Result<CatalogNode> {
    let path = crate::own("cases/catalogs/node.json");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let mut node: Map<String, Value> = serde_json::from_str(&text)?;
    let mut take = |key: &str| match node.remove(key) {
        Some(Value::Object(map)) => Ok(map),
        _ => bail!("node.json has no hash {key}"),
    };
    Ok(CatalogNode {
        facts: take("facts")?,
        server_facts: take("server_facts")?,
        extensions: take("trusted")?,
        certname: match node.remove("certname") {
            Some(Value::String(name)) => name,
            _ => bail!("node.json has no certname"),
        },
        classes: None,
        parameters: None,
    })
}

fn parse_case(block: &str, node: CatalogNode) -> Result<CatalogCase> {
    let mut lines = block.lines();
    let title = lines.next().and_then(|line| line.strip_prefix("# "));
    let mut reader = CaseReader {
        case: CatalogCase {
            title: title.context("no title `# TITLE`")?.to_owned(),
            files: Vec::new(),
            node,
            modules: Vec::new(),
            exports: None,
            is_plain: false,
        },
        path: SITE.to_owned(),
    };
    for line in lines {
        match line.strip_prefix("## ") {
            Some(directive) => reader
                .directive(directive)
                .with_context(|| line.to_owned())?,
            None => reader.text(line),
        }
    }
    Ok(reader.case)
}

struct CaseReader {
    case: CatalogCase,
    /// The file to which text belongs.
    path: String,
}

impl CaseReader {
    fn text(&mut self, line: &str) {
        let file = self.case.files.iter_mut().find(|it| it.0 == self.path);
        let text = match file {
            Some(file) => &mut file.1,
            None => {
                self.case.files.push((self.path.clone(), String::new()));
                match self.case.files.last_mut() {
                    Some(file) => &mut file.1,
                    None => return,
                }
            }
        };
        text.push_str(line);
        text.push('\n');
    }

    fn directive(&mut self, directive: &str) -> Result<()> {
        let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        let node = &mut self.case.node;
        match word {
            "file" => {
                self.path = rest.to_owned();
                // a file may be empty
                self.case.files.push((rest.to_owned(), String::new()));
            }
            "certname" => rest.clone_into(&mut node.certname),
            "facts" => node.facts.extend(hash(rest)?),
            "trusted" => node.extensions = hash(rest)?,
            "parameters" => node.parameters = Some(hash(rest)?),
            "classes" => node.classes = Some(serde_json::from_str(rest)?),
            "exports" => self.case.exports = Some(serde_json::from_str(rest)?),
            "modules" => self.case.modules = rest.split(' ').map(str::to_owned).collect(),
            "plain" => self.case.is_plain = true,
            _ => bail!("unknown directive"),
        }
        Ok(())
    }
}

fn hash(text: &str) -> Result<Map<String, Value>> {
    Ok(serde_json::from_str(text)?)
}
