//! What a call may consume: names, defaults, where a value was set, and layers that narrow to one effective set.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use schemars::{JsonSchema, schema_for};
use serde_json::Value;

use crate::call::LimitHit;

/// A number with a meaning: what a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Wall clock, kept in nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Things.
    Count,
}

/// Every limit by name. The order is that of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema)]
#[schemars(rename_all = "snake_case")]
#[non_exhaustive]
#[repr(usize)]
pub enum Limit {
    /// Wall clock of the cell, host calls included.
    Timeout,
    /// Units of fuel: about one a guest instruction, more for a crossing to the host. `off` leaves only time.
    Fuel,
    /// The sum of the guest's linear memories.
    Memory,
    /// Elements of all tables.
    TableElements,
    /// Core instances of one component.
    Instances,
    /// Handles that the guest holds at once: files, streams, pollables.
    Handles,
    /// Bytes that the guest hands to the host over the call, beside what it reads and writes by streams: random
    /// bytes, log records, emitted content, replaced files.
    HostBytes,
    /// Random bytes over the call.
    RandomBytes,
    /// The guest's stack.
    Stack,
    /// Bytes of standard output and standard error that are kept, each; more is counted and dropped.
    StdioBytes,
    /// Log records that are kept; more are counted and dropped.
    LogRecords,
    /// Chunks that a tool may emit before its result.
    Chunks,
    /// Bytes of the result as JSON.
    ResultBytes,
    /// Bytes of the arguments as JSON.
    ArgumentBytes,
    /// Files and directories open at once.
    OpenFiles,
    /// Bytes written to files over the call.
    WriteBytes,
    /// Requests over HTTP that leave the host over the call.
    HttpRequests,
    /// Bytes that are sent over HTTP, heads and bodies, and as many that are received, framing included, over the call.
    HttpBytes,
    /// Bytes that a component keeps in one scope: keys, values, and 64 for each entry.
    StateBytes,
}

