// The ONNX functions that Lemma writes into models: operators that ONNX does not have, with bodies
// of plain ONNX operators, so that every engine computes them.
#ifndef LEMMA_GRAPH_ONNX_FUNCTIONS_OWN_FUNCTIONS_H_
#define LEMMA_GRAPH_ONNX_FUNCTIONS_OWN_FUNCTIONS_H_

#include <onnx/onnx_pb.h>

#include <optional>
#include <string>

namespace lemma {

// The domain of these functions. The import reads nodes of this domain as
// operators of Lemma (OpDef::onnx_import).
constexpr char kOwnDomain[] = "lemma";
// A model that contains such a function needs at least this operator set and this IR version.
constexpr int kFunctionOpset = 13, kFunctionIrVersion = 8;

// The function `name` of kOwnDomain, in ONNX's operator set `opset`, which must be at least
// kFunctionOpset; nullopt if there is no such function.
std::optional<onnx::FunctionProto> OwnFunction(const std::string& name, int opset);

// Whether `function` equals the result of OwnFunction for the name and the
// operator set that `function` states. This set must be at least
// kFunctionOpset. If the result is true, a call may be read as the operator.
bool IsOwnFunction(const onnx::FunctionProto& function);

}  // namespace lemma

#endif  // LEMMA_GRAPH_ONNX_FUNCTIONS_OWN_FUNCTIONS_H_
