// The certificate of a proof by the referee. With a certificate, others can repeat the proof that
// two models are equal, without a search.
//
// A certificate is text (docs/referee.md). It says which weights of the second model are computed
// from weights of the first model, and by which formulas. It lists the pairs of equal values of
// both models, operands first, and what the proof of each pair takes as given.
// verifier/referee/record_certificate.h makes certificates, check.h checks them.
#ifndef LEMMA_VERIFIER_REFEREE_CERTIFICATE_CERTIFICATE_H_
#define LEMMA_VERIFIER_REFEREE_CERTIFICATE_CERTIFICATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/sizes/symbolic_size.h"
#include "rewrite/rules/substitution.h"
#include "verifier/referee/evidence/known_elements.h"

namespace lemma::referee {

// A value: output `output` of the node at `position` in Graph::nodes() of a graph.
struct ValueName {
  enum class Graph {
    kBefore,    // the first model
    kFormulas,  // RefereeCertificate::formulas
    // The second model, with inputs and outputs in the order of the first
    // model. In a region, such a value means the result of its operator after a
    // change: each operand that was proved equal to another value is replaced
    // by the other value. A weight in RefereeCertificate::weights means its
    // formula.
    kAfter,
  };
  Graph graph = Graph::kBefore;
  int position = 0;
  int output = 0;
};

// Two values that are proved equal.
struct CertifiedRegion {
  ValueName after, before;  // `before`: kBefore or kFormulas
  // The values that the proof does not look into, and what it uses of their elements.
  std::vector<std::pair<ValueName, Known>> cuts;
  // The number of a model output, if the equality is used for this output only and not in later
  // regions; otherwise -1.
  int output = -1;
};

struct RefereeCertificate {
  std::string before_file, after_file;  // SHA-256 of the files, in hexadecimal
  // How the models are read: sizes given to symbolic dimensions; the dimensions
  // that stay symbolic, with their ranges; the number of channels in a block of
  // the layout NCHWc (0: each model decides).
  std::map<std::string, int64_t> dims;
  std::map<std::string, SizeRange> symbolic;
  int64_t channel_block = 0;
  FloatContract contract = FloatContract::kRealOnly;
  // A graph in text form (graph/text/text.h), or "". Each input is a value of the first model and
  // has its name, such as b12 or b12.1. A ValueName may refer to any node of this graph.
  std::string formulas;
  // Weights of the second model (kAfter), and the values that they equal up to
  // rounding.
  std::vector<std::pair<ValueName, ValueName>> weights;
  // Operands before users: regions of weights first, regions of outputs last, the others in the
  // order of the second graph.
  std::vector<CertifiedRegion> regions;
};

// "b12", "f3.1", "a7".
std::string Print(const ValueName& name);
// InvalidArgument for text of another form. Also accepts spellings that Print does not write, such
// as b012 and b12.0.
absl::StatusOr<ValueName> ParseValueName(absl::string_view text);

// The text, which ends in a checksum of all text before it.
std::string Print(const RefereeCertificate& certificate);
// Whether `text` begins as a certificate of the referee does, of any version.
bool IsRefereeCertificate(absl::string_view text);
// Accepts exactly the texts that Print writes. Errors are InvalidArgument. An error in a single
// line names this line; errors about the version, the checksum or the text as a whole name no line.
absl::StatusOr<RefereeCertificate> ParseRefereeCertificate(absl::string_view text);

}  // namespace lemma::referee

#endif  // LEMMA_VERIFIER_REFEREE_CERTIFICATE_CERTIFICATE_H_
