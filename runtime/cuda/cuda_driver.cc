#include "runtime/cuda/cuda_driver.h"

#include <dlfcn.h>

#include <cstring>

#include "absl/strings/str_cat.h"

namespace lemma::cuda {
namespace {

absl::Status NoDevice(absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("no CUDA device: ", why));
}

absl::StatusOr<const CudaDriver*> LoadDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return NoDevice(dlerror());
  auto* driver = new CudaDriver;
  const char* missing = nullptr;
  auto find = [&](const char* name) {
    void* symbol = dlsym(library, name);
    // Drivers before 12.8 have the function under this name.
    if (symbol == nullptr && std::strcmp(name, "cuEventElapsedTime_v2") == 0) {
      symbol = dlsym(library, "cuEventElapsedTime");
    }
    if (symbol == nullptr) missing = name;
    return symbol;
  };
// The header renames functions to their latest version, so the name is expanded before it becomes a
// string.
#define LEMMA_TEXT_OF(name) #name
#define LEMMA_NAME_OF(name) LEMMA_TEXT_OF(name)
#define LEMMA_CUDA_FIND(name) \
  driver->name = reinterpret_cast<decltype(driver->name)>(find(LEMMA_NAME_OF(name)));
  LEMMA_CUDA_FUNCTIONS(LEMMA_CUDA_FIND)
#undef LEMMA_CUDA_FIND
#undef LEMMA_NAME_OF
#undef LEMMA_TEXT_OF
  if (missing != nullptr) {
    delete driver;
    return NoDevice(absl::StrCat("the driver is too old: it has no ", missing));
  }
  return driver;
}

absl::StatusOr<const CudaDevice*> Open() {
  absl::StatusOr<const CudaDriver*> driver = LoadDriver();
  if (!driver.ok()) return driver.status();
  const CudaDriver& cuda = **driver;
  if (absl::Status s = cuda.Check(cuda.cuInit(0), "cuInit"); !s.ok()) return NoDevice(s.message());
  int count = 0;
  absl::Status s = cuda.Check(cuda.cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (!s.ok()) return s;
  if (count == 0) return NoDevice("the driver finds none");
  auto* device = new CudaDevice;
  device->driver = &cuda;
  char name[256] = "";
  int major = 0, minor = 0;
  s.Update(cuda.Check(cuda.cuDeviceGet(&device->device, 0), "cuDeviceGet"));
  s.Update(cuda.Check(cuda.cuDeviceGetName(name, sizeof name, device->device), "cuDeviceGetName"));
  s.Update(cuda.Check(cuda.cuDeviceGetAttribute(
                          &major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device->device),
                      "cuDeviceGetAttribute"));
  s.Update(cuda.Check(cuda.cuDeviceGetAttribute(
                          &minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device->device),
                      "cuDeviceGetAttribute"));
  s.Update(cuda.Check(cuda.cuDriverGetVersion(&device->driver_version), "cuDriverGetVersion"));
  s.Update(cuda.Check(cuda.cuDevicePrimaryCtxRetain(&device->context, device->device),
                      "cuDevicePrimaryCtxRetain"));
  if (!s.ok()) {
    delete device;
    return s;
  }
  device->name = name;
  device->architecture = 10 * major + minor;
  return device;
}

}  // namespace

absl::Status CudaDriver::Check(CUresult result, absl::string_view what) const {
  if (result == CUDA_SUCCESS) return absl::OkStatus();
  const char* message = nullptr;
  if (cuGetErrorString(result, &message) != CUDA_SUCCESS || message == nullptr) {
    message = "unknown error";
  }
  const auto code = result == CUDA_ERROR_OUT_OF_MEMORY ? absl::StatusCode::kResourceExhausted
                                                       : absl::StatusCode::kInternal;
  return absl::Status(code, absl::StrCat(what, ": ", message));
}

absl::StatusOr<const CudaDevice*> OpenDevice() {
  static const auto* device = new absl::StatusOr<const CudaDevice*>(Open());
  if (!device->ok()) return device->status();
  const CudaDevice& d = ***device;
  absl::Status s = d.driver->Check(d.driver->cuCtxSetCurrent(d.context), "cuCtxSetCurrent");
  if (!s.ok()) return s;
  return *device;
}

}  // namespace lemma::cuda
