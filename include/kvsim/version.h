/*
 * version.h - the release that these headers belong to.
 *
 * Literal, so that the preprocessor can compare; the build reads its version from here.
 * KVSIM_VERSION_NUMBER grows with every release: major * 10000 + minor * 100 + patch.
 * kvsim_version() is that of the library that is linked; a program may compare the two.
 */
#ifndef KVSIM_VERSION_H
#define KVSIM_VERSION_H

#define KVSIM_VERSION "0.1.0"
#define KVSIM_VERSION_NUMBER 100

/* The library's KVSIM_VERSION, a constant string. */
const char *kvsim_version(void);

#endif
