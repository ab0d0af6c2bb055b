// lemma op: describes and computes an operator, or lists the operators.
#include "api/inspect.h"
#include "base/flags.h"
#include "cli/commands.h"
#include "cli/common_flags.h"

namespace lemma::cli {
absl::StatusOr<int> RunOp(Arguments arguments) {
  Flags flags("op", "[NAME]",
              "Prints what the operator NAME computes, its attributes and an example, or lists all "
              "operators. An operand with ? may be left out, one with … repeats.");
  return ParseAndRun(&flags, arguments, [](const Positional& positional) -> absl::StatusOr<int> {
    auto name = OptionalArgument("NAME", positional);
    if (!name.ok()) return name.status();
    auto page = name->empty() ? api::OperatorList() : api::OperatorPage(*name);
    if (!page.ok()) return page.status();
    PrintText(*page);
    return kExitOk;
  });
}

}  // namespace lemma::cli
