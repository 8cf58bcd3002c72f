# Two INTERFACE targets. kvsim_warnings: what the compiler is asked to see. kvsim_flags: the warnings,
# the arithmetic rules, and whatever a preset adds (sanitizers, analyzer, coverage, assertions).
# Everything that is compiled here links kvsim_flags; nothing of it reaches users of the library.

# Clang's -Wdouble-promotion also complains of INFINITY and of a long double's initializer.
add_library(kvsim_warnings INTERFACE)
target_compile_options(kvsim_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
    -Wcast-qual -Wcast-align -Wformat=2 -Wundef -Wvla -Wwrite-strings -Wstrict-prototypes
    -Wmissing-prototypes -Wold-style-definition -Wpointer-arith -Wnull-dereference
    -Wimplicit-fallthrough
    $<$<C_COMPILER_ID:GNU>:-Wlogical-op -Wduplicated-cond -Wduplicated-branches -Wdouble-promotion>
    $<$<BOOL:${KVSIM_WERROR}>:-Werror>)

add_library(kvsim_flags INTERFACE)
target_link_libraries(kvsim_flags INTERFACE kvsim_warnings)
# No fused multiply-add: the same doubles on every machine. POSIX 2008 is the only extension of libc in use.
target_compile_options(kvsim_flags INTERFACE -ffp-contract=off)
target_compile_definitions(kvsim_flags INTERFACE
    _POSIX_C_SOURCE=200809L
    $<$<BOOL:${KVSIM_ASSERTS}>:KVSIM_ASSERTS=1>
    $<$<BOOL:${KVSIM_FAULTS}>:KVSIM_FAULTS=1>)

# Rooms are small files that call each other at every step: a release is optimized across them. The objects hold ordinary
# code as well, so that the archive serves any consumer.
target_compile_options(kvsim_flags INTERFACE
    $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-flto=auto$<SEMICOLON>-ffat-lto-objects>)
target_link_options(kvsim_flags INTERFACE $<$<AND:$<CONFIG:Release>,$<C_COMPILER_ID:GNU>>:-flto=auto>)

# GCC clears structs of some 200 bytes by an instruction (rep stos) that takes longer to start than the stores take.
include(CheckCCompilerFlag)
set(clear_by_stores -mmemset-strategy=unrolled_loop:512:noalign,libcall:-1:noalign)
check_c_compiler_flag(${clear_by_stores} KVSIM_CLEARS_BY_STORES)
if(KVSIM_CLEARS_BY_STORES)
    target_compile_options(kvsim_flags INTERFACE $<$<CONFIG:Release>:${clear_by_stores}>)
    target_link_options(kvsim_flags INTERFACE $<$<CONFIG:Release>:${clear_by_stores}>)
endif()

if(KVSIM_SANITIZE)
    # -O1 keeps the instrumented tests quick and the stack traces true.
    set(sanitize -fsanitize=${KVSIM_SANITIZE} -fno-sanitize-recover=all)
    target_compile_options(kvsim_flags INTERFACE ${sanitize} -fno-omit-frame-pointer -O1)
    target_link_options(kvsim_flags INTERFACE ${sanitize})
endif()

if(KVSIM_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "KVSIM_FUZZ needs Clang; the compiler is ${CMAKE_C_COMPILER_ID}")
    endif()
    target_compile_options(kvsim_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(KVSIM_ANALYZE)
    target_compile_options(kvsim_flags INTERFACE -fanalyzer)
endif()

if(KVSIM_COVERAGE)
    target_compile_options(kvsim_flags INTERFACE --coverage)
    target_link_options(kvsim_flags INTERFACE --coverage)
endif()
