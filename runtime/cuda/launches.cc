#include "runtime/cuda/launches.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/cuda/cuda_compiler.h"

namespace lemma::cuda {

using codegen::GridKernel;

Launches::~Launches() {
  for (CUmodule module : modules_) cuda_.cuModuleUnload(module);
  for (CUdeviceptr workspace : workspaces_) cuda_.cuMemFree(workspace);
}

absl::Status Launches::Prepare(const PlacedMemory& memory, CUstream stream, bool libraries) {
  memory_ = memory;
  stream_ = stream;
  if (absl::Status s = LoadKernels(); !s.ok()) return s;
  if (absl::Status s = BindArguments(); !s.ok()) return s;
  return libraries ? ChooseProducts() : absl::OkStatus();
}

std::string Launches::ScheduleOf(size_t l) const {
  if (IsCopy(l)) return "copy";
  return ProductOf(l) != nullptr ? "cuBLASLt" : KernelOf(l).schedule;
}

std::string Launches::NameOf(size_t l) const {
  const int step = plan_.launches[l].step;
  return absl::StrCat(plan_.steps[step].operators, " ", plan_.LabelOf(graph_, step));
}

absl::Status Launches::Named(const absl::Status& status, size_t launch) const {
  return absl::Status(status.code(), absl::StrCat(NameOf(launch), ": ", status.message()));
}

absl::Status Launches::LoadKernels() {
  const std::vector<KernelSet> sets = KernelSetsOf(plan_);
  std::vector<std::string> sources;
  for (const KernelSet& set : sets) sources.push_back(codegen::SourceOf(set));
  auto cubins = CompileCubins(sources, device_.architecture, CubinFolder(),
                              device_.driver_version / 1000, CompilerThreads());
  if (!cubins.ok()) return cubins.status();
  absl::flat_hash_map<std::string, CUmodule> module_of;
  absl::Status s;
  for (size_t i = 0; s.ok() && i < sets.size(); ++i) {
    CUmodule module = nullptr;
    s = cuda_.Check(cuda_.cuModuleLoadData(&module, (*cubins)[i].data()), "cubin");
    if (!s.ok()) return s;
    modules_.push_back(module);
    for (const GridKernel* kernel : sets[i]) module_of[kernel->name] = module;
  }
  for (size_t l = 0; s.ok() && l < plan_.launches.size(); ++l) {
    functions_.push_back(nullptr);
    if (IsCopy(l)) continue;
    const std::string& name = KernelOf(l).name;
    s = cuda_.Check(cuda_.cuModuleGetFunction(&functions_.back(), module_of[name], name.c_str()),
                    NameOf(l));
    if (!s.ok() || KernelOf(l).shared_bytes == 0) continue;
    s = cuda_.Check(
        cuda_.cuFuncSetAttribute(functions_.back(), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                 KernelOf(l).shared_bytes),
        NameOf(l));
  }
  return s;
}

namespace {

// `address` is that of the slot.
absl::Status EncodeMap(const CudaDriver& cuda, const codegen::BulkSource& source, DType dtype,
                       CUdeviceptr address, CUtensorMap* map) {
  const int64_t bytes = SizeOf(dtype);
  std::vector<cuuint64_t> dims(source.dims.begin(), source.dims.end()), strides;
  for (size_t d = 1; d < source.strides.size(); ++d) {
    strides.push_back(static_cast<cuuint64_t>(source.strides[d] * bytes));
  }
  const std::vector<cuuint32_t> box(source.box.begin(), source.box.end()), steps(box.size(), 1);
  void* const data = reinterpret_cast<void*>(  // NOLINT(performance-no-int-to-ptr)
      static_cast<uintptr_t>(address) + static_cast<uintptr_t>(source.offset * bytes));
  return cuda.Check(
      cuda.cuTensorMapEncodeTiled(
          map,
          dtype == DType::kF16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
          static_cast<cuuint32_t>(dims.size()), data, dims.data(), strides.data(), box.data(),
          steps.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
          CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "a tensor's map for bulk copies");
}

}  // namespace

absl::Status Launches::BindArguments() {
  maps_.resize(plan_.launches.size());
  addresses_.resize(plan_.launches.size());
  arguments_.resize(plan_.launches.size());
  for (size_t l = 0; l < plan_.launches.size(); ++l) {
    if (IsCopy(l)) continue;
    for (int buffer : plan_.Arguments(plan_.launches[l])) {
      addresses_[l].push_back(memory_.AddressOf(plan_.buffers[buffer]));
    }
    if (KernelOf(l).checks) addresses_[l].push_back(memory_.errors + l * sizeof(int));
    for (CUdeviceptr& address : addresses_[l]) arguments_[l].push_back(&address);
    const GridKernel& kernel = KernelOf(l);
    maps_[l].resize(kernel.bulk.size());
    for (size_t i = 0; i < kernel.bulk.size(); ++i) {
      const auto read = std::find(kernel.reads.begin(), kernel.reads.end(), kernel.bulk[i].slot);
      const DType dtype = plan_.steps[plan_.launches[l].step].program->slots[*read].dtype;
      const CUdeviceptr address = addresses_[l][read - kernel.reads.begin()];
      const absl::Status s = EncodeMap(cuda_, kernel.bulk[i], dtype, address, &maps_[l][i]);
      if (!s.ok()) return Named(s, l);
      arguments_[l].push_back(&maps_[l][i]);
    }
  }
  return absl::OkStatus();
}

// Bytes of device memory for cuBLASLt: of one product, as the library recommends for sm_90, and of
// all of an executable.
constexpr int64_t kMostWorkspace = int64_t{32} << 20, kMostWorkspaces = int64_t{256} << 20;

absl::Status Launches::ChooseProducts() {
  const bool any =
      std::any_of(plan_.launches.begin(), plan_.launches.end(), [&](const cuda::Launch& launch) {
        return !plan_.IsCopy(launch) && plan_.KernelOf(launch).gemm.has_value();
      });
  if (!any) return absl::OkStatus();
  auto cublas = OpenCublas(device_.driver_version / 1000);
  if (absl::IsFailedPrecondition(cublas.status())) return absl::OkStatus();
  if (!cublas.ok()) return cublas.status();
  cublas_ = *std::move(cublas);
  products_.resize(plan_.launches.size());
  int64_t workspace_left = kMostWorkspaces;
  for (size_t l = 0; l < products_.size(); ++l) {
    if (IsCopy(l) || !KernelOf(l).gemm) continue;
    auto product =
        cublas_->Choose(*KernelOf(l).gemm, addresses_[l], std::min(kMostWorkspace, workspace_left));
    if (absl::IsUnimplemented(product.status())) continue;
    if (!product.ok()) return Named(product.status(), l);
    products_[l] = *std::move(product);
    const int64_t bytes = products_[l]->workspace_bytes();
    if (bytes == 0) continue;
    CUdeviceptr workspace = 0;
    if (cuda_.cuMemAlloc(&workspace, static_cast<size_t>(bytes)) != CUDA_SUCCESS) {
      // Memory is short: this product and all later ones do without.
      workspace_left = 0;
      product = cublas_->Choose(*KernelOf(l).gemm, addresses_[l], 0);
      if (!product.ok() && !absl::IsUnimplemented(product.status())) {
        return Named(product.status(), l);
      }
      products_[l] = product.ok() ? *std::move(product) : nullptr;
      continue;
    }
    workspaces_.push_back(workspace);
    products_[l]->SetWorkspace(workspace);
    workspace_left -= bytes;
  }
  return absl::OkStatus();
}

absl::Status Launches::AddTo(CUgraph graph, size_t l, const std::vector<CUgraphNode>& after,
                             CUgraphNode* node) {
  if (IsCopy(l)) return AddCopy(graph, l, after, node);
  if (ProductOf(l) != nullptr) return AddProduct(graph, l, after, node);
  CUDA_KERNEL_NODE_PARAMS launch = {};
  launch.func = functions_[l];
  launch.gridDimX = static_cast<unsigned>(KernelOf(l).blocks);
  launch.gridDimY = launch.gridDimZ = launch.blockDimY = launch.blockDimZ = 1;
  launch.blockDimX = static_cast<unsigned>(KernelOf(l).threads);
  launch.sharedMemBytes = static_cast<unsigned>(KernelOf(l).shared_bytes);
  launch.kernelParams = arguments_[l].data();
  return cuda_.Check(cuda_.cuGraphAddKernelNode(node, graph, after.data(), after.size(), &launch),
                     NameOf(l));
}

// Adds the library's launches as a graph within the graph.
absl::Status Launches::AddProduct(CUgraph graph, size_t l, const std::vector<CUgraphNode>& after,
                                  CUgraphNode* node) {
  // The library may load code during the capture.
  absl::Status s =
      cuda_.Check(cuda_.cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_RELAXED), NameOf(l));
  if (!s.ok()) return s;
  s = ProductOf(l)->Launch(stream_);
  if (!s.ok()) s = Named(s, l);
  CUgraph child = nullptr;
  s.Update(cuda_.Check(cuda_.cuStreamEndCapture(stream_, &child), NameOf(l)));
  if (s.ok()) {
    s = cuda_.Check(cuda_.cuGraphAddChildGraphNode(node, graph, after.data(), after.size(), child),
                    NameOf(l));
  }
  if (child != nullptr) cuda_.cuGraphDestroy(child);
  return s;
}

// A copy between device and host memory.
absl::Status Launches::AddCopy(CUgraph graph, size_t l, const std::vector<CUgraphNode>& after,
                               CUgraphNode* node) {
  const Buffer &from = BufferOf(l, 0), &to = BufferOf(l, 1);
  CUDA_MEMCPY3D copy = {};
  copy.WidthInBytes = static_cast<size_t>(from.type.num_bytes());
  copy.Height = copy.Depth = 1;
  if (to.kind == Buffer::Kind::kHost) {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = memory_.AddressOf(from);
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = memory_.HostAddressOf(to);
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = memory_.HostAddressOf(from);
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = memory_.AddressOf(to);
  }
  return cuda_.Check(
      cuda_.cuGraphAddMemcpyNode(node, graph, after.data(), after.size(), &copy, device_.context),
      NameOf(l));
}

absl::Status Launches::Copy(size_t l) {
  const Buffer &from = BufferOf(l, 0), &to = BufferOf(l, 1);
  const size_t bytes = static_cast<size_t>(from.type.num_bytes());
  const CUresult result =
      to.kind == Buffer::Kind::kHost
          ? cuda_.cuMemcpyDtoHAsync(memory_.HostAddressOf(to), memory_.AddressOf(from), bytes,
                                    stream_)
          : cuda_.cuMemcpyHtoDAsync(memory_.AddressOf(to), memory_.HostAddressOf(from), bytes,
                                    stream_);
  return cuda_.Check(result, NameOf(l));
}

absl::Status Launches::Launch(size_t l) {
  if (IsCopy(l)) return Copy(l);
  if (const MatrixProduct* product = ProductOf(l); product != nullptr) {
    const absl::Status s = product->Launch(stream_);
    return s.ok() ? s : Named(s, l);
  }
  const GridKernel& kernel = KernelOf(l);
  return cuda_.Check(cuda_.cuLaunchKernel(functions_[l], static_cast<unsigned>(kernel.blocks), 1, 1,
                                          static_cast<unsigned>(kernel.threads), 1, 1,
                                          static_cast<unsigned>(kernel.shared_bytes), stream_,
                                          arguments_[l].data(), nullptr),
                     NameOf(l));
}

}  // namespace lemma::cuda