/// What is fixed about a limit.
struct Definition {
    name: &'static str,
    unit: Unit,
    default: u64,
    flag: Option<&'static str>,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 19] = [
        Self::Timeout,
        Self::Fuel,
        Self::Memory,
        Self::TableElements,
        Self::Instances,
        Self::Handles,
        Self::HostBytes,
        Self::RandomBytes,
        Self::Stack,
        Self::StdioBytes,
        Self::LogRecords,
        Self::Chunks,
        Self::ResultBytes,
        Self::ArgumentBytes,
        Self::OpenFiles,
        Self::WriteBytes,
        Self::HttpRequests,
        Self::HttpBytes,
        Self::StateBytes,
    ];

    /// Every limit with what it bounds, in a sentence.
    pub fn described() -> Vec<(Self, String)> {
        let schema: Value = schema_for!(Self).into();
        let text_of = |limit: Self| {
            let alternatives = schema.get("oneOf")?.as_array()?.iter();
            let mut own =
                alternatives.filter(|one| one.get("const").is_some_and(|name| name == limit.name()));
            let words = own.next()?.get("description")?.as_str()?.split_whitespace();
            Some(words.collect::<Vec<_>>().join(" "))
        };
        Self::ALL.into_iter().map(|limit| (limit, text_of(limit).unwrap_or_default())).collect()
    }

    fn definition(self) -> Definition {
        let (name, unit, default, flag) = match self {
            Self::Timeout => ("timeout", Unit::Time, 30_000_000_000, Some("--timeout")),
            // Above what 30 s can burn on current machines, so that the deadline speaks first.
            Self::Fuel => ("fuel", Unit::Count, 1_000_000_000_000, Some("--fuel")),
            Self::Memory => ("memory", Unit::Bytes, 256 * MIB, Some("--memory")),
            // Interpreters compiled to components were measured to need 5.7k and 7.7k.
            Self::TableElements => ("table_elements", Unit::Count, 20_000, None),
            // A component of componentize-py has 15.
            Self::Instances => ("instances", Unit::Count, 20, None),
            // A hundredth of wasmtime's default, and more than any well-behaved tool was seen to hold.
            Self::Handles => ("handles", Unit::Count, 1_000, None),
            Self::HostBytes => ("host_bytes", Unit::Bytes, 1024 * MIB, None),
            Self::RandomBytes => ("random_bytes", Unit::Bytes, 16 * MIB, None),
            Self::Stack => ("stack", Unit::Bytes, 512 * KIB, None),
            Self::StdioBytes => ("stdio_bytes", Unit::Bytes, 64 * KIB, None),
            Self::LogRecords => ("log_records", Unit::Count, 1_000, None),
            Self::Chunks => ("chunks", Unit::Count, 10_000, None),
            Self::ResultBytes => ("result_bytes", Unit::Bytes, 16 * MIB, None),
            Self::ArgumentBytes => ("argument_bytes", Unit::Bytes, 16 * MIB, None),
            Self::OpenFiles => ("open_files", Unit::Count, 128, None),
            Self::WriteBytes => ("write_bytes", Unit::Bytes, 1024 * MIB, None),
            // More than a tool needs for one answer, and too few to flood a server.
            Self::HttpRequests => ("http_requests", Unit::Count, 100, None),
            Self::HttpBytes => ("http_bytes", Unit::Bytes, 64 * MIB, None),
            // Notes, lists and counters; what is larger belongs into files.
            Self::StateBytes => ("state_bytes", Unit::Bytes, 4 * MIB, None),
        };
        Definition { name, unit, default, flag }
    }

    /// The name in `[limits]`.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// What it counts.
    pub fn unit(self) -> Unit {
        self.definition().unit
    }

    /// The value where nobody set one: nanoseconds, bytes or a count.
    pub fn default_value(self) -> u64 {
        self.definition().default
    }

    /// The command line flag that sets it for one call, if there is one.
    pub fn flag(self) -> Option<&'static str> {
        self.definition().flag
    }

    /// The limit of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }

    /// A value of this limit as a person writes it: `5s`, `64MiB`, `1000`.
    pub fn format(self, value: u64) -> String {
        if value == u64::MAX {
            return "off".to_owned();
        }
        match self.unit() {
            Unit::Time => humantime::format_duration(readable(value)).to_string().replace(' ', ""),
            Unit::Bytes => format_bytes(value),
            Unit::Count => value.to_string(),
        }
    }

    /// The largest value that could make a difference.
    fn most(self) -> u64 {
        match self {
            // What addresses of 32 bits reach, which is what a tool's memory has.
            Self::Memory => 4 << 30,
            // Every instance has its own.
            Self::Stack => 1 << 30,
            _ if self.unit() == Unit::Bytes => 1 << 60,
            _ => u64::MAX - 1,
        }
    }

    /// Reads a value as a person writes it.
    ///
    /// # Errors
    /// Says what is wrong and gives an example of a good value.
    pub fn parse(self, text: &str) -> Result<u64, String> {
        let text = text.trim();
        if self == Self::Fuel && text == "off" {
            return Ok(u64::MAX);
        }
        let value = match self.unit() {
            Unit::Time => parse_time(text),
            Unit::Bytes => parse_bytes(text),
            Unit::Count => parse_count(text),
        }?;
        if value == 0 {
            return Err(format!("`{text}` would allow nothing; give at least the smallest unit"));
        }
        let most = self.most();
        if value > most {
            return Err(format!("`{text}` is more than there can be; give at most {}", self.format(most)));
        }
        Ok(value)
    }
}

/// Whole microseconds below ten milliseconds and whole milliseconds above: nobody reads the rest.
fn readable(nanos: u64) -> Duration {
    let step = if nanos < 1_000_000 {
        1
    } else if nanos < 10_000_000 {
        1_000
    } else {
        1_000_000
    };
    Duration::from_nanos(nanos / step * step)
}

/// The same time, rounded up as far as [`readable`] rounds down: what is over a limit reads as more than it.
fn above(nanos: u64) -> u64 {
    let step = if nanos < 10_000_000 { 1_000 } else { 1_000_000 };
    nanos.div_ceil(step).saturating_mul(step)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX - 1)
}

/// Bytes in the largest binary unit that divides them.
fn format_bytes(value: u64) -> String {
    const GIB: u64 = 1 << 30;
    match value {
        0 => "0B".to_owned(),
        _ if value.is_multiple_of(GIB) => format!("{}GiB", value / GIB),
        _ if value.is_multiple_of(MIB) => format!("{}MiB", value / MIB),
        _ if value.is_multiple_of(KIB) => format!("{}KiB", value / KIB),
        _ => format!("{value}B"),
    }
}

