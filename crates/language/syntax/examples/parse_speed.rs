//! Measures the speed of reading manifests and the size of their trees: `parse_speed DIRECTORY
//! [--smallest]`.

#![expect(clippy::print_stdout, reason = "a program that reports")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use syntax::{SourceText, SyntaxOptions};

/// Number of runs over the whole corpus, of which the fastest counts.
const ROUNDS: usize = 20;

fn main() {
    let directory = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let mut sources = Vec::new();
    collect(Path::new(&directory), &mut sources);
    let bytes: usize = sources.iter().map(|one| one.text().len()).sum();
    let lines: usize = sources.iter().map(|one| one.text().lines().count()).sum();
    assert!(bytes > 0, "no manifests in {directory}");
    let is_smallest = std::env::args().any(|argument| argument == "--smallest");
    let rounds = if is_smallest { 1 } else { ROUNDS };
    let mut best = Duration::MAX;
    let mut tree_bytes = 0;
    for _ in 0..rounds {
        let started = Instant::now();
        let parsed: Vec<_> = sources
            .iter()
            .map(|source| syntax::parse(source, SyntaxOptions::default()))
            .collect();
        best = best.min(started.elapsed());
        tree_bytes = parsed.iter().map(|one| one.ast.heap_bytes()).sum();
    }
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let per_second = |amount: usize| amount as f64 / best.as_secs_f64() / 1e6;
    println!(
        "parse and validate: {} files, {bytes} bytes, {lines} lines: {:.1} MB/s, {:.2} M lines/s; trees: \
         {} bytes a line",
        sources.len(),
        per_second(bytes),
        per_second(lines),
        tree_bytes / lines
    );
}

fn collect(directory: &Path, sources: &mut Vec<Arc<SourceText>>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() && !path.is_symlink() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "pp")
            && let Ok(text) = std::fs::read_to_string(&path)
        {
            sources.push(Arc::new(SourceText::new(None, text)));
        }
    }
}
