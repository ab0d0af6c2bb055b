#include "runtime/cuda/cublas.h"

#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace lemma::cuda {

using codegen::GemmCall;
using codegen::GemmMatrix;

namespace {

#define LEMMA_CUBLAS_FUNCTIONS(F)     \
  F(cublasLtGetVersion)               \
  F(cublasLtGetStatusName)            \
  F(cublasLtCreate)                   \
  F(cublasLtDestroy)                  \
  F(cublasLtMatmul)                   \
  F(cublasLtMatmulAlgoGetHeuristic)   \
  F(cublasLtMatmulDescCreate)         \
  F(cublasLtMatmulDescDestroy)        \
  F(cublasLtMatmulDescSetAttribute)   \
  F(cublasLtMatrixLayoutCreate)       \
  F(cublasLtMatrixLayoutDestroy)      \
  F(cublasLtMatrixLayoutSetAttribute) \
  F(cublasLtMatmulPreferenceCreate)   \
  F(cublasLtMatmulPreferenceDestroy)  \
  F(cublasLtMatmulPreferenceSetAttribute)

struct Library {
#define LEMMA_CUBLAS_POINTER(name) decltype(&::name) name = nullptr;
  LEMMA_CUBLAS_FUNCTIONS(LEMMA_CUBLAS_POINTER)
#undef LEMMA_CUBLAS_POINTER

  absl::Status Check(cublasStatus_t result, const char* what) const {
    if (result == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
    const auto code = result == CUBLAS_STATUS_NOT_SUPPORTED ? absl::StatusCode::kUnimplemented
                                                            : absl::StatusCode::kInternal;
    return absl::Status(code,
                        absl::StrCat("cuBLASLt: ", what, ": ", cublasLtGetStatusName(result)));
  }
};

// nullptr if the library lacks a function.
const Library* Bind(void* handle) {
  auto* library = new Library;
  bool complete = true;
#define LEMMA_CUBLAS_FIND(name)                                                    \
  library->name = reinterpret_cast<decltype(library->name)>(dlsym(handle, #name)); \
  complete = complete && library->name != nullptr;
  LEMMA_CUBLAS_FUNCTIONS(LEMMA_CUBLAS_FIND)
#undef LEMMA_CUBLAS_FIND
  if (complete) return library;
  delete library;
  return nullptr;
}

struct File {
  int major;
  const char* name;
};
// Installed files, or names on the library path; newest first.
constexpr File kFiles[] = {{13, "libcublasLt.so.13"},
                           {13, "/usr/local/cuda/lib64/libcublasLt.so.13"},
                           {12, "libcublasLt.so.12"},
                           {12, "/usr/local/cuda/lib64/libcublasLt.so.12"}};

// Loads at most one library, since each takes hundreds of megabytes.
absl::StatusOr<const Library*> GetLibrary(int newest) {
  static std::mutex mutex;
  static auto* loaded = new std::vector<const Library*>(std::size(kFiles), nullptr);
  const std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < std::size(kFiles); ++i) {
    if (newest != 0 && kFiles[i].major > newest) continue;
    const Library*& library = (*loaded)[i];
    if (library == nullptr) {
      void* handle = dlopen(kFiles[i].name, RTLD_NOW | RTLD_LOCAL);
      if (handle != nullptr) library = Bind(handle);
    }
    if (library != nullptr) return library;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("no cuBLASLt", newest > 0 ? absl::StrCat(" up to version ", newest) : "",
                   ": libcublasLt.so.13 and libcublasLt.so.12 were looked for"));
}

constexpr int64_t kFloatBytes = 4;

cudaDataType_t TypeOf(DType dtype) {
  return dtype == DType::kF16 ? CUDA_R_16F : dtype == DType::kBF16 ? CUDA_R_16BF : CUDA_R_32F;
}

cublasComputeType_t ComputeType(const GemmCall& call) {
  if (call.factors != DType::kF32) return CUBLAS_COMPUTE_32F;
  switch (call.precision) {
    case codegen::ProductPrecision::kTf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case codegen::ProductPrecision::kF16:
      return CUBLAS_COMPUTE_32F_FAST_16F;
    case codegen::ProductPrecision::kBf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    case codegen::ProductPrecision::kF32:
    case codegen::ProductPrecision::kF32x3:   // the library has nothing like it
    case codegen::ProductPrecision::kStored:  // no single kernel has it
    case codegen::ProductPrecision::kBytes:   // never a call of the library
      break;
  }
  return CUBLAS_COMPUTE_32F;  // without TF32
}

class Product : public MatrixProduct {
 public:
  Product(const Library& library, cublasLtHandle_t handle) : cublas_(library), handle_(handle) {}

  ~Product() override {
    for (cublasLtMatrixLayout_t layout : {a_, b_, c_, d_}) {
      if (layout != nullptr) cublas_.cublasLtMatrixLayoutDestroy(layout);
    }
    if (product_ != nullptr) cublas_.cublasLtMatmulDescDestroy(product_);
  }

  absl::Status Describe(const GemmCall& call, absl::Span<const CUdeviceptr> arguments) {
    absl::Status s = cublas_.Check(
        cublas_.cublasLtMatmulDescCreate(&product_, ComputeType(call), CUDA_R_32F), "product");
    auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
      if (!s.ok()) return;
      s = cublas_.Check(
          cublas_.cublasLtMatmulDescSetAttribute(product_, attribute, &value, sizeof value),
          "attribute of a product");
    };
    auto address = [&](int argument, int64_t offset, int64_t bytes = kFloatBytes) {
      return arguments[argument] + static_cast<CUdeviceptr>(offset * bytes);
    };
    const cublasOperation_t operations[] = {CUBLAS_OP_N, CUBLAS_OP_T};
    set(CUBLASLT_MATMUL_DESC_TRANSA, operations[call.a.transposed ? 1 : 0]);
    set(CUBLASLT_MATMUL_DESC_TRANSB, operations[call.b.transposed ? 1 : 0]);
    if (call.bias_argument >= 0) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, address(call.bias_argument, call.bias_offset));
    }
    const bool adds = call.c.argument >= 0;
    const GemmMatrix& c = adds ? call.c : call.d;
    s.Update(MakeLayout(call.a, call.factors, call.m, call.k, call.batch, &a_));
    s.Update(MakeLayout(call.b, call.factors, call.k, call.n, call.batch, &b_));
    s.Update(MakeLayout(c, call.result, call.m, call.n, call.batch, &c_));
    s.Update(MakeLayout(call.d, call.result, call.m, call.n, call.batch, &d_));
    if (!s.ok()) return s;
    beta_ = adds ? 1 : 0;
    a_data_ = address(call.a.argument, call.a.offset, SizeOf(call.factors));
    b_data_ = address(call.b.argument, call.b.offset, SizeOf(call.factors));
    c_data_ = address(c.argument, c.offset, SizeOf(call.result));
    d_data_ = address(call.d.argument, call.d.offset, SizeOf(call.result));
    return s;
  }

