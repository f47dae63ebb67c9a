//! Units: time and block size.

use std::fmt;
use std::num::NonZeroU32;
use std::time::Duration;

/// A point in time, in microseconds since the Unix epoch, as in a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the time from `earlier` to `self`, zero when `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Returns `self` moved forward by `span`, at most to the end of time.
    #[must_use]
    pub fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Returns `self` moved back by `span`, at most to the epoch.
    #[must_use]
    pub fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_micros()).unwrap_or(u64::MAX)))
    }

    /// Returns the UTC time of day: `14:39:02Z`.
    pub fn time_of_day(self) -> String {
        let second = self.seconds() % 86_400;
        format!("{:02}:{:02}:{:02}Z", second / 3_600, second % 3_600 / 60, second % 60)
    }

    /// Returns the whole seconds since the Unix epoch.
    pub const fn seconds(self) -> u64 {
        self.0 / 1_000_000
    }
}

/// Tokens in a block. Zero tokens per block does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockSize(pub NonZeroU32);

impl BlockSize {
    /// Returns the size for `tokens`, none for zero.
    pub const fn new(tokens: u32) -> Option<Self> {
        match NonZeroU32::new(tokens) {
            Some(tokens) => Some(Self(tokens)),
            None => None,
        }
    }

    /// Returns true when an engine may have blocks of this size: a power of two, or for hybrid models of vLLM a
    /// multiple of 16 (528, 784, 2096). The end of a prompt has any number of tokens, and bindings of Dynamo
    /// 0.7 printed freed memory (2662439576).
    pub const fn is_plausible(self) -> bool {
        const LARGEST: u32 = 65_536;
        let tokens = self.0.get();
        tokens <= LARGEST && (tokens.is_power_of_two() || tokens.is_multiple_of(16))
    }

    /// Returns the tokens in a block.
    pub const fn tokens(self) -> u32 {
        self.0.get()
    }
}

impl fmt::Display for BlockSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// Returns `count` with a comma between thousands.
pub fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
