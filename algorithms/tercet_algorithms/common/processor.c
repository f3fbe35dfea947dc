// Which of the loops' machine code a processor can run (see compiled.py).
#include "real.h"

#ifdef __x86_64__
#include <cpuid.h>

// Return whether the processor has AVX2 and FMA, and the system keeps their registers.
int has_avx2(void) {
    const unsigned needed = bit_FMA | bit_AVX | bit_OSXSAVE, kept = 6;
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & needed) != needed) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & kept) != kept) return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2);
}
#else
int has_avx2(void) { return 0; }
#endif
