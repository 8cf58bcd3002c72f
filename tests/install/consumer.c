#include <kvsim/version.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    printf("built against kvsim %s, linked with %s\n", KVSIM_VERSION, kvsim_version());
    return strcmp(KVSIM_VERSION, kvsim_version()) != 0;
}
