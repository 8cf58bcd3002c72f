#include <kvsim/version.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
    printf("built against kvsim %s\n", KVSIM_VERSION);
    return strcmp(KVSIM_VERSION, "0.0.0") == 0;
}
