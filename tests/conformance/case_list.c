#include "conformance/case_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_path(const void *a, const void *b)
{
    return strcmp(a, b);
}

void case_list_folder(const char *folder, struct case_list *list)
{
    DIR *stream = opendir(folder);
    list->count = 0;
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        const char *end = strrchr(entry->d_name, '.');
        if (end != NULL && strcmp(end, ".json") == 0 && list->count < CASE_LIST_MAX) {
            snprintf(list->paths[list->count++], sizeof list->paths[0], "%s/%s", folder,
                     entry->d_name);
        }
    }
    if (stream != NULL) {
        closedir(stream);
    }
    qsort(list->paths, list->count, sizeof list->paths[0], by_path);
}