fn parse_time(text: &str) -> Result<u64, String> {
    let duration = humantime::parse_duration(text)
        .map_err(|_| format!("`{text}` is no duration; write for example `500ms`, `30s` or `10m`"))?;
    u64::try_from(duration.as_nanos()).map_err(|_| format!("`{text}` is longer than 500 years"))
}

fn parse_bytes(text: &str) -> Result<u64, String> {
    text.parse::<bytesize::ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| format!("`{text}` is no size; write for example `64KiB`, `256MiB` or `1048576`"))
}

/// A whole number with an optional decimal suffix: `1000`, `10k`, `1M`, `100G`.
fn parse_count(text: &str) -> Result<u64, String> {
    let wrong = || format!("`{text}` is no count; write for example `1000`, `10k`, `1M` or `100G`");
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1_000),
        Some((at, 'M')) => (&text[..at], 1_000_000),
        Some((at, 'G')) => (&text[..at], 1_000_000_000),
        Some((at, 'T')) => (&text[..at], 1_000_000_000_000),
        _ => (text, 1),
    };
    let number: u64 = digits.trim().replace('_', "").parse().map_err(|_| wrong())?;
    number.checked_mul(factor).ok_or_else(wrong)
}

/// Where a value was set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Origin {
    /// The setting's address, `component.files.limits.memory`; empty for a default.
    pub setting: Arc<str>,
    /// File and line, `toolcell.toml:31`, where it came from a file.
    pub at: Option<Arc<str>>,
}

impl Origin {
    /// A setting at an address that is not in a file.
    pub fn setting(setting: impl Into<Arc<str>>) -> Self {
        Self { setting: setting.into(), at: None }
    }

    /// A setting in a file.
    pub fn in_file(setting: impl Into<Arc<str>>, at: impl Into<Arc<str>>) -> Self {
        Self { setting: setting.into(), at: Some(at.into()) }
    }
}

/// Limits of one scope: what is set there and where. Unset ones come from the scope above.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    set: Vec<(Limit, u64, Origin)>,
}

impl Limits {
    /// Nothing set: every limit at the value of the scope above, in the end its default.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets `limit` to `value` (nanoseconds, bytes or a count; `u64::MAX` as fuel means `off`).
    #[must_use]
    pub fn with(self, limit: Limit, value: u64) -> Self {
        let origin = Origin::setting(format!("limits.{}", limit.name()));
        self.with_origin(limit, value, origin)
    }

    /// Sets `limit` and says where that was written.
    #[must_use]
    pub fn with_origin(mut self, limit: Limit, value: u64, origin: Origin) -> Self {
        self.set.retain(|(other, ..)| *other != limit);
        self.set.push((limit, value, origin));
        self
    }

    /// The cell's wall clock, host calls included. Default 30 s.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(Limit::Timeout, nanos(timeout))
    }

    /// Units of fuel. Default 1,000 billion.
    #[must_use]
    pub fn fuel(self, units: u64) -> Self {
        self.with(Limit::Fuel, units)
    }

    /// Time alone bounds the guest's work; cheaper for tools that compute, not deterministic.
    #[must_use]
    pub fn fuel_off(self) -> Self {
        self.with(Limit::Fuel, u64::MAX)
    }

    /// Bytes of all linear memories together. Default 256 MiB.
    #[must_use]
    pub fn memory(self, bytes: u64) -> Self {
        self.with(Limit::Memory, bytes)
    }

    /// What is set here.
    pub fn iter(&self) -> impl Iterator<Item = (Limit, u64, &Origin)> {
        self.set.iter().map(|(limit, value, origin)| (*limit, *value, origin))
    }

    /// The effective limits of scopes from the outermost to the innermost: the innermost setting counts.
    pub fn resolve<'a>(scopes: impl IntoIterator<Item = &'a Self>) -> EffectiveLimits {
        let mut effective = EffectiveLimits::default();
        for scope in scopes {
            effective.apply(scope);
        }
        effective
    }
}

/// What the cell of a hook's component may take of memory where nothing is set: a judge of arguments needs little.
pub(crate) const HOOK_MEMORY: u64 = 64 * MIB;

