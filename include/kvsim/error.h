/*
 * error.h - how kvsim says that something went wrong.
 *
 * A function that can fail returns enum kvsim_status and fills its last parameter. The status decides the exit code;
 * the error carries what a user needs to mend it: where (file, line, column), which key, what failed, and a hint.
 */
#ifndef KVSIM_ERROR_H
#define KVSIM_ERROR_H

#include <stddef.h>

#if defined(__GNUC__)
#define KVSIM_MUST_CHECK __attribute__((warn_unused_result))
#define KVSIM_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define KVSIM_API __attribute__((visibility("default")))
#else
#define KVSIM_MUST_CHECK
#define KVSIM_PRINTF(fmt, args)
#define KVSIM_API
#endif

enum kvsim_status {
    KVSIM_OK = 0,
    KVSIM_ERR_USAGE,    /* exit 2: command line */
    KVSIM_ERR_SCENARIO, /* exit 3: scenario, model, hardware, engine, trace or table is invalid */
    KVSIM_ERR_IO,       /* exit 4: file or database */
    KVSIM_ERR_REFUSED,  /* exit 5: the configuration cannot start */
    KVSIM_ERR_MEMORY,   /* exit 70: out of memory */
    KVSIM_ERR_DEFECT,   /* exit 70: kvsim itself is wrong */
};

struct kvsim_error {
    enum kvsim_status status;
    char file[256];    /* the file at fault, or empty; "--set KEY" for an option */
    int line, column;  /* counted from 1; 0 when unknown */
    char key[128];     /* dotted path: workload.arrival.rate */
    char code[40];     /* short fixed name: unknown-key */
    char message[400]; /* lower case, no full stop, what failed first */
    char hint[256];
};

/* Up to KVSIM_DIAGS_MAX diagnostics of one file or scenario; further ones are only counted. */
enum { KVSIM_DIAGS_MAX = 20 };

struct kvsim_diags {
    size_t count; /* stored in at[] */
    size_t total; /* seen, warnings not included */
    struct kvsim_error at[KVSIM_DIAGS_MAX];
    size_t warning_count;
    struct kvsim_error warnings[KVSIM_DIAGS_MAX];
};

#endif
