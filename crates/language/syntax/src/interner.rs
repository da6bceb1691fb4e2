//! Interning of the texts of a file: [`SymbolInterner`].
//!
//! Invariant: equal texts get equal symbols; symbols are indices in the order of first occurrence.

use std::num::NonZeroU32;
use std::sync::Arc;

use crate::ast::Sym;
use crate::source::as_u32;

/// A hash table with open addressing over the texts, at most half full.
#[derive(Debug)]
pub(crate) struct SymbolInterner {
    texts: Vec<Arc<str>>,
    /// Index into `texts` plus one; 0 is free.
    table: Vec<u32>,
}

impl SymbolInterner {
    pub(crate) fn new() -> Self {
        Self {
            texts: Vec::new(),
            table: vec![0; 64],
        }
    }

    pub(crate) fn intern(&mut self, text: &str) -> Sym {
        if self.texts.len() * 2 >= self.table.len() {
            self.grow();
        }
        let mut slot = self.slot_of(text);
        loop {
            match self.table[slot] {
                0 => break,
                id if &*self.texts[id as usize - 1] == text => return symbol(id),
                _ => slot = (slot + 1) & (self.table.len() - 1),
            }
        }
        self.texts.push(Arc::from(text));
        let id = as_u32(self.texts.len());
        self.table[slot] = id;
        symbol(id)
    }

    pub(crate) fn text(&self, sym: Sym) -> &Arc<str> {
        &self.texts[sym.index()]
    }

    pub(crate) fn take_texts(&mut self) -> Vec<Arc<str>> {
        std::mem::take(&mut self.texts)
    }

    fn grow(&mut self) {
        let size = self.table.len() * 2;
        self.table.clear();
        self.table.resize(size, 0);
        for at in 0..self.texts.len() {
            let mut slot = self.slot_of(&self.texts[at]);
            while self.table[slot] != 0 {
                slot = (slot + 1) & (size - 1);
            }
            self.table[slot] = as_u32(at + 1);
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the table is a power of two below 2^32, so only low bits count"
    )]
    fn slot_of(&self, text: &str) -> usize {
        (hash(text.as_bytes()) as usize) & (self.table.len() - 1)
    }
}

fn symbol(id: u32) -> Sym {
    Sym::new(NonZeroU32::new(id).unwrap_or(NonZeroU32::MIN))
}

/// The hash of rustc's tables: a rotation, an exclusive or and a multiplication per eight bytes.
fn hash(bytes: &[u8]) -> u64 {
    const SEED: u64 = 0x51_7c_c1_b7_27_22_0a_95;
    let mut state = bytes.len() as u64;
    let mut add = |word: u64| state = (state.rotate_left(5) ^ word).wrapping_mul(SEED);
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        add(u64::from_le_bytes(word));
    }
    let mut word = [0; 8];
    let rest = chunks.remainder();
    word[..rest.len()].copy_from_slice(rest);
    add(u64::from_le_bytes(word));
    // the low bits of a product depend only on low bits: mix the high ones in
    state ^ (state >> 32)
}