/// What is not set for a hook's component: its time is the hook's own, and the others are those that all engines are made for.
pub(crate) const NOT_OF_HOOKS: [Limit; 5] =
    [Limit::Timeout, Limit::Stack, Limit::TableElements, Limit::Instances, Limit::ArgumentBytes];

/// The setting of the time for the whole path of a call.
pub(crate) const CALL_TIMEOUT: &str = "policy.call_timeout";

/// One value for every limit, and where each came from.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveLimits {
    values: [u64; Limit::ALL.len()],
    origins: [Origin; Limit::ALL.len()],
    whole: Option<Whole>,
}

/// A time that began before the cell did, where that is what bounds the cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Whole {
    allowed: Duration,
    spent: Duration,
}

impl Default for EffectiveLimits {
    fn default() -> Self {
        Self {
            values: Limit::ALL.map(Limit::default_value),
            origins: Limit::ALL.map(|_| Origin::default()),
            whole: None,
        }
    }
}

impl EffectiveLimits {
    /// Overrides what `scope` sets.
    pub fn apply(&mut self, scope: &Limits) {
        for (limit, value, origin) in scope.iter() {
            self.set(limit, value, origin.clone());
        }
    }

    fn set(&mut self, limit: Limit, value: u64, origin: Origin) {
        self.values[limit as usize] = value;
        self.origins[limit as usize] = origin;
        if limit == Limit::Timeout {
            self.whole = None;
        }
    }

    /// Lowers the timeout to what is left of `allowed`, of which `spent` is gone; never raises it. Who reads of a
    /// timeout is then told of these two, not of what was left.
    pub fn cap_timeout(&mut self, allowed: Duration, spent: Duration, origin: Origin) {
        let left = nanos(allowed.saturating_sub(spent));
        if left < self.get(Limit::Timeout) {
            self.set(Limit::Timeout, left, origin);
            self.whole = Some(Whole { allowed, spent });
        }
    }

    /// Says that the timeout was hit by a cell that ran for `elapsed`.
    pub fn timeout_hit(&self, elapsed: Duration) -> LimitHit {
        let Whole { allowed, spent } =
            self.whole.unwrap_or(Whole { allowed: self.timeout(), spent: Duration::ZERO });
        let used = nanos(spent.saturating_add(elapsed));
        let mut hit = self.hit_text(Limit::Timeout, Limit::Timeout.format(above(used)));
        hit.allowed = Limit::Timeout.format(nanos(allowed));
        hit
    }

    /// The value of `limit`.
    pub fn get(&self, limit: Limit) -> u64 {
        self.values[limit as usize]
    }

    /// The value of `limit` for interfaces that count in `usize`.
    pub fn get_usize(&self, limit: Limit) -> usize {
        usize::try_from(self.get(limit)).unwrap_or(usize::MAX)
    }

    /// Where the value of `limit` was set; an empty setting means the default.
    pub fn origin(&self, limit: Limit) -> &Origin {
        &self.origins[limit as usize]
    }

    /// The cell's wall clock.
    pub fn timeout(&self) -> Duration {
        Duration::from_nanos(self.get(Limit::Timeout))
    }

    /// The fuel, unless it is off.
    pub fn fuel(&self) -> Option<u64> {
        Some(self.get(Limit::Fuel)).filter(|fuel| *fuel != u64::MAX)
    }

    /// Says that `limit` was hit when `used` (in the limit's unit) was wanted.
    pub fn hit(&self, limit: Limit, used: u64) -> LimitHit {
        self.hit_text(limit, limit.format(used))
    }

    /// Says that `limit` was hit, with `used` in words ("at least 1000").
    pub fn hit_text(&self, limit: Limit, used: impl Into<String>) -> LimitHit {
        let origin = self.origin(limit);
        let setting = if origin.setting.is_empty() {
            format!("limits.{}", limit.name())
        } else {
            origin.setting.to_string()
        };
        let mut hit = LimitHit::new(limit.name(), limit.format(self.get(limit)), used, setting);
        hit.at = origin.at.as_ref().map(ToString::to_string);
        // The time for a whole call is not what the flag sets.
        hit.flag = limit.flag().filter(|_| hit.setting != CALL_TIMEOUT).map(str::to_owned);
        hit
    }
}

