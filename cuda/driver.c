#include "driver.h"

#include <dlfcn.h>
#include <string.h>

typedef void *device_handle;
typedef int (*plain_call)(void);
typedef int (*version_call)(char *version, unsigned bytes);
typedef int (*find_call)(const char *pci_bus_id, device_handle *device);
typedef int (*clock_call)(device_handle device, unsigned clock, unsigned *mhz);
typedef int (*number_call)(device_handle device, unsigned *value);
struct memory {
    unsigned long long total, free, used;
};
typedef int (*memory_call)(device_handle device, struct memory *memory);

/* Numbers of NVML's interface. */
enum { CLOCK_CORE = 1, CLOCK_MEMORY = 2 };

/* A function of the library; objects and functions are of one size where there is dlsym(). */
static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
}

static void read_clocks(void *library, const char *name, device_handle device, unsigned *core,
                        unsigned *memory)
{
    clock_call clock;
    find(library, name, &clock);
    if (clock == NULL)
        return;
    if (clock(device, CLOCK_CORE, core) != 0)
        *core = 0;
    if (clock(device, CLOCK_MEMORY, memory) != 0)
        *memory = 0;
}

static void read_device(void *library, device_handle device, struct bench_driver *out)
{
    number_call limit;
    memory_call size;
    struct memory memory;
    read_clocks(library, "nvmlDeviceGetClockInfo", device, &out->core_mhz, &out->memory_mhz);
    read_clocks(library, "nvmlDeviceGetMaxClockInfo", device, &out->core_max_mhz,
                &out->memory_max_mhz);
    find(library, "nvmlDeviceGetPowerManagementLimit", &limit);
    if (limit != NULL && limit(device, &out->power_limit_mw) != 0)
        out->power_limit_mw = 0;
    find(library, "nvmlDeviceGetMemoryInfo", &size);
    if (size != NULL && size(device, &memory) == 0)
        out->memory_bytes = (int64_t)memory.total;
}

bool bench_driver_read(const char *pci_bus_id, struct bench_driver *out)
{
    plain_call begin, end;
    version_call version;
    find_call device_find;
    device_handle device;
    *out = (struct bench_driver){.version = ""};
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return false;
    find(library, "nvmlInit_v2", &begin);
    find(library, "nvmlShutdown", &end);
    find(library, "nvmlSystemGetDriverVersion", &version);
    find(library, "nvmlDeviceGetHandleByPciBusId_v2", &device_find);
    bool ok =
        begin != NULL && end != NULL && version != NULL && device_find != NULL && begin() == 0;
    if (ok) {
        ok = version(out->version, sizeof out->version) == 0 &&
             device_find(pci_bus_id, &device) == 0;
        if (ok)
            read_device(library, device, out);
        else
            *out = (struct bench_driver){.version = ""};
        end();
    }
    dlclose(library);
    return ok;
}