  absl::Status FindAlgorithm(int64_t most_workspace) {
    cublasLtMatmulPreference_t preference = nullptr;
    absl::Status s =
        cublas_.Check(cublas_.cublasLtMatmulPreferenceCreate(&preference), "preference");
    if (!s.ok()) return s;
    auto set_alignment = [&](cublasLtMatmulPreferenceAttributes_t attribute, CUdeviceptr data) {
      // The largest power of two that divides the address, up to the library's own assumption.
      const uint32_t bytes = static_cast<uint32_t>(std::min<CUdeviceptr>(data & -data, 256));
      s.Update(cublas_.Check(
          cublas_.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &bytes, sizeof bytes),
          "alignment"));
    };
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, a_data_);
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, b_data_);
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c_data_);
    set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, d_data_);
    const auto most = static_cast<uint64_t>(most_workspace);
    s.Update(
        cublas_.Check(cublas_.cublasLtMatmulPreferenceSetAttribute(
                          preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most),
                      "workspace"));
    cublasLtMatmulHeuristicResult_t result = {};
    int found = 0;
    if (s.ok()) {
      s = cublas_.Check(
          cublas_.cublasLtMatmulAlgoGetHeuristic(handle_, product_, a_, b_, LayoutOfC(), d_,
                                                 preference, 1, &result, &found),
          "heuristics");
    }
    cublas_.cublasLtMatmulPreferenceDestroy(preference);
    if (s.ok() && found == 0) s = absl::UnimplementedError("cuBLASLt: no algorithm");
    if (s.ok()) s = cublas_.Check(result.state, "heuristics");
    algorithm_ = result.algo;
    workspace_bytes_ = static_cast<int64_t>(result.workspaceSize);
    return s;
  }

  int64_t workspace_bytes() const override { return workspace_bytes_; }
  void SetWorkspace(CUdeviceptr workspace) override { workspace_ = workspace; }

  absl::Status Launch(CUstream stream) const override {
    auto pointer = [](CUdeviceptr address) { return reinterpret_cast<void*>(address); };
    const float alpha = 1;
    return cublas_.Check(
        cublas_.cublasLtMatmul(
            handle_, product_, &alpha, pointer(a_data_), a_, pointer(b_data_), b_, &beta_,
            pointer(c_data_), LayoutOfC(), pointer(d_data_), d_, &algorithm_, pointer(workspace_),
            static_cast<size_t>(workspace_bytes_), reinterpret_cast<cudaStream_t>(stream)),
        "product");
  }

 private:
  // Describes a matrix that is `rows` by `columns` after the requested transposition.
  absl::Status MakeLayout(const GemmMatrix& matrix, DType dtype, int64_t rows, int64_t columns,
                          int64_t batch, cublasLtMatrixLayout_t* layout) {
    if (matrix.transposed) std::swap(rows, columns);
    absl::Status s = cublas_.Check(
        cublas_.cublasLtMatrixLayoutCreate(layout, TypeOf(dtype), static_cast<uint64_t>(rows),
                                           static_cast<uint64_t>(columns), matrix.leading),
        "layout");
    if (!s.ok() || batch == 1) return s;
    const int32_t count = static_cast<int32_t>(batch);
    s.Update(cublas_.Check(cublas_.cublasLtMatrixLayoutSetAttribute(
                               *layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
                           "batch"));
    s.Update(cublas_.Check(cublas_.cublasLtMatrixLayoutSetAttribute(
                               *layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                               &matrix.batch_stride, sizeof matrix.batch_stride),
                           "batch stride"));
    return s;
  }

  // If C and D are in place, the library requires one layout for both.
  cublasLtMatrixLayout_t LayoutOfC() const { return c_data_ == d_data_ ? d_ : c_; }

  const Library& cublas_;
  cublasLtHandle_t handle_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr, d_ = nullptr;
  CUdeviceptr a_data_ = 0, b_data_ = 0, c_data_ = 0, d_data_ = 0;
  float beta_ = 0;
  cublasLtMatmulAlgo_t algorithm_ = {};
  int64_t workspace_bytes_ = 0;
  CUdeviceptr workspace_ = 0;
};