/// What an operator does about a limit that was hit: which setting, where it is, and the flag for one run.
pub(crate) fn advice(hit: &LimitHit) -> String {
    let mut advice = format!("raise `{}`", hit.setting);
    if let Some(at) = &hit.at {
        advice.push_str(&format!(" ({at})"));
    }
    if let Some(flag) = hit.flag.as_ref().filter(|flag| **flag != hit.setting) {
        advice.push_str(&format!(" or pass `{flag}`"));
    }
    advice
}

/// What the whole runtime may run at once, and how much of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Admission {
    /// Cells that run at once. Default 32.
    pub concurrent_cells: u32,
    /// Calls that may wait for a cell. Default 1,024.
    pub max_waiting: u32,
    /// How long a call may wait for a cell before it is `busy`. Default 30 s.
    pub queue_timeout: Duration,
    /// Calls of one batch that are made; those after them are refused. Default 1,000.
    pub batch_calls: u32,
    /// Bytes of JSON that the results of one batch may have before no further call of it begins. Those that run then are
    /// finished, at most eight. Default 64 MiB.
    pub batch_bytes: u64,
}

impl Default for Admission {
    fn default() -> Self {
        Self {
            concurrent_cells: 32,
            max_waiting: 1024,
            queue_timeout: Duration::from_secs(30),
            // No message of a model was seen with a tenth of these, and a client that writes more has made a mistake.
            batch_calls: 1_000,
            batch_bytes: 64 * MIB,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_are_written() {
        for (limit, text, value) in [
            (Limit::Timeout, "100ms", 100_000_000),
            (Limit::Timeout, "5s", 5_000_000_000),
            (Limit::Fuel, "100G", 100_000_000_000),
            (Limit::Fuel, "off", u64::MAX),
            (Limit::Memory, "64MiB", 64 << 20),
            (Limit::Memory, "64KiB", 64 << 10),
            (Limit::Handles, "1000", 1000),
        ] {
            assert_eq!(limit.parse(text), Ok(value), "{text}");
            assert_eq!(limit.parse(&limit.format(value)), Ok(value), "{text}");
        }
        for (limit, text) in
            [(Limit::Timeout, "5"), (Limit::Memory, "lots"), (Limit::Handles, "0"), (Limit::Handles, "-1")]
        {
            assert!(limit.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_limit_says_what_it_bounds() {
        let described = Limit::described();
        assert_eq!(described.len(), Limit::ALL.len());
        assert!(described.iter().all(|(_, text)| text.ends_with('.')), "{described:?}");
    }

    #[test]
    fn a_time_that_began_earlier_is_told_as_it_was_set() {
        let mut limits = EffectiveLimits::default();
        let origin = Origin::in_file(CALL_TIMEOUT, "toolcell.toml:2");
        limits.cap_timeout(Duration::from_secs(60), Duration::from_secs(1), origin.clone());
        assert_eq!(limits.timeout(), Duration::from_secs(30), "never raised");
        limits.cap_timeout(Duration::from_secs(5), Duration::from_secs(2), origin);
        assert_eq!(limits.timeout(), Duration::from_secs(3));
        let hit = limits.timeout_hit(Duration::from_micros(3_000_200));
        assert_eq!((hit.allowed.as_str(), hit.used.as_str()), ("5s", "5s1ms"));
        assert_eq!((hit.setting.as_str(), hit.at.as_deref()), (CALL_TIMEOUT, Some("toolcell.toml:2")));
        assert_eq!(hit.flag, None);
    }

    #[test]
    fn the_innermost_scope_counts_and_is_named() {
        let outer = Limits::new().with(Limit::Memory, 1 << 20);
        let inner = Limits::new().with_origin(
            Limit::Memory,
            2 << 20,
            Origin::in_file("component.x.limits.memory", "toolcell.toml:3"),
        );
        let effective = Limits::resolve([&outer, &inner]);
        let hit = effective.hit(Limit::Memory, 3 << 20);
        assert_eq!(
            (hit.allowed.as_str(), hit.used.as_str(), hit.setting.as_str(), hit.at.as_deref()),
            ("2MiB", "3MiB", "component.x.limits.memory", Some("toolcell.toml:3"))
        );
        assert_eq!(effective.hit(Limit::Stack, 0).setting, "limits.stack");
    }
}
