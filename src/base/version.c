#include <kvsim/version.h>

const char *kvsim_version(void)
{
    return KVSIM_VERSION;
}