class LoadedCublas : public Cublas {
 public:
  LoadedCublas(const Library& library, cublasLtHandle_t handle)
      : library_(library), handle_(handle) {}
  ~LoadedCublas() override { library_.cublasLtDestroy(handle_); }

  absl::StatusOr<std::unique_ptr<MatrixProduct>> Choose(const GemmCall& call,
                                                        absl::Span<const CUdeviceptr> arguments,
                                                        int64_t most_workspace) const override {
    auto product = std::make_unique<Product>(library_, handle_);
    if (absl::Status s = product->Describe(call, arguments); !s.ok()) return s;
    if (absl::Status s = product->FindAlgorithm(most_workspace); !s.ok()) return s;
    return product;
  }

 private:
  const Library& library_;
  cublasLtHandle_t handle_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Cublas>> OpenCublas(int newest) {
  absl::StatusOr<const Library*> library = GetLibrary(newest);
  if (!library.ok()) return library.status();
  cublasLtHandle_t handle = nullptr;
  absl::Status s = (*library)->Check((*library)->cublasLtCreate(&handle), "start");
  if (!s.ok()) return s;
  return std::make_unique<LoadedCublas>(**library, handle);
}

absl::StatusOr<std::string> CublasVersion(int newest) {
  absl::StatusOr<const Library*> library = GetLibrary(newest);
  if (!library.ok()) return library.status();
  const size_t version = (*library)->cublasLtGetVersion();
  return absl::StrCat("cuBLASLt ", version / 10000, ".", version / 100 % 100, ".", version % 100);
}

absl::Status CheckDescription(const GemmCall& call) {
  absl::StatusOr<const Library*> library = GetLibrary(0);
  if (!library.ok()) return library.status();
  constexpr CUdeviceptr kSomewhere = 1 << 20;
  const std::vector<CUdeviceptr> arguments(8, kSomewhere);
  return Product(**library, nullptr).Describe(call, arguments);
}

}  // namespace lemma::cuda
