//! The characters to draw with, in Unicode and in ASCII.

use ratatui::symbols::border;

/// Heights of a sparkline's cell above empty.
pub const SPARK_LEVELS: usize = 8;

/// One set of characters. All of one column each, except [`Glyphs::ellipsis`] and [`Glyphs::leads_to`] in ASCII.
#[derive(Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// State: proven good.
    pub ok: &'static str,
    /// State: worth a look.
    pub warn: &'static str,
    /// State: broken.
    pub fail: &'static str,
    /// State: not known.
    pub unknown: &'static str,
    /// A worker that left.
    pub gone: &'static str,
    /// Good to know.
    pub info: &'static str,
    /// Beside the selected row.
    pub mark: &'static str,
    /// A value that is not known.
    pub none: &'static str,
    /// Before a number of which there may be more.
    pub least: &'static str,
    /// Something was left out here.
    pub ellipsis: &'static str,
    /// Between a name and what it is of.
    pub dash: &'static str,
    /// Between a name and what it led to.
    pub leads_to: &'static str,
    /// Between facts in one line.
    pub dot: &'static str,
    /// Between parts of the status bar.
    pub bar: &'static str,
    /// Two values that should be equal and are not.
    pub differs: &'static str,
    /// Data is flowing.
    pub play: &'static str,
    /// The picture is held.
    pub pause: &'static str,
    /// Sorted downwards.
    pub down: &'static str,
    /// Sorted upwards.
    pub up: &'static str,
    /// Title of a column of changes per second.
    pub change: &'static str,
    /// Before a row of a tree whose children are shown, and before one whose are hidden.
    pub fold: [&'static str; 2],
    /// The part of something that a worker has: nothing, some, all.
    pub presence: [&'static str; 3],
    /// Fills of areas that colours do not tell apart.
    pub fills: [&'static str; 3],
    /// The share of something in one place: nothing, little, most, all.
    pub heat: [&'static str; 4],
    /// A part of a way that is done, and one that is not.
    pub progress: [&'static str; 2],
    /// A process that started.
    pub restart: &'static str,
    /// On its way to good.
    pub healing: &'static str,
    /// A horizontal rule.
    pub rule: &'static str,
    /// The filled part of a gauge.
    pub full: &'static str,
    /// The empty part of a gauge.
    pub empty: &'static str,
    /// The position of a replay.
    pub head: &'static str,
    /// Between the steps of a trail.
    pub step: &'static str,
    /// An event on the rule.
    pub tick: &'static str,
    /// A chart's vertical axis, without and with a tick, and its corner.
    pub axis: [&'static str; 3],
    /// A sparkline's cells, from lowest to highest.
    pub sparks: [&'static str; SPARK_LEVELS],
    /// True when charts may use braille.
    pub braille: bool,
    /// A panel's frame.
    pub frame: border::Set<'static>,
    /// The banner's frame.
    pub banner: border::Set<'static>,
}

impl Glyphs {
    /// Returns the name of a column as the table spells it; who lists columns knows no characters.
    pub fn named<'a>(&self, column: &'a str) -> &'a str
    where
        Self: 'a,
    {
        if column == Self::ASCII.change { self.change } else { column }
    }

    /// For terminals that show Unicode.
    pub const UNICODE: &'static Self = &Self {
        ok: "✓",
        warn: "▲",
        fail: "✗",
        unknown: "○",
        gone: "∅",
        info: "i",
        mark: "▌",
        none: "—",
        least: "≥",
        ellipsis: "…",
        dash: "–",
        leads_to: "→",
        dot: "·",
        bar: "│",
        differs: "≠",
        play: "▶",
        pause: "‖",
        down: "▼",
        up: "▲",
        change: "Δ/s",
        fold: ["▾ ", "▸ "],
        presence: ["·", "▌", "█"],
        fills: ["█", "░", "▒"],
        heat: ["·", "▒", "▓", "█"],
        progress: ["▰", "▱"],
        restart: "↻",
        healing: "◐",
        rule: "─",
        full: "█",
        empty: "░",
        head: "●",
        step: "›",
        tick: "┼",
        axis: ["│", "┤", "└"],
        sparks: ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"],
        braille: true,
        frame: border::ROUNDED,
        banner: border::DOUBLE,
    };

    /// For every other terminal.
    pub const ASCII: &'static Self = &Self {
        ok: "+",
        warn: "!",
        fail: "x",
        unknown: "o",
        gone: "~",
        info: "i",
        mark: ">",
        none: "-",
        least: ">=",
        ellipsis: "..",
        dash: "-",
        leads_to: "->",
        dot: "|",
        bar: "|",
        differs: "!=",
        play: ">",
        pause: "=",
        down: "v",
        up: "^",
        change: "d/s",
        fold: ["v ", "> "],
        presence: [".", "+", "#"],
        fills: ["#", ":", "x"],
        heat: [".", "+", "*", "#"],
        progress: ["=", "."],
        restart: "*",
        healing: "*",
        rule: "-",
        full: "#",
        empty: ".",
        head: "O",
        step: ">",
        tick: "+",
        axis: ["|", "+", "+"],
        sparks: ["_", ".", ",", ":", "-", "=", "*", "#"],
        braille: false,
        frame: border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        },
        banner: border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "=",
            horizontal_bottom: "=",
        },
    };

    /// Returns the set for a locale, given the values of `LC_ALL`, `LC_CTYPE` and `LANG`: the first
    /// that is not empty decides.
    pub fn for_locale<'a>(values: impl IntoIterator<Item = &'a str>) -> &'static Self {
        let value = values.into_iter().find(|value| !value.is_empty()).unwrap_or_default();
        let value = value.to_ascii_lowercase();
        if value.contains("utf-8") || value.contains("utf8") { Self::UNICODE } else { Self::ASCII }
    }
}
