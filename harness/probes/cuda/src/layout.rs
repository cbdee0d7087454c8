//! Where the fields of CUPTI's activity records are: the prefixes that all versions since CUDA 12.0 share, so that
//! one library serves CUDA 12 and 13. NVIDIA only ever appends fields to a kind of record.

/// The first bytes of one record, as many as its kind is read for.
pub struct Record<'a>(pub &'a [u8]);

impl Record<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        self.0.get(at..at + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    pub fn u8(&self, at: usize) -> u8 {
        u8::from_ne_bytes(self.bytes(at))
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes(at))
    }

    /// A count that CUPTI declares signed and that is never negative.
    pub fn extent(&self, at: usize) -> u64 {
        u64::try_from(i32::from_ne_bytes(self.bytes(at))).unwrap_or(0)
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes(at))
    }

    pub fn uuid(&self, at: usize) -> [u8; 16] {
        self.bytes(at)
    }
}

/// Kinds of record that are asked for.
pub mod kind {
    pub const MEMCPY: u32 = 1;
    pub const MEMSET: u32 = 2;
    pub const DEVICE: u32 = 8;
    pub const CONTEXT: u32 = 9;
    pub const KERNEL: u32 = 10;
    pub const PEER: u32 = 22;
    pub const MEMORY: u32 = 49;

    /// All of them, in the order in which they are enabled.
    pub const ALL: [u32; 7] = [DEVICE, CONTEXT, KERNEL, MEMCPY, MEMSET, PEER, MEMORY];
}

/// How much of a record of this kind is read; `None` for kinds that nobody asked for.
pub fn prefix(of: u32) -> Option<usize> {
    Some(match of {
        kind::DEVICE => 176,
        kind::CONTEXT => 16,
        kind::KERNEL => 112,
        kind::MEMCPY | kind::MEMSET => 36,
        kind::PEER => 56,
        kind::MEMORY => 56,
        _ => return None,
    })
}

pub mod device {
    pub const MEMORY: usize = 16;
    pub const L2: usize = 28;
    pub const UNITS: usize = 44;
    pub const SHARED: usize = 60;
    pub const MAJOR: usize = 104;
    pub const MINOR: usize = 108;
    pub const ID: usize = 112;
    pub const UUID: usize = 120;
    pub const NAME: usize = 136;
    pub const VISIBLE: usize = 144;
    pub const MIG: usize = 145;
    pub const GPU_INSTANCE: usize = 152;
    pub const COMPUTE_INSTANCE: usize = 156;
    pub const MIG_UUID: usize = 160;
}

pub mod context {
    pub const DEVICE: usize = 8;
}

pub mod kernel {
    pub const START: usize = 16;
    pub const END: usize = 24;
    pub const DEVICE: usize = 40;
    pub const STREAM: usize = 48;
    pub const GRID: usize = 52;
    pub const BLOCK: usize = 64;
    pub const CORRELATION: usize = 92;
    pub const NAME: usize = 104;
}

/// Copies, fills and peer copies have these four in common.
pub mod transfer {
    pub const BYTES: usize = 8;
    pub const START: usize = 16;
    pub const END: usize = 24;
    pub const DEVICE: usize = 32;
    /// Of a copy alone.
    pub const KIND: usize = 4;
    /// Of a peer copy alone.
    pub const SOURCE: usize = 44;
    /// Of a peer copy alone.
    pub const DESTINATION: usize = 52;
}

pub mod memory {
    pub const OPERATION: usize = 4;
    pub const KIND: usize = 8;
    pub const BYTES: usize = 24;
    pub const TIME: usize = 32;
    pub const DEVICE: usize = 52;
}

/// What a callback is given.
pub mod callback {
    /// Of an API call: 0 before it, 1 after it.
    pub const SITE: usize = 0;
    pub const BEFORE: u32 = 0;
    pub const AFTER: u32 = 1;

    pub const DRIVER: u32 = 1;
    pub const RESOURCE: u32 = 3;
    pub const CONTEXT_CREATED: u32 = 1;

    /// Calls of the driver interface that launch kernels, with and without a default stream per thread.
    pub const LAUNCHES: [u32; 8] = [307, 442, 477, 478, 514, 515, 652, 653];
    /// Calls of the driver interface that wait for the device.
    pub const WAITS: [u32; 10] = [17, 800, 121, 126, 440, 278, 398, 305, 408, 318];
}

#[cfg(test)]
mod tests {
    use super::*;
    use cudarc::cupti::sys as cupti;
    use std::mem::{offset_of, size_of};

    #[track_caller]
    fn same(table: &[(usize, usize)]) {
        for (position, (ours, theirs)) in table.iter().enumerate() {
            assert_eq!(ours, theirs, "entry {position}");
        }
    }

    #[test]
    fn devices_and_contexts() {
        type D = cupti::CUpti_ActivityDevice5;
        same(&[
            (device::MEMORY, offset_of!(D, globalMemorySize)),
            (device::L2, offset_of!(D, l2CacheSize)),
            (device::UNITS, offset_of!(D, numMultiprocessors)),
            (device::SHARED, offset_of!(D, maxSharedMemoryPerMultiprocessor)),
            (device::MAJOR, offset_of!(D, computeCapabilityMajor)),
            (device::MINOR, offset_of!(D, computeCapabilityMinor)),
            (device::ID, offset_of!(D, id)),
            (device::UUID, offset_of!(D, uuid)),
            (device::NAME, offset_of!(D, name)),
            (device::VISIBLE, offset_of!(D, isCudaVisible)),
            (device::MIG, offset_of!(D, isMigEnabled)),
            (device::GPU_INSTANCE, offset_of!(D, gpuInstanceId)),
            (device::COMPUTE_INSTANCE, offset_of!(D, computeInstanceId)),
            (device::MIG_UUID, offset_of!(D, migUuid)),
            (context::DEVICE, offset_of!(cupti::CUpti_ActivityContext, deviceId)),
        ]);
    }

