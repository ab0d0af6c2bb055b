#include "tests/runtime/cuda/emulated_device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "tests/kernels/codegen/host_kernels.h"

namespace lemma {

using codegen::GridKernel;

namespace {

using Work = std::function<CUresult()>;

struct GraphNode {
  std::vector<GraphNode*> after;
  Work work;
};
struct DeviceGraph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

// The driver's functions take no object, so they use this one.
struct State {
  std::unique_ptr<HostKernels> kernels;
  // By name. Kernels of one name differ at most in the tensors that they copy from in bulk.
  std::map<std::string, std::vector<const GridKernel*>> kernels_of;
  std::map<CUfunction, int> most_shared;  // bytes, where a program asked for more
  std::map<char*, size_t> device, host;   // allocations
  std::deque<Work> stream;
  std::mt19937_64 random;
  int64_t to_device = 0, to_host = 0, on_device = 0;
  int graph_launches = 0, kernel_launches = 0;
};
State* state = nullptr;

CUresult Allocate(std::map<char*, size_t>* where, size_t bytes, char** result) {
  void* data = nullptr;
  if (posix_memalign(&data, 256, std::max<size_t>(bytes, 1)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(data, 0x5a, bytes);
  *result = static_cast<char*>(data);
  (*where)[*result] = bytes;
  return CUDA_SUCCESS;
}

CUresult Free(std::map<char*, size_t>* where, char* data) {
  if (where->erase(data) == 0) return CUDA_ERROR_INVALID_VALUE;
  std::free(data);
  return CUDA_SUCCESS;
}

bool Within(const std::map<char*, size_t>& where, const void* data, size_t bytes) {
  const char* const at = static_cast<const char*>(data);
  return std::any_of(where.begin(), where.end(), [&](const auto& allocation) {
    return at >= allocation.first && at + bytes <= allocation.first + allocation.second;
  });
}

char* Pointer(CUdeviceptr address) {
  return reinterpret_cast<char*>(static_cast<uintptr_t>(address));
}

CUresult CopyToDevice(CUdeviceptr to, const void* from, size_t bytes) {
  if (!Within(state->device, Pointer(to), bytes)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(Pointer(to), from, bytes);
  state->to_device += static_cast<int64_t>(bytes);
  return CUDA_SUCCESS;
}

CUresult CopyToHost(void* to, CUdeviceptr from, size_t bytes) {
  const bool valid = Within(state->device, Pointer(from), bytes) && Within(state->host, to, bytes);
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(to, Pointer(from), bytes);
  state->to_host += static_cast<int64_t>(bytes);
  return CUDA_SUCCESS;
}

CUresult CopyOnDevice(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  const bool valid =
      Within(state->device, Pointer(from), bytes) && Within(state->device, Pointer(to), bytes);
  if (!valid) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(Pointer(to), Pointer(from), bytes);
  state->on_device += static_cast<int64_t>(bytes);
  return CUDA_SUCCESS;
}

// The emulated device's form of a CUtensorMap.
struct EncodedMap {
  const void* data;
  cuuint32_t rank;
  cuuint32_t box[5];
  cuuint64_t dims[5], strides[4];  // strides in bytes

  bool Describes(const codegen::BulkSource& source, const void* tensor) const {
    bool same =
        data == static_cast<const char*>(tensor) + 2 * source.offset && rank == source.dims.size();
    for (cuuint32_t d = 0; same && d < rank; ++d) {
      same = dims[d] == static_cast<cuuint64_t>(source.dims[d]) &&
             box[d] == static_cast<cuuint32_t>(source.box[d]) &&
             (d == 0 || strides[d - 1] == static_cast<cuuint64_t>(2 * source.strides[d]));
    }
    return same;
  }
};
static_assert(sizeof(EncodedMap) <= sizeof(CUtensorMap), "");

// Refuses what the driver does.
CUresult EncodeMap(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void* data,
                   const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                   const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle,
                   CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  constexpr uint64_t kStep = 16, kMostElements = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
  bool valid =
      rank >= 2 && rank <= 5 && reinterpret_cast<uintptr_t>(data) % kStep == 0 && box[0] * 2 == 128;
  uint64_t bytes = 2;  // that the tensor spans
  for (cuuint32_t d = 0; d < rank; ++d) {
    const uint64_t stride = d == 0 ? 2 : strides[d - 1];
    valid = valid && dims[d] >= 1 && dims[d] <= kMostElements && box[d] >= 1 && box[d] <= 256 &&
            steps[d] == 1 &&
            (d == 0 || (stride % kStep == 0 && stride >= 2 * dims[0] && stride < kMostStride));
    bytes += (dims[d] - 1) * stride;
  }
  if (!valid || !Within(state->device, data, bytes)) return CUDA_ERROR_INVALID_VALUE;
  EncodedMap encoded = {data, rank, {}, {}, {}};
  std::copy(box, box + rank, encoded.box);
  std::copy(dims, dims + rank, encoded.dims);
  std::copy(strides, strides + rank - 1, encoded.strides);
  std::memcpy(map, &encoded, sizeof encoded);
  return CUDA_SUCCESS;
}

// The launch with the present values of its arguments.
Work LaunchOf(CUfunction function, void** parameters) {
  const auto* kernel = reinterpret_cast<const GridKernel*>(function);
  std::vector<void*> pointers;
  auto add = [&] {
    pointers.push_back(Pointer(*static_cast<CUdeviceptr*>(parameters[pointers.size()])));
  };
  for (size_t i = 0; i < kernel->reads.size() + kernel->writes.size(); ++i) add();
  int* error = nullptr;
  if (kernel->checks) {
    error =
        reinterpret_cast<int*>(Pointer(*static_cast<CUdeviceptr*>(parameters[pointers.size()])));
  }
  // The maps for bulk copies, as EncodeMap below writes them.
  size_t next = pointers.size() + (kernel->checks ? 1 : 0);
  std::vector<EncodedMap> maps(kernel->bulk.size());
  for (EncodedMap& map : maps) std::memcpy(&map, parameters[next++], sizeof map);
  const std::vector<const GridKernel*>& kernels = state->kernels_of[kernel->name];
  const auto described = std::find_if(kernels.begin(), kernels.end(), [&](const GridKernel* k) {
    for (size_t i = 0; i < maps.size(); ++i) {
      const auto read = std::find(k->reads.begin(), k->reads.end(), k->bulk[i].slot);
      if (!maps[i].Describes(k->bulk[i], pointers[read - k->reads.begin()])) return false;
    }
    return true;
  });
  if (described == kernels.end()) return [] { return CUDA_ERROR_INVALID_VALUE; };
  kernel = *described;
  return [kernel, pointers, error] {
    const absl::Status s = state->kernels->Launch(*kernel, pointers);
    if (absl::IsNotFound(s)) return CUDA_ERROR_NOT_FOUND;
    if (!s.ok() && error != nullptr) *error = absl::IsOutOfRange(s) ? 1 : 2;
    return CUDA_SUCCESS;
  };
}

CUgraphNode AddNode(CUgraph graph, const CUgraphNode* after, size_t count, Work work) {
  auto node = std::make_unique<GraphNode>();
  for (size_t i = 0; i < count; ++i) {
    node->after.push_back(reinterpret_cast<GraphNode*>(after[i]));
  }
  node->work = std::move(work);
  auto* made = node.get();
  reinterpret_cast<DeviceGraph*>(graph)->nodes.push_back(std::move(node));
  return reinterpret_cast<CUgraphNode>(made);
}

CUresult RunGraph(const DeviceGraph& graph) {
  std::vector<const GraphNode*> left;
  for (const auto& node : graph.nodes) left.push_back(node.get());
  while (!left.empty()) {
    std::vector<size_t> ready;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto& after = left[i]->after;
      const bool waits = std::any_of(after.begin(), after.end(), [&](const GraphNode* node) {
        return std::find(left.begin(), left.end(), node) != left.end();
      });
      if (!waits) ready.push_back(i);
    }
    const size_t chosen = ready[state->random() % ready.size()];
    if (const CUresult result = left[chosen]->work(); result != CUDA_SUCCESS) return result;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return CUDA_SUCCESS;
}

CUresult Later(Work work) {
  state->stream.push_back(std::move(work));
  return CUDA_SUCCESS;
}

void SetMemoryFunctions(cuda::CudaDriver* d) {
  d->cuMemAlloc = [](CUdeviceptr* address, size_t bytes) {
    char* data = nullptr;
    const CUresult result = Allocate(&state->device, bytes, &data);
    *address = reinterpret_cast<uintptr_t>(data);
    return result;
  };
  d->cuMemFree = [](CUdeviceptr address) { return Free(&state->device, Pointer(address)); };
  d->cuMemHostAlloc = [](void** data, size_t bytes, unsigned) {
    return Allocate(&state->host, bytes, reinterpret_cast<char**>(data));
  };
  d->cuMemFreeHost = [](void* data) { return Free(&state->host, static_cast<char*>(data)); };
  d->cuMemcpyHtoD = CopyToDevice;
  d->cuMemcpyHtoDAsync = [](CUdeviceptr to, const void* from, size_t bytes, CUstream) {
    // The host memory may be read at any time until the stream is waited for.
    if (!Within(state->host, from, bytes)) return CUDA_ERROR_INVALID_VALUE;
    return Later([=] { return CopyToDevice(to, from, bytes); });
  };
  d->cuMemcpyDtoHAsync = [](void* to, CUdeviceptr from, size_t bytes, CUstream) {
    return Later([=] { return CopyToHost(to, from, bytes); });
  };
  d->cuMemcpyDtoDAsync = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
    return Later([=] { return CopyOnDevice(to, from, bytes); });
  };
  d->cuMemsetD8Async = [](CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
    return Later([=] {
      if (!Within(state->device, Pointer(to), bytes)) return CUDA_ERROR_INVALID_VALUE;
      std::memset(Pointer(to), value, bytes);
      return CUDA_SUCCESS;
    });
  };
}

// Whether a launch provides the shared memory that its kernel needs, and may.
bool HasShared(CUfunction function, unsigned bytes) {
  constexpr int kWithoutAsking = 48 * 1024;
  const int needed = reinterpret_cast<const GridKernel*>(function)->shared_bytes;
  const auto most = state->most_shared.find(function);
  const int allowed = most == state->most_shared.end() ? kWithoutAsking : most->second;
  return static_cast<int>(bytes) == needed && needed <= allowed;
}

void SetLaunchFunctions(cuda::CudaDriver* d) {
  d->cuModuleLoadData = [](CUmodule* module, const void*) {
    *module = reinterpret_cast<CUmodule>(state);
    return CUDA_SUCCESS;
  };
  d->cuModuleUnload = [](CUmodule) { return CUDA_SUCCESS; };
  d->cuFuncSetAttribute = [](CUfunction function, CUfunction_attribute attribute, int value) {
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    state->most_shared[function] = value;
    return CUDA_SUCCESS;
  };
  d->cuTensorMapEncodeTiled = EncodeMap;
  d->cuModuleGetFunction = [](CUfunction* function, CUmodule, const char* name) {
    const auto kernel = state->kernels_of.find(name);
    if (kernel == state->kernels_of.end()) return CUDA_ERROR_NOT_FOUND;
    *function = reinterpret_cast<CUfunction>(const_cast<GridKernel*>(kernel->second[0]));
    return CUDA_SUCCESS;
  };
  d->cuLaunchKernel = [](CUfunction function, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, unsigned shared_bytes, CUstream, void** parameters, void**) {
    if (!HasShared(function, shared_bytes)) return CUDA_ERROR_INVALID_VALUE;
    ++state->kernel_launches;
    return Later(LaunchOf(function, parameters));
  };
  d->cuStreamCreate = [](CUstream* stream, unsigned) {
    *stream = reinterpret_cast<CUstream>(state);
    return CUDA_SUCCESS;
  };
  d->cuStreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
  d->cuStreamSynchronize = [](CUstream) {
    CUresult result = CUDA_SUCCESS;
    while (!state->stream.empty()) {
      if (result == CUDA_SUCCESS) result = state->stream.front()();
      state->stream.pop_front();
    }
    return result;
  };
  d->cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(state);
    return CUDA_SUCCESS;
  };
  d->cuEventDestroy = [](CUevent) { return CUDA_SUCCESS; };
  d->cuEventRecord = [](CUevent, CUstream) { return CUDA_SUCCESS; };
  d->cuEventElapsedTime = [](float* ms, CUevent, CUevent) {
    *ms = 1;
    return CUDA_SUCCESS;
  };
}

void SetGraphFunctions(cuda::CudaDriver* d) {
  d->cuGraphCreate = [](CUgraph* graph, unsigned) {
    *graph = reinterpret_cast<CUgraph>(new DeviceGraph);
    return CUDA_SUCCESS;
  };
  d->cuGraphDestroy = [](CUgraph graph) {
    delete reinterpret_cast<DeviceGraph*>(graph);
    return CUDA_SUCCESS;
  };
  d->cuGraphAddKernelNode = [](CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                               size_t count, const CUDA_KERNEL_NODE_PARAMS* launch) {
    if (!HasShared(launch->func, launch->sharedMemBytes)) return CUDA_ERROR_INVALID_VALUE;
    *node = AddNode(graph, after, count, LaunchOf(launch->func, launch->kernelParams));
    return CUDA_SUCCESS;
  };
  d->cuGraphAddMemcpyNode = [](CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                               size_t count, const CUDA_MEMCPY3D* copy, CUcontext) {
    const CUDA_MEMCPY3D c = *copy;
    if (c.Height != 1 || c.Depth != 1) return CUDA_ERROR_INVALID_VALUE;
    *node = AddNode(graph, after, count, [c] {
      if (c.dstMemoryType == CU_MEMORYTYPE_HOST && c.srcMemoryType == CU_MEMORYTYPE_DEVICE) {
        return CopyToHost(c.dstHost, c.srcDevice, c.WidthInBytes);
      }
      const bool valid = c.srcMemoryType == CU_MEMORYTYPE_HOST &&
                         c.dstMemoryType == CU_MEMORYTYPE_DEVICE &&
                         Within(state->host, c.srcHost, c.WidthInBytes);
      return valid ? CopyToDevice(c.dstDevice, c.srcHost, c.WidthInBytes)
                   : CUDA_ERROR_INVALID_VALUE;
    });
    return CUDA_SUCCESS;
  };
  // An executable graph is the graph itself, which lives as long.
  d->cuGraphInstantiateWithFlags = [](CUgraphExec* exec, CUgraph graph, unsigned long long) {
    *exec = reinterpret_cast<CUgraphExec>(graph);
    return CUDA_SUCCESS;
  };
  d->cuGraphExecDestroy = [](CUgraphExec) { return CUDA_SUCCESS; };
  d->cuGraphLaunch = [](CUgraphExec exec, CUstream) {
    ++state->graph_launches;
    return Later([exec] { return RunGraph(*reinterpret_cast<DeviceGraph*>(exec)); });
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<EmulatedDevice>> EmulatedDevice::Create(
    const std::vector<const cuda::CudaPlan*>& plans, uint64_t seed) {
  std::vector<const codegen::GridProgram*> programs;
  auto made = std::make_unique<State>();
  for (const cuda::CudaPlan* plan : plans) {
    for (const cuda::CudaStep& step : plan->steps) {
      if (step.program == nullptr) continue;
      programs.push_back(step.program.get());
      for (const GridKernel& kernel : step.program->kernels)
        made->kernels_of[kernel.name].push_back(&kernel);
    }
  }
  auto kernels = HostKernels::Compile(programs);
  if (!kernels.ok()) return kernels.status();
  made->kernels = *std::move(kernels);
  made->random.seed(seed);
  delete std::exchange(state, made.release());
  std::unique_ptr<EmulatedDevice> result(new EmulatedDevice);
  cuda::CudaDriver& driver = result->driver_;
  driver.cuCtxSetCurrent = [](CUcontext) { return CUDA_SUCCESS; };
  driver.cuGetErrorString = [](CUresult, const char** text) {
    *text = "refused by the emulated device";
    return CUDA_SUCCESS;
  };
  SetMemoryFunctions(&driver);
  SetLaunchFunctions(&driver);
  SetGraphFunctions(&driver);
  result->device_.driver = &driver;
  result->device_.architecture = 90;
  return result;
}

EmulatedDevice::~EmulatedDevice() { delete std::exchange(state, nullptr); }

int64_t EmulatedDevice::copied_to_device() const { return state->to_device; }
int64_t EmulatedDevice::copied_to_host() const { return state->to_host; }
int64_t EmulatedDevice::copied_on_device() const { return state->on_device; }
int EmulatedDevice::graph_launches() const { return state->graph_launches; }
int EmulatedDevice::kernel_launches() const { return state->kernel_launches; }
int64_t EmulatedDevice::allocated() const {
  int64_t bytes = 0;
  for (const auto* where : {&state->device, &state->host}) {
    for (const auto& allocation : *where) bytes += static_cast<int64_t>(allocation.second);
  }
  return bytes;
}

}  // namespace lemma
