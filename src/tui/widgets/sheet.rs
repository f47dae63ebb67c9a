//! Text in rows: labels with what hangs beside them, and the table of evidence.

use crate::tui::graph::bar;
use crate::tui::text;
use crate::tui::theme::{Glyphs, Role};
use crate::tui::widgets::canvas::{Part, part};

/// Columns of a label.
const LABEL: usize = 11;
/// Columns from which on labels have a column of their own.
const LABELLED: usize = 44;
/// Columns from which on evidence is a table.
const TABULAR: usize = 56;
/// Columns of the mark before a piece of evidence.
const MARK: usize = 4;
/// Columns of a bar.
const BAR: usize = 30;
/// Rows of a cell of evidence while it is skimmed.
const QUOTED: usize = 2;
/// Rows of what it is about, and of what was seen, which names numbers.
const SEEN: usize = 3;
/// Columns of an age.
const AGE: usize = 4;

/// A piece of evidence, ready to be written.
pub struct Proof {
    /// The mark for or against.
    pub mark: &'static str,
    /// The role of the mark.
    pub role: Role,
    /// Its subject.
    pub claim: String,
    /// The observed value.
    pub value: String,
    /// Where.
    pub source: String,
    /// Its age.
    pub age: String,
}

/// Rows of parts, none wider than the sheet.
pub struct Sheet {
    /// The rows.
    pub rows: Vec<Vec<Part>>,
    width: usize,
    whole: bool,
    glyphs: &'static Glyphs,
}

impl Sheet {
    /// Returns an empty sheet. Pieces of evidence are cut to a few rows unless `whole` is wanted: some
    /// quote a line of a log.
    pub const fn new(width: usize, whole: bool, glyphs: &'static Glyphs) -> Self {
        Self { rows: Vec::new(), width, whole, glyphs }
    }

    /// Returns its columns.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Leaves a row blank, unless nothing stands above it.
    pub fn gap(&mut self) {
        if self.rows.last().is_some_and(|row| !row.is_empty()) {
            self.rows.push(Vec::new());
        }
    }

    /// Writes `said` beside `label`, wrapped. Nothing is written when there is nothing to say.
    pub fn say(&mut self, label: &str, said: &str, role: Role) {
        let said = text::clean(said);
        let said = said.trim();
        if !said.is_empty() {
            self.hang(label, text::wrap(said, self.room()), role);
        }
    }

    /// Writes a share as a bar under the words that tell of it; nothing where labels have no column.
    pub fn bar(&mut self, share: f64, role: Role) {
        if self.width < LABELLED {
            return;
        }
        let mut row = vec![part(" ".repeat(LABEL), Role::Fg)];
        row.extend(bar::filled(share, self.room().min(BAR), role, self.glyphs));
        self.rows.push(row);
    }

    /// Writes lines that keep their breaks and their indentation; what is too long is cut.
    pub fn code(&mut self, label: &str, code: &str) {
        let line = |line: &str| text::cut(&text::clean(line), self.room(), self.glyphs.ellipsis);
        self.hang(label, code.lines().map(line).collect(), Role::Series4);
    }

    /// Writes commands, broken where they must be.
    pub fn command(&mut self, label: &str, command: &str) {
        let room = self.room();
        let lines = command.lines().flat_map(|line| text::wrap(&text::clean(line), room));
        let lines = lines.collect();
        self.hang(label, lines, Role::Series4);
    }

    fn room(&self) -> usize {
        if self.width >= LABELLED { self.width - LABEL } else { self.width }
    }

    fn hang(&mut self, label: &str, lines: Vec<String>, role: Role) {
        let beside = self.width >= LABELLED;
        // Without a column, or too long for it, a label has a row of its own.
        let above = !beside || text::width(label) >= LABEL;
        if above && !label.is_empty() {
            self.rows.push(vec![part(label, Role::Title)]);
        }
        for (at, line) in lines.into_iter().enumerate() {
            let label = if at == 0 && !above { label } else { "" };
            let mut row = Vec::new();
            if beside {
                row.push(part(text::pad(label, LABEL), Role::Title));
            }
            row.push(part(line, role));
            self.rows.push(row);
        }
    }

    /// Writes the table of evidence under `title`; without room for columns, one piece below the other.
    pub fn evidence(&mut self, title: &str, proofs: &[Proof]) {
        if proofs.is_empty() {
            return;
        }
        if self.width < TABULAR {
            self.rows.push(vec![part(title, Role::Title)]);
            for proof in proofs {
                self.stacked(proof);
            }
            return;
        }
        let room = self.width - MARK - AGE - 6;
        let widest = |text: fn(&Proof) -> &str, title: &str| {
            let widest = proofs.iter().map(|proof| text::width(text(proof))).max().unwrap_or(0);
            widest.max(title.len())
        };
        let third = room / 3;
        let value = widest(|proof| &proof.value, "VALUE").clamp(5, third.max(5));
        // What short claims leave is for sources, which are names.
        let needed = widest(|proof| &proof.claim, title).max(third).min(room - value);
        let most = (room - value - needed).max(third.max(6));
        let source = widest(|proof| &proof.source, "SOURCE").clamp(6, most);
        let claim = room - value - source;
        let head = format!(
            "{}  {}  {}  {}",
            text::pad(title, MARK + claim),
            text::pad("VALUE", value),
            text::pad("SOURCE", source),
            text::pad_left("AGE", AGE)
        );
        self.rows.push(vec![part(head, Role::Title)]);
        for proof in proofs {
            self.row(proof, [claim, value, source]);
        }
    }

    /// Returns `text` in lines, at most so many unless all are wanted; words, and so numbers, stay whole.
    fn lines(&self, text: &str, columns: usize, most: usize) -> Vec<String> {
        let mut lines = text::wrap(text, columns);
        if !self.whole && lines.len() > most {
            lines.truncate(most - 1);
            let rest = text::after(text, &lines);
            lines.push(text::cut_words(rest, columns, self.glyphs.ellipsis));
        }
        lines
    }

    fn row(&mut self, proof: &Proof, [claim, value, source]: [usize; 3]) {
        let claims = self.lines(&proof.claim, claim, SEEN);
        let values = self.lines(&proof.value, value, SEEN);
        let sources = self.lines(&proof.source, source, QUOTED);
        let height = claims.len().max(values.len()).max(sources.len());
        for at in 0..height {
            let cell = |cells: &[String], width| {
                text::pad(cells.get(at).map_or("", String::as_str), width) + "  "
            };
            let (mark, age) = if at == 0 { (proof.mark, proof.age.as_str()) } else { (" ", "") };
            self.rows.push(vec![
                part(format!("  {mark} "), proof.role),
                part(cell(&claims, claim), Role::Fg),
                part(cell(&values, value), Role::Title),
                part(cell(&sources, source), Role::Muted),
                part(text::pad_left(age, AGE), Role::Muted),
            ]);
        }
    }

    fn stacked(&mut self, proof: &Proof) {
        let room = self.width.saturating_sub(2);
        let said = format!("{}: {}", proof.claim, proof.value);
        for (at, line) in self.lines(&said, room, QUOTED).into_iter().enumerate() {
            let mark = if at == 0 { proof.mark } else { " " };
            self.rows.push(vec![part(format!("{mark} "), proof.role), part(line, Role::Fg)]);
        }
        let age = if proof.age.is_empty() { String::new() } else { format!(", {}", proof.age) };
        for line in self.lines(&format!("{}{age}", proof.source), room, QUOTED) {
            self.rows.push(vec![part("  ", Role::Fg), part(line, Role::Muted)]);
        }
    }
}