    #[test]
    fn kernels() {
        macro_rules! kernel_of {
            ($($record:ident)*) => {$(
                type K = cupti::$record;
                same(&[
                    (kernel::START, offset_of!(K, start)),
                    (kernel::END, offset_of!(K, end)),
                    (kernel::DEVICE, offset_of!(K, deviceId)),
                    (kernel::STREAM, offset_of!(K, streamId)),
                    (kernel::GRID, offset_of!(K, gridX)),
                    (kernel::GRID + 4, offset_of!(K, gridY)),
                    (kernel::GRID + 8, offset_of!(K, gridZ)),
                    (kernel::BLOCK, offset_of!(K, blockX)),
                    (kernel::BLOCK + 8, offset_of!(K, blockZ)),
                    (kernel::CORRELATION, offset_of!(K, correlationId)),
                    (kernel::NAME, offset_of!(K, name)),
                ]);
            )*};
        }
        {
            kernel_of!(CUpti_ActivityKernel9);
        }
        {
            kernel_of!(CUpti_ActivityKernel10);
        }
    }

    #[test]
    fn transfers_and_allocations() {
        type C = cupti::CUpti_ActivityMemcpy6;
        type S = cupti::CUpti_ActivityMemset4;
        type P = cupti::CUpti_ActivityMemcpyPtoP4;
        type M = cupti::CUpti_ActivityMemory4;
        same(&[
            (transfer::KIND, offset_of!(C, copyKind)),
            (transfer::BYTES, offset_of!(C, bytes)),
            (transfer::START, offset_of!(C, start)),
            (transfer::END, offset_of!(C, end)),
            (transfer::DEVICE, offset_of!(C, deviceId)),
            (transfer::BYTES, offset_of!(S, bytes)),
            (transfer::START, offset_of!(S, start)),
            (transfer::END, offset_of!(S, end)),
            (transfer::DEVICE, offset_of!(S, deviceId)),
            (transfer::BYTES, offset_of!(P, bytes)),
            (transfer::START, offset_of!(P, start)),
            (transfer::END, offset_of!(P, end)),
            (transfer::DEVICE, offset_of!(P, deviceId)),
            (transfer::SOURCE, offset_of!(P, srcDeviceId)),
            (transfer::DESTINATION, offset_of!(P, dstDeviceId)),
            (memory::OPERATION, offset_of!(M, memoryOperationType)),
            (memory::KIND, offset_of!(M, memoryKind)),
            (memory::BYTES, offset_of!(M, bytes)),
            (memory::TIME, offset_of!(M, timestamp)),
            (memory::DEVICE, offset_of!(M, deviceId)),
        ]);
    }

    #[test]
    fn no_prefix_is_longer_than_its_record() {
        let sizes = [
            size_of::<cupti::CUpti_ActivityDevice5>(),
            size_of::<cupti::CUpti_ActivityContext>(),
            size_of::<cupti::CUpti_ActivityKernel9>(),
            size_of::<cupti::CUpti_ActivityMemcpy6>(),
            size_of::<cupti::CUpti_ActivityMemset4>(),
            size_of::<cupti::CUpti_ActivityMemcpyPtoP4>(),
            size_of::<cupti::CUpti_ActivityMemory4>(),
        ];
        for (of, size) in kind::ALL.into_iter().zip(sizes) {
            assert!(prefix(of).unwrap() <= size, "kind {of}");
        }
    }

    #[test]
    fn numbers_of_kinds_and_calls() {
        use cupti::CUpti_ActivityKind as K;
        use cupti::CUpti_driver_api_trace_cbid as D;
        let kinds = [
            (kind::DEVICE, K::CUPTI_ACTIVITY_KIND_DEVICE),
            (kind::CONTEXT, K::CUPTI_ACTIVITY_KIND_CONTEXT),
            (kind::KERNEL, K::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
            (kind::MEMCPY, K::CUPTI_ACTIVITY_KIND_MEMCPY),
            (kind::MEMSET, K::CUPTI_ACTIVITY_KIND_MEMSET),
            (kind::PEER, K::CUPTI_ACTIVITY_KIND_MEMCPY2),
            (kind::MEMORY, K::CUPTI_ACTIVITY_KIND_MEMORY2),
        ];
        for (ours, theirs) in kinds {
            assert_eq!(ours, theirs as u32);
        }
        let launches = [
            D::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
            D::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
            D::CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
            D::CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
            D::CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
            D::CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
            D::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
            D::CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        ];
        assert_eq!(callback::LAUNCHES, launches.map(|call| call as u32));
        let waits = [
            D::CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize,
            D::CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2,
            D::CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize,
            D::CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize,
            D::CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz,
            D::CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2,
            D::CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2_ptds,
            D::CUPTI_DRIVER_TRACE_CBID_cuMemcpy,
            D::CUPTI_DRIVER_TRACE_CBID_cuMemcpy_ptds,
            D::CUPTI_DRIVER_TRACE_CBID_cuMemcpyPeer,
        ];
        assert_eq!(callback::WAITS, waits.map(|call| call as u32));
    }
}
