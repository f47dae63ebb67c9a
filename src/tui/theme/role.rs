//! The roles a cell can have.

macro_rules! roles {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// The meaning of a cell. Panels pick a role, themes pick the colour.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Role {
            $($(#[$doc])* $variant,)*
        }

        impl Role {
            /// Every role, in the order of the theme format.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Returns its slot in theme files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

roles! {
    /// The background of everything.
    Bg = "bg",
    /// Plain text.
    Fg = "fg",
    /// Text that may be overlooked.
    Muted = "muted",
    /// The frame of a panel.
    Border = "border",
    /// The frame of the focused panel.
    BorderFocus = "border_focus",
    /// Names of panels and columns.
    Title = "title",
    /// Keys to press.
    Key = "key",
    /// The selected row.
    Select = "select",
    /// Proven good.
    Ok = "ok",
    /// Worth a look.
    Warn = "warn",
    /// Broken.
    Crit = "crit",
    /// Not known; never green.
    Unknown = "unknown",
    /// Was broken, is good.
    Resolved = "resolved",
    /// Text of a banner.
    BannerFg = "banner_fg",
    /// Ground of a banner.
    BannerBg = "banner_bg",
    /// First line of a chart.
    Series1 = "series1",
    /// Second line of a chart.
    Series2 = "series2",
    /// Third line of a chart.
    Series3 = "series3",
    /// Fourth line of a chart.
    Series4 = "series4",
    /// Fifth line of a chart.
    Series5 = "series5",
    /// Sixth line of a chart.
    Series6 = "series6",
    /// A gauge that is far from full.
    GaugeLow = "gauge_low",
    /// A gauge that fills.
    GaugeMid = "gauge_mid",
    /// A gauge that is nearly full.
    GaugeHigh = "gauge_high",
}

impl Role {
    /// The lines of a chart, in order.
    pub const SERIES: [Self; 6] =
        [Self::Series1, Self::Series2, Self::Series3, Self::Series4, Self::Series5, Self::Series6];

    /// Returns the position in [`Role::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the role called `name` in theme files.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}
