/*
 * Asynchronous copies: nothing arrives before it is waited for, so that a wait that is missing is seen.
 */
#ifndef KVSIM_TESTS_EMULATED_CUDA_PIPELINE_H
#define KVSIM_TESTS_EMULATED_CUDA_PIPELINE_H

#include "cuda_bf16.h"

#include <deque>

struct emulated_copy {
    void *to;
    const void *from;
    size_t bytes, zero_bytes;
};

inline thread_local std::vector<emulated_copy> pipeline_open;
inline thread_local std::deque<std::vector<emulated_copy>> pipeline_stages;

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes, size_t zero_bytes = 0)
{
    if ((uintptr_t)to % bytes != 0 || (uintptr_t)from % bytes != 0)
        abort(); // the hardware would stop, too
    pipeline_open.push_back({to, from, bytes, zero_bytes});
}

inline void __pipeline_commit()
{
    pipeline_stages.push_back(std::move(pipeline_open));
    pipeline_open.clear();
}

inline void __pipeline_wait_prior(size_t kept)
{
    for (; pipeline_stages.size() > kept; pipeline_stages.pop_front())
        for (const emulated_copy &copy : pipeline_stages.front()) {
            memcpy(copy.to, copy.from, copy.bytes - copy.zero_bytes);
            memset((char *)copy.to + copy.bytes - copy.zero_bytes, 0, copy.zero_bytes);
        }
}

#endif
