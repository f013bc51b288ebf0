//! The limiter: sums what a guest's memories and tables take, and remembers what it refused.

use wasmtime::ResourceLimiter;

use crate::limits::{EffectiveLimits, Limit};

/// A refusal, kept since the guest only sees a failed growth and may then trap as something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub limit: Limit,
    /// What the guest would have had in total.
    pub wanted: u64,
}

/// Host calls after a refusal until the guest counts as having survived it. Ending for want of memory takes a few:
/// Rust's abort writes its message to standard error in three pieces of four calls each.
const CALLS_TO_SURVIVE: u32 = 64;

/// Counts over all memories and tables of one store; wasmtime's own limits are per memory.
#[derive(Debug)]
pub(crate) struct Limiter {
    memory_limit: u64,
    memory: u64,
    memory_peak: u64,
    table_limit: u64,
    table: u64,
    instances: usize,
    refusal: Option<Refusal>,
    calls_since: u32,
}

impl Limiter {
    pub fn new(limits: &EffectiveLimits) -> Self {
        Self {
            memory_limit: limits.get(Limit::Memory),
            memory: 0,
            memory_peak: 0,
            table_limit: limits.get(Limit::TableElements),
            table: 0,
            instances: limits.get_usize(Limit::Instances),
            refusal: None,
            calls_since: 0,
        }
    }

    /// The largest sum of linear memories so far, in bytes.
    pub fn memory_peak(&self) -> u64 {
        self.memory_peak
    }

    /// The refusal of the guest's last attempt to grow, unless the guest went on well without.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
    }

    /// The guest calls the host.
    #[inline]
    pub fn calling_host(&mut self) {
        if self.refusal.is_none() {
            return;
        }
        self.calls_since = self.calls_since.saturating_add(1);
        if self.calls_since > CALLS_TO_SURVIVE {
            self.refusal = None;
        }
    }

    fn refuse(&mut self, limit: Limit, wanted: u64) {
        self.refusal = Some(Refusal { limit, wanted });
        self.calls_since = 0;
    }
}

fn grown(total: u64, current: usize, desired: usize) -> u64 {
    let growth = u64::try_from(desired.saturating_sub(current)).unwrap_or(u64::MAX);
    total.saturating_add(growth)
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = grown(self.memory, current, desired);
        if wanted > self.memory_limit {
            self.refuse(Limit::Memory, wanted);
            return Ok(false);
        }
        // Growth past the memory's own maximum fails after this; it must not be counted.
        if maximum.is_none_or(|maximum| desired <= maximum) {
            self.memory = wanted;
            self.memory_peak = self.memory_peak.max(wanted);
            self.refusal = None;
        }
        Ok(true)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let wanted = grown(self.table, current, desired);
        if wanted > self.table_limit {
            self.refuse(Limit::TableElements, wanted);
            return Ok(false);
        }
        if maximum.is_none_or(|maximum| desired <= maximum) {
            self.table = wanted;
            self.refusal = None;
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        self.instances
    }

    // Bounded by elements and by the pool; the count of tables and memories alone says nothing.
    fn tables(&self) -> usize {
        self.instances.saturating_mul(4)
    }

    fn memories(&self) -> usize {
        self.instances.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn memories_are_summed_and_a_refusal_is_remembered_until_growth_succeeds() -> wasmtime::Result<()> {
        let limits = Limits::resolve([&Limits::new().memory(100)]);
        let mut limiter = Limiter::new(&limits);
        assert!(limiter.memory_growing(0, 60, None)?);
        assert!(!limiter.memory_growing(0, 60, None)?);
        assert_eq!(limiter.refusal(), Some(Refusal { limit: Limit::Memory, wanted: 120 }));
        assert!(limiter.memory_growing(0, 40, None)?);
        assert_eq!((limiter.memory_peak(), limiter.refusal()), (100, None));
        Ok(())
    }

    #[test]
    fn a_guest_that_goes_on_has_survived_a_refusal() -> wasmtime::Result<()> {
        let limits = Limits::resolve([&Limits::new().memory(100)]);
        let mut limiter = Limiter::new(&limits);
        assert!(!limiter.memory_growing(0, 120, None)?);
        (0..CALLS_TO_SURVIVE).for_each(|_| limiter.calling_host());
        assert!(limiter.refusal().is_some(), "it may be writing why it ends");
        limiter.calling_host();
        assert_eq!(limiter.refusal(), None);
        assert!(!limiter.memory_growing(0, 120, None)?);
        assert!(limiter.table_growing(0, 1, None)?, "another attempt");
        assert_eq!(limiter.refusal(), None);
        Ok(())
    }
}
