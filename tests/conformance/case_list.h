/*
 * case_list.h - the case files of a folder, by name.
 */
#ifndef KVSIM_TESTS_CONFORMANCE_CASE_LIST_H
#define KVSIM_TESTS_CONFORMANCE_CASE_LIST_H

#include <stddef.h>

enum { CASE_LIST_MAX = 128 };

struct case_list {
    char paths[CASE_LIST_MAX][1024];
    size_t count; /* 0 where there is no such folder */
};

void case_list_folder(const char *folder, struct case_list *list);

#endif
