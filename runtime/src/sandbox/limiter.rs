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
        }
    }

    /// The largest sum of linear memories so far, in bytes.
    pub fn memory_peak(&self) -> u64 {
        self.memory_peak
    }

    /// The last growth that was refused and not followed by one that succeeded.
    pub fn refusal(&self) -> Option<Refusal> {
        self.refusal
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
            self.refusal = Some(Refusal { limit: Limit::Memory, wanted });
            return Ok(false);
        }
        // Growth past the memory's own maximum fails after this; it must not be counted.
        if maximum.is_none_or(|maximum| desired <= maximum) {
            self.memory = wanted;
            self.memory_peak = self.memory_peak.max(wanted);
            self.refusal = self.refusal.filter(|refusal| refusal.limit != Limit::Memory);
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
            self.refusal = Some(Refusal { limit: Limit::TableElements, wanted });
            return Ok(false);
        }
        if maximum.is_none_or(|maximum| desired <= maximum) {
            self.table = wanted;
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
}
